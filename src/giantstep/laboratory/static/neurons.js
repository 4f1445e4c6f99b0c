// Neurons as a cloud in the plane of two directions of the target, step by step.

import { Line, isAbort, listen } from "./api.js";
import { chosen, control } from "./controls.js";
import { at, csv, debounced, make, say } from "./page.js";
import { draw, ghostColour, hue, layout } from "./plots.js";
import { problem, remember, state } from "./state.js";

const SHOWN = ["step_size", "samples", "steps", "width", "dim", "activation"];
const START = { step_size: "2", samples: "8d", steps: "4", width: "200", dim: "400", activation: "relu" };
const PAUSE_MS = 900;
const line = new Line();
const refreshSoon = debounced(150, () => refresh());
let rules = [];
let found = null;
let timer = 0;

export function setUp(learner) {
  rules = learner.controls.map((rule) => ({ ...rule, value: START[rule.name] ?? rule.value }));
  const changed = (name, value, settled) => {
    state.neurons[name] = value;
    if (settled) refresh();
    else refreshSoon();
  };
  at("neuron-controls").replaceChildren(...SHOWN.map((name) => rules.find((rule) => rule.name === name)).map((rule) => control(rule, state.neurons[rule.name] ?? rule.value, changed)));
  at("step").addEventListener("input", redraw);
  at("play").addEventListener("click", () => (timer ? pause() : play()));
  for (const id of ["plane-x", "plane-y"]) at(id).addEventListener("change", redraw);
}

function play() {
  at("play").textContent = "Pause";
  const step = at("step");
  if (step.value === step.max) step.value = 0;
  redraw();
  timer = setInterval(() => {
    if (step.value === step.max) return pause();
    step.value = Number(step.value) + 1;
    return redraw();
  }, PAUSE_MS);
}

function pause() {
  clearInterval(timer);
  timer = 0;
  at("play").textContent = "Play";
}

export async function refresh() {
  refreshSoon.cancel();
  remember();
  if (!found) say(at("neuron-said"), "A network is being trained …");
  const asked = { learner: "giant-step", settings: chosen(rules, state.neurons), problem: problem(), seed: 0 };
  try {
    await listen("neurons", asked, line.begin(), (name, data) => {
      if (name === "cloud") arrived(data);
      if (name === "spaces") found.subspaces = data.subspaces;
      if (name !== "end") redraw();
    });
  } catch (error) {
    if (!isAbort(error)) say(at("neuron-said"), error.message, true);
  }
}

function arrived(data) {
  found = { ...data, subspaces: [] };
  const directions = found.cosines[0][0].length;
  for (const [id, first] of [["plane-x", 0], ["plane-y", Math.min(1, directions - 1)]]) {
    const kept = Math.min(at(id).options.length === directions ? at(id).selectedIndex : first, directions - 1);
    at(id).replaceChildren(...found.cosines[0][0].map((_, i) => make("option", { value: i }, `h${i + 1}`)));
    at(id).selectedIndex = kept;
  }
  at("step").max = found.cosines.length - 1;
  at("step").value = found.cosines.length - 1;
  const one = directions === 1 ? " The target has one direction: both axes show it." : "";
  say(at("neuron-said"), `${found.cosines[0].length} neurons, one network, ${found.cosines.length - 1} steps.${one}`);
  document.body.dataset.neurons = "done";
}

export function redraw() {
  if (!found) return;
  const step = Number(at("step").value);
  at("step-shown").textContent = step;
  const [h, v] = [Number(at("plane-x").value), Number(at("plane-y").value)];
  const traces = [];
  for (const row of found.subspaces[step] ?? []) {
    traces.push({ x: [-row[h], row[h]], y: [-row[v], row[v]], mode: "lines", line: { color: ghostColour(), width: 3 }, name: "learned direction", showlegend: false, hoverinfo: "skip" });
  }
  const cloud = found.cosines[step];
  traces.push({ x: cloud.map((each) => each[h]), y: cloud.map((each) => each[v]), mode: "markers", name: `step ${step}`, marker: { color: hue(0), size: 6, opacity: 0.65 } });
  draw("neuron-plot", traces, layout(`cosine with h${h + 1}`, `cosine with h${v + 1}`, { showlegend: false, xaxis: { range: [-1.05, 1.05] }, yaxis: { range: [-1.05, 1.05], scaleanchor: "x" } }));
}

export function table() {
  const rows = [["step", "neuron", ...(found?.cosines[0][0] ?? []).map((_, i) => `cosine h${i + 1}`)]];
  found?.cosines.forEach((cloud, step) => cloud.forEach((each, neuron) => rows.push([step, neuron, ...each])));
  return csv(rows);
}
