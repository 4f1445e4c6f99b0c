// The target: read as it is typed, and what explain says of it.

import { Line, ask, isAbort } from "./api.js";
import { badge, term } from "./glossary.js";
import { at, debounced, digits, formula, make, typeset } from "./page.js";
import { staircase } from "./staircase.js";
import { problem, state } from "./state.js";

const reading = new Line();
const explaining = new Line();
let targetChanged = () => {};
const readSoon = debounced(120, () => read(targetChanged));

export function setUp(targets, syntax, changed) {
  targetChanged = changed;
  at("inputs-help").replaceChildren(...typeset(`Inputs: ${syntax}.`).childNodes);
  for (const entry of targets) {
    at("catalogue").append(make("option", { value: entry.expression, title: entry.shows }, `${entry.name}: ${entry.shows}`));
  }
  at("catalogue").addEventListener("change", () => {
    if (!at("catalogue").value) return;
    at("target").value = at("catalogue").value;
    at("catalogue").value = "";
    read(changed);
  });
  at("target").addEventListener("input", readSoon);
  for (const name of ["noise", "inputs"]) {
    at(name).addEventListener("change", () => {
      state[name] = at(name).value.trim();
      explain();
      changed();
    });
  }
}

// Shows what the state holds.
export function adopt() {
  for (const name of ["target", "noise", "inputs"]) at(name).value = state[name];
  return read(() => {});
}

async function read(changed) {
  readSoon.cancel();
  const typed = at("target").value;
  const line = at("target-error");
  try {
    const found = await ask("target", { target: typed }, reading.begin());
    at("formula").replaceChildren(found.tree ? found.text : formula(found.mathml));
    line.classList.add("fine");
    line.textContent = found.reading ? `read as ${found.reading}` : "";
    at("target").removeAttribute("aria-invalid");
    if (typed !== state.target) state.story = "";
    state.target = typed;
    explain();
    changed();
  } catch (error) {
    if (isAbort(error)) return;
    line.classList.remove("fine");
    at("target").setAttribute("aria-invalid", "true");
    const place = error.position === null || error.position === undefined ? "" : `${typed.slice(0, 200)}\n${" ".repeat(error.position)}^\n`;
    line.textContent = place + error.message;
  }
}

async function explain() {
  const boxes = [at("climb"), at("class"), at("facts")];
  for (const box of boxes) box.setAttribute("aria-busy", "true");
  try {
    const found = await ask("explain", { problem: problem() }, explaining.begin());
    at("climb").replaceChildren(...(found.tree ? [] : found.staircases.map((each) => staircase(each, found.dimension))));
    at("facts-shown").replaceChildren(...(found.tree ? [make("pre", { tabIndex: 0 }, found.report)] : shown(found)));
    at("class").replaceChildren(...(found.tree ? [] : [badge(found.class), " ", found.meaning.replace(/^\(|\)\.?$/g, "")]));
  } catch (error) {
    if (isAbort(error)) return;
    at("climb").replaceChildren();
    at("facts-shown").replaceChildren();
    at("class").replaceChildren(make("span", { class: "bad" }, error.message));
  }
  for (const box of boxes) box.removeAttribute("aria-busy");
}

function shown(found) {
  const facts = make("dl");
  const fact = (name, ...value) => facts.append(make("dt", {}, ...name), make("dd", {}, ...value));
  fact([term("class")], badge(found.class), " ", ...typeset(found.meaning).childNodes);
  fact(["directions used"], String(found.dimension));
  fact([term("information exponent")], String(found.information_exponent ?? "none"));
  fact([term("generative exponent")], String(found.generative_exponent ?? "none"));
  fact([term("leap")], String(found.leap ?? "none"));
  fact(["variance"], digits(found.variance, 4));
  for (const each of found.thresholds) {
    const value = each.alpha === null ? each.reason : `n/d > ${digits(each.alpha, 4)}`;
    fact([term("threshold")], formula(each.directions), ` ${value} `, badge(each.status));
  }
  if (found.missed[0]) fact(["not seen"], formula(found.missed[0]), ` by ${found.missed[1]} without biases`);
  const needs = make("dl");
  for (const each of found.samples) {
    needs.append(make("dt", {}, each.who), make("dd", {}, typeset(each.samples), " ", badge(each.status)));
  }
  const report = make("pre", { tabIndex: 0 }, found.report);
  return [make("div", {}, facts), make("div", {}, make("h3", {}, "Samples needed"), needs), make("details", {}, make("summary", {}, "The same in words"), report)];
}
