// Spectra after one giant step: bulk, outliers, and how they move with the step size.

import { Line, isAbort, listen } from "./api.js";
import { chosen, control } from "./controls.js";
import { at, csv, debounced, digits, say } from "./page.js";
import { clear, draw, hue, layout } from "./plots.js";
import { problem, remember, state } from "./state.js";

const SHOWN = ["step_size", "samples", "width", "dim", "activation", "readout_samples"];
const START = { step_size: "1", samples: "4d", width: "1d", dim: "200", activation: "tanh", readout: "sign", readout_samples: "2d", steps: "1", ridge: null };
const SEEDS = 4;
const FAR = 0.6; // In widths of the bulk: outliers beyond it get a part of the axis to themselves.
const line = new Line();
const refreshSoon = debounced(90, () => refresh(false));
let rules = [];
let found = null;
let mostSeconds = 0;

export function setUp(learner, seconds) {
  mostSeconds = seconds;
  rules = learner.controls.map((rule) => ({ ...rule, value: rule.name in START ? START[rule.name] : rule.value, slider: rule.name in START && rule.kind === "Size" ? around(START[rule.name]) : rule.slider }));
  at("spectrum-of").addEventListener("change", () => {
    state.spectrum.of = at("spectrum-of").value;
    refresh();
  });
}

// Shows what the state holds.
export function adopt() {
  const changed = (name, value, settled) => {
    state.spectrum[name] = value;
    if (settled) refresh();
    else refreshSoon();
  };
  const shown = SHOWN.map((name) => rules.find((rule) => rule.name === name));
  at("spectrum-controls").replaceChildren(...shown.map((rule) => control(rule, state.spectrum[rule.name] ?? rule.value, changed)));
  at("spectrum-of").value = state.spectrum.of ?? "weights";
}

function around(text) {
  const number = parseFloat(text);
  return { low: number / 16, high: number * 16, log: true, whole: false };
}

export async function refresh(settled = true) {
  refreshSoon.cancel();
  remember(settled);
  const signal = line.begin();
  delete document.body.dataset.spectrum;
  at("spectrum-plot").classList.add("stale");
  say(at("spectrum-said"), `The spectrum is being computed; it may take ${mostSeconds} s.`);
  const asked = { learner: "giant-step", settings: chosen(rules, { ...state.spectrum, of: undefined }), problem: problem(), of: at("spectrum-of").value, seeds: SEEDS };
  try {
    await listen("spectrum", asked, signal, (name, data) => {
      if (name === "end") return;
      found = data;
      at("spectrum-plot").classList.remove("stale");
      redraw();
      const outliers = data.outliers.predicted.map((each) => digits(each)).join(", ") || "none";
      const measured = data.outliers.simulated?.map((each) => digits(each)).join(", ");
      say(at("spectrum-said"), `Bulk from ${digits(data.bulk_edges[0])} to ${digits(data.bulk_edges[1])}; outliers predicted: ${outliers}${name === "both" ? `; simulated: ${measured || "none"} (${SEEDS} seeds)` : ""}.`);
    });
    document.body.dataset.spectrum = "done";
  } catch (error) {
    if (isAbort(error)) return;
    // What is drawn answers another question.
    found = null;
    clear("spectrum-plot");
    at("spectrum-plot").classList.remove("stale");
    say(at("spectrum-said"), error.message, true);
  }
}

function redraw() {
  const shown = found;
  draw("spectrum-plot", () => picture(shown));
}

// Where outliers lie far out, the axis is broken: the bulk keeps most of the width.
function picture(shown) {
  const { x, predicted } = shown.density;
  const top = Math.max(...predicted);
  const [low, high] = shown.bulk_edges;
  const means = shown.outliers.simulated ?? [];
  const outside = [...shown.outliers.predicted, ...means].filter((each) => each > high);
  const isBroken = Math.max(high, ...outside) > high + FAR * (high - low);
  const far = (each) => (isBroken && each > high ? "x2" : "x");
  const traces = [{ x, y: predicted, mode: "lines", fill: "tozeroy", name: "predicted bulk", line: { color: hue(0), width: 2 } }];
  const values = shown.simulated.flat().filter((each) => far(each) === "x");
  if (values.length) traces.unshift({ x: values, type: "histogram", histnorm: "probability density", nbinsx: 80, name: "simulated", marker: { color: hue(1), opacity: 0.45 } });
  const marks = (all, rest) => {
    for (const xaxis of ["x", "x2"]) {
      const own = all.filter((each) => far(each) === xaxis);
      if (own.length) traces.push({ x: own, y: own.map(() => top * rest.height), xaxis, mode: "markers", cliponaxis: false, ...rest });
    }
  };
  marks(shown.outliers.predicted, { height: 0.06, name: "predicted outliers", marker: { symbol: "triangle-down", size: 14, color: hue(2) } });
  marks(means, { height: 0, name: "simulated outliers", marker: { size: 9, color: hue(1) } });
  const what = shown.spectrum === "weights" ? "singular value of W" : "eigenvalue of the features";
  const room = high - low;
  const shape = layout(what, "density", { bargap: 0, yaxis: { range: [0, top * 1.25] } });
  if (isBroken) {
    const ends = [Math.min(...outside), Math.max(...outside)];
    const margin = Math.max((ends[1] - ends[0]) / 4, 0.05 * ends[1]);
    Object.assign(shape.xaxis, { domain: [0, 0.72], range: [low - room / 20, high + room / 8] });
    shape.xaxis2 = { ...shape.xaxis, title: { text: "outliers" }, domain: [0.78, 1], range: [ends[0] - margin, ends[1] + margin], nticks: 4 };
  }
  return [traces, shape];
}

export function table() {
  const rows = [["kind", "x", "density"]];
  found?.density.x.forEach((x, number) => rows.push(["predicted density", x, found.density.predicted[number]]));
  found?.outliers.predicted.forEach((x) => rows.push(["predicted outlier", x, ""]));
  found?.simulated.flat().forEach((x) => rows.push(["simulated value", x, ""]));
  return csv(rows);
}
