// The target: read as it is typed, and what explain says of it.

import { Line, ask, isAbort } from "./api.js";
import { at, badge, debounced, digits, formula, make } from "./page.js";
import { problem, remember, state } from "./state.js";

const reading = new Line();
const explaining = new Line();
let targetChanged = () => {};
const readSoon = debounced(120, () => read(targetChanged));

export function setUp(targets, syntax, changed) {
  targetChanged = changed;
  at("target").value = state.target;
  at("noise").value = state.noise;
  at("inputs").value = state.inputs;
  at("inputs-help").textContent = `Inputs: ${syntax}.`;
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
  return read(() => {});
}

export function show(target) {
  at("target").value = target;
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
    state.target = typed;
    remember();
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
  const box = at("explained");
  box.setAttribute("aria-busy", "true");
  try {
    const found = await ask("explain", { problem: problem() }, explaining.begin());
    box.replaceChildren(...(found.tree ? [make("pre", {}, found.report)] : shown(found)));
  } catch (error) {
    if (isAbort(error)) return;
    box.replaceChildren(make("p", { class: "said bad" }, error.message));
  }
  box.removeAttribute("aria-busy");
}

function shown(found) {
  const facts = make("dl");
  const fact = (name, ...value) => facts.append(make("dt", {}, name), make("dd", {}, ...value));
  fact("class", badge(found.class), ` ${found.meaning}`);
  fact("directions used", String(found.dimension));
  fact("exponents", `information ${found.information_exponent ?? "none"}, generative ${found.generative_exponent ?? "none"}, leap ${found.leap ?? "none"}`);
  fact("variance", digits(found.variance, 4));
  for (const each of found.thresholds) {
    const value = each.alpha === null ? each.reason : `n/d > ${digits(each.alpha, 4)}`;
    fact("threshold", formula(each.directions), ` ${value} `, badge(each.status));
  }
  if (found.missed[0]) fact("not seen", formula(found.missed[0]), ` by ${found.missed[1]} without biases`);
  const needs = make("dl");
  for (const each of found.samples) {
    needs.append(make("dt", {}, each.who), make("dd", {}, `${each.samples} `, badge(each.status)));
  }
  const climbs = make("div", { class: "two" }, ...found.staircases.map(staircase));
  const words = make("details", {}, make("summary", {}, "The same in words"), make("pre", {}, found.report));
  return [facts, climbs, make("h3", {}, "Samples needed"), needs, words];
}

function staircase(found) {
  const stairs = make("div", { class: "stairs", role: "list" });
  found.stairs.forEach((stair, number) => {
    const text = `leap ${stair.leap}`;
    stairs.append(make("div", { class: `stair n${Math.min(number + 1, 5)}`, role: "listitem" }, formula(stair.directions), make("small", {}, text), badge(stair.class), " ", badge(stair.status)));
  });
  const none = make("p", { class: "help" }, "no stair: nothing is learned in this way");
  return make("div", {}, make("h3", {}, found.title), found.stairs.length ? stairs : none);
}
