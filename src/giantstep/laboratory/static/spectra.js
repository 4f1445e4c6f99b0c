// Spectra after one giant step: bulk, outliers, and how they move with the step size.

import { Line, isAbort, listen } from "./api.js";
import { chosen, control } from "./controls.js";
import { at, csv, debounced, digits, say } from "./page.js";
import { draw, hue, layout } from "./plots.js";
import { problem, remember, state } from "./state.js";

const SHOWN = ["step_size", "samples", "width", "dim", "activation", "readout_samples"];
const START = { step_size: "1", samples: "4d", width: "1d", dim: "200", activation: "tanh", readout: "sign", readout_samples: "2d", steps: "1", ridge: null };
const SEEDS = 4;
const line = new Line();
const refreshSoon = debounced(90, () => refresh());
let rules = [];
let found = null;

export function setUp(learner) {
  rules = learner.controls.map((rule) => ({ ...rule, value: rule.name in START ? START[rule.name] : rule.value, slider: rule.name in START && rule.kind === "Size" ? around(START[rule.name]) : rule.slider }));
  const changed = (name, value, settled) => {
    state.spectrum[name] = value;
    if (settled) refresh();
    else refreshSoon();
  };
  at("spectrum-controls").replaceChildren(...SHOWN.map((name) => rules.find((rule) => rule.name === name)).map((rule) => control(rule, state.spectrum[rule.name] ?? rule.value, changed)));
  at("spectrum-of").value = state.spectrum.of ?? "weights";
  at("spectrum-of").addEventListener("change", () => {
    state.spectrum.of = at("spectrum-of").value;
    refresh();
  });
}

function around(text) {
  const number = parseFloat(text);
  return { low: number / 16, high: number * 16, log: true, whole: false };
}

export async function refresh() {
  refreshSoon.cancel();
  remember();
  const signal = line.begin();
  if (!found) say(at("spectrum-said"), "The spectrum is being computed …");
  const asked = { learner: "giant-step", settings: chosen(rules, { ...state.spectrum, of: undefined }), problem: problem(), of: at("spectrum-of").value, seeds: SEEDS };
  try {
    await listen("spectrum", asked, signal, (name, data) => {
      if (name === "end") return;
      found = data;
      redraw();
      const outliers = data.outliers.predicted.map((each) => digits(each)).join(", ") || "none";
      const measured = data.outliers.simulated?.map((each) => digits(each)).join(", ");
      say(at("spectrum-said"), `Bulk from ${digits(data.bulk_edges[0])} to ${digits(data.bulk_edges[1])}; outliers predicted: ${outliers}${name === "both" ? `; simulated: ${measured || "none"} (${SEEDS} seeds)` : ""}.`);
    });
    document.body.dataset.spectrum = "done";
  } catch (error) {
    if (isAbort(error)) return;
    say(at("spectrum-said"), error.message, true);
  }
}

export function redraw() {
  if (!found) return;
  const { x, predicted } = found.density;
  const top = Math.max(...predicted);
  const traces = [{ x, y: predicted, mode: "lines", fill: "tozeroy", name: "predicted bulk", line: { color: hue(0), width: 2 } }];
  const values = found.simulated.flat();
  if (values.length) traces.unshift({ x: values, type: "histogram", histnorm: "probability density", nbinsx: 120, name: "simulated", marker: { color: hue(1), opacity: 0.45 } });
  if (found.outliers.predicted.length) {
    traces.push({ x: found.outliers.predicted, y: found.outliers.predicted.map(() => top * 0.06), mode: "markers", name: "predicted outliers", marker: { symbol: "triangle-down", size: 14, color: hue(2) } });
  }
  const means = found.outliers.simulated ?? [];
  if (means.length) {
    const sems = found.outliers.simulated_sem ?? [];
    traces.push({ x: means, y: means.map(() => 0), error_x: { type: "data", array: sems }, mode: "markers", name: "simulated outliers", marker: { size: 9, color: hue(1) } });
  }
  const what = found.spectrum === "weights" ? "singular value of W" : "eigenvalue of the features";
  draw("spectrum-plot", traces, layout(what, "density", { bargap: 0, yaxis: { range: [0, top * 1.25] } }));
}

export function table() {
  const rows = [["kind", "x", "density"]];
  found?.density.x.forEach((x, number) => rows.push(["predicted density", x, found.density.predicted[number]]));
  found?.outliers.predicted.forEach((x) => rows.push(["predicted outlier", x, ""]));
  found?.simulated.flat().forEach((x) => rows.push(["simulated value", x, ""]));
  return csv(rows);
}
