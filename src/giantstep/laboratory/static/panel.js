// The panel of an experiment: its learner, its settings, and the one or two that are swept.

import { control } from "./controls.js";
import { at, make, typeset, words } from "./page.js";
import { state } from "./state.js";

let learners = [];
let chosenRow = null;
let hears = {};

export const row = () => chosenRow;

// hears: learner() before another is shown, changed() when something is settled, moved() on the way,
// adopt() when the whole state is another.
export function setUp(rows, listeners) {
  learners = rows;
  hears = listeners;
  for (const each of rows) at("learner").append(make("option", { value: each.name }, each.name));
  at("learner").addEventListener("change", () => {
    Object.assign(state, { story: "", learner: at("learner").value, settings: {}, axis: "", range: "", second: "", secondRange: "", metric: "", xScale: "" });
    hears.learner();
    choose();
    hears.changed();
  });
  for (const [name, range] of [["axis", "range"], ["second", "secondRange"]]) {
    at(name).addEventListener("change", () => {
      Object.assign(state, { [name]: at(name).value, [range]: "", xScale: "" });
      hears.learner();
      showAxes();
      hears.changed();
    });
    at(range).addEventListener("change", () => {
      state[range] = at(range).value.trim();
      hears.changed();
    });
  }
  at("fits").addEventListener("click", () => {
    Object.assign(state, { noise: "0", inputs: "gaussian", settings: {}, ...chosenRow.problem });
    hears.adopt();
  });
}

export function choose() {
  chosenRow = learners.find((each) => each.name === state.learner) ?? learners[0];
  state.learner = chosenRow.name;
  at("learner").value = chosenRow.name;
  at("learner-summary").replaceChildren(typeset(`${chosenRow.summary}. Theory: ${chosenRow.theory}.`));
  const options = (names) => names.map((name) => make("option", { value: name }, words(name)));
  at("axis").replaceChildren(...options(chosenRow.axes));
  at("second").replaceChildren(make("option", { value: "" }, "none"), ...options(chosenRow.axes.filter((name) => rule(name))));
  if (!chosenRow.axes.includes(state.axis)) state.axis = chosenRow.axis;
  const changed = (name, value, settled) => {
    state.settings[name] = value;
    if (settled) hears.changed();
    else hears.moved();
  };
  for (const [place, first] of [["controls", true], ["more-controls", false]]) {
    at(place).replaceChildren(...chosenRow.controls.filter((each) => each.first === first).map((each) => control(each, state.settings[each.name] ?? each.value, changed)));
  }
  showAxes();
}

const rule = (name) => chosenRow.controls.find((each) => each.name === name);

function showAxes() {
  if (state.second === state.axis || !rule(state.second)) state.second = "";
  for (const [name, range] of [["axis", "range"], ["second", "secondRange"]]) {
    at(name).value = state[name];
    const swept = rule(state[name]);
    at(range).disabled = !swept;
    // A map has few values of its second setting: each of them is a whole line.
    if (swept && !state[range]) state[range] = name === "second" ? swept.range.replace(/:\d+(log)?$/, ":5$1") : swept.range;
    at(range).value = swept ? state[range] : "";
  }
  for (const box of document.querySelectorAll("#controls .control, #more-controls .control")) box.classList.toggle("swept", [state.axis, state.second].includes(box.dataset.name));
}

// The settings that are given as ranges.
export function swept() {
  const found = {};
  if (!at("range").disabled) found[state.axis] = state.range;
  if (state.second) found[state.second] = state.secondRange;
  return found;
}

// A learner that refuses is offered the target, the inputs and the settings of its example.
export function offer() {
  const given = { target: state.target, inputs: state.inputs };
  const isExample = Object.entries({ inputs: "gaussian", ...chosenRow.problem }).every(([name, value]) => !(name in given) || given[name] === value);
  at("fits").hidden = !chosenRow.has_target || (isExample && !Object.keys(state.settings).length);
}
