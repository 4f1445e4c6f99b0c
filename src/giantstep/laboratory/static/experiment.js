// The experiment: a line of theory, dots that land on it, ghosts and pinned curves.

import { Line, isAbort, listen } from "./api.js";
import { chosen, control } from "./controls.js";
import { at, csv, debounced, make, say } from "./page.js";
import { draw, ghostColour, hue, layout } from "./plots.js";
import { Series, lastStep } from "./series.js";
import { problem, remember, state } from "./state.js";

const MOST_GHOSTS = 3;
const MOST_TICKS = 12; // Up to so many steps, each has its tick.
const QUIET_MS = 2000; // A lab that was busy may be quiet again by then.
const theoryLine = new Line();
const dotLine = new Line();
let learners = [];
let row = null;
let now = null; // What is drawn: the question, the plan, the series of theory and of dots.
let ghosts = [];
let told = () => {};

export function setUp(rows, elsewhere) {
  learners = rows;
  told = elsewhere;
  for (const each of rows) at("learner").append(make("option", { value: each.name }, each.name));
  at("learner").addEventListener("change", () => {
    Object.assign(state, { learner: at("learner").value, settings: {}, axis: "", range: "", metric: "" });
    ghosts = [];
    choose();
    refresh();
  });
  at("axis").addEventListener("change", () => {
    Object.assign(state, { axis: at("axis").value, range: "" });
    ghosts = [];
    showAxis();
    refresh();
  });
  at("range").addEventListener("change", () => {
    state.range = at("range").value.trim();
    refresh();
  });
  at("metric").addEventListener("change", () => {
    state.metric = at("metric").value;
    remember();
    redraw();
  });
  at("log-y").checked = state.logY;
  at("log-y").addEventListener("change", () => {
    state.logY = at("log-y").checked;
    remember();
    redraw();
  });
  at("seeds").value = state.seeds;
  at("seeds").addEventListener("change", () => {
    state.seeds = Math.min(64, Math.max(1, Math.round(Number(at("seeds").value)) || 1));
    at("seeds").value = state.seeds;
    remember();
    if (at("auto").checked) simulate();
  });
  at("run").addEventListener("click", simulate);
  at("stop").addEventListener("click", () => dotLine.stop());
  at("pin").addEventListener("click", pin);
  at("clear").addEventListener("click", () => {
    ghosts = [];
    redraw();
  });
  choose();
}

function choose() {
  row = learners.find((each) => each.name === state.learner) ?? learners[0];
  state.learner = row.name;
  at("learner").value = row.name;
  at("learner-summary").textContent = `${row.summary}. Theory: ${row.theory}.`;
  at("axis").replaceChildren(...row.axes.map((name) => make("option", { value: name }, name.replaceAll("_", " "))));
  if (!row.axes.includes(state.axis)) state.axis = row.axis;
  for (const [place, first] of [["controls", true], ["more-controls", false]]) {
    at(place).replaceChildren(...row.controls.filter((rule) => rule.first === first).map((rule) => control(rule, state.settings[rule.name] ?? rule.value, changed)));
  }
  showAxis();
}

function showAxis() {
  at("axis").value = state.axis;
  const rule = row.controls.find((each) => each.name === state.axis);
  at("range").disabled = !rule;
  if (rule && !state.range) state.range = rule.range;
  at("range").value = rule ? state.range : "";
  for (const box of document.querySelectorAll("#controls .control, #more-controls .control")) box.classList.toggle("swept", box.dataset.name === state.axis);
}

const refreshSoon = debounced(70, () => refresh());

function changed(name, value, settled) {
  state.settings[name] = value;
  if (settled) refresh();
  else refreshSoon();
}

function question() {
  const settings = chosen(row.controls, state.settings);
  if (!at("range").disabled) settings[state.axis] = state.range;
  return { learner: row.name, settings, problem: row.has_target ? problem() : { noise: state.noise || "0" }, seeds: state.seeds };
}

export async function refresh() {
  // Whatever was to follow the question before has no meaning for this one.
  for (const soon of [refreshSoon, refineSoon, simulateSoon]) soon.cancel();
  remember();
  dotLine.stop();
  delete document.body.dataset.dots;
  delete document.body.dataset.lineMs;
  const asked = question();
  const text = JSON.stringify({ ...asked, seeds: 0 });
  if (now?.ended && now.text !== text) ghosts = [now, ...ghosts].slice(0, MOST_GHOSTS);
  const next = { text, asked, axis: state.axis, theory: null, dots: null, ended: false, far: null, reasons: [] };
  const signal = theoryLine.begin();
  const begin = performance.now();
  try {
    await listen("theory", asked, signal, (name, data) => {
      if (name === "plan") {
        next.plan = data;
        next.theory = new Series(next.axis, data.x);
        now = next;
        told(data);
      } else if (name === "points") {
        for (const each of data) next.theory.take(each.index, each.entries, lastStep(each.entries));
        redrawSoon();
      } else if (name === "end") {
        next.ended = true;
        next.lineMs = performance.now() - begin;
        next.reasons = data.reasons;
        next.left = data.left;
        at("notes").replaceChildren(...[...data.notes, ...data.references].map((line) => make("li", {}, line)));
        redraw();
        document.body.dataset.lineMs = next.lineMs.toFixed(0);
        if (data.left) refineSoon(next);
      }
    });
    speak();
    if (at("auto").checked) simulateSoon();
  } catch (error) {
    if (isAbort(error)) return;
    say(at("said"), error.message, true);
  }
}

// A busy lab leaves points out: they are asked for again while the same line is looked at.
const refineSoon = debounced(QUIET_MS, (mine) => refine(mine));

async function refine(mine) {
  await listen("theory", mine.asked, theoryLine.begin(), (name, data) => {
    if (name === "points") for (const each of data) mine.theory.take(each.index, each.entries, lastStep(each.entries));
    if (name !== "end") return;
    mine.left = data.left;
    redraw();
    if (data.left) refineSoon(mine);
  }).catch(() => {});
}

const simulateSoon = debounced(250, () => simulate());

async function simulate() {
  simulateSoon.cancel();
  if (!now) return;
  const mine = now;
  const signal = dotLine.begin();
  document.body.dataset.dots = "running";
  at("stop").disabled = false;
  at("progress").value = 0;
  try {
    await listen("simulate", { ...mine.asked, seeds: state.seeds, seed: 0 }, signal, (name, data) => {
      if (name === "plan") {
        mine.dots = new Series(mine.axis, data.x);
        told(data);
      }
      if (name === "dots") {
        for (const each of data.dots) {
          mine.seeds = each.seeds;
          mine.dots.take(each.index, each.entries, lastStep(each.entries));
        }
        at("progress").value = data.share;
        redrawSoon();
      }
    });
    document.body.dataset.dots = "done";
  } catch (error) {
    // A run that another has replaced says nothing of the one that is on its way.
    if (signal !== dotLine.controller.signal) return;
    if (!isAbort(error)) say(at("said"), error.message, true);
    document.body.dataset.dots = "stopped";
    at("stop").disabled = true;
    return;
  }
  at("stop").disabled = true;
  redraw();
  speak();
}

let waiting = false;
function redrawSoon() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    redraw();
  });
}

function metricNames() {
  const have = new Set([...(now.theory?.metrics() ?? []), ...(now.dots?.metrics() ?? [])]);
  const known = row.metrics.map((each) => each.name).filter((name) => have.has(name));
  return [...known, ...[...have].filter((name) => !known.includes(name))];
}

function showMetrics() {
  const names = metricNames();
  const menu = at("metric");
  const wanted = names.includes(state.metric) ? state.metric : names.includes("test_error") ? "test_error" : names[0] ?? "";
  if ([...menu.options].map((each) => each.value).join() !== names.join()) {
    menu.replaceChildren(...names.map((name) => make("option", { value: name }, name.replaceAll("_", " "))));
  }
  menu.value = wanted;
  return wanted;
}

export function redraw() {
  if (!now?.plan) return;
  const metric = showMetrics();
  const traces = [];
  const faint = (found, name, colour, dash, width) => {
    for (const [, points] of found.theory?.of(metric) ?? []) {
      traces.push({ x: points.map(([x]) => x), y: points.map(([, n]) => n[0]), mode: "lines", name, line: { color: colour, width, dash }, showlegend: name !== "before", hoverinfo: "skip" });
    }
  };
  for (const ghost of ghosts) if (ghost.axis === now.axis && ghost.asked.learner === now.asked.learner) faint(ghost, "before", ghostColour(), "dot", 1.2);
  state.pins.forEach((each, number) => {
    if (each.axis === now.axis && each.series) faint({ theory: each.series }, each.name, hue(number + 3), "dash", 2);
  });
  const places = new Set();
  const colourOf = (name) => {
    places.add(name);
    return hue([...places].indexOf(name));
  };
  for (const [name, points] of now.theory?.of(metric) ?? []) {
    const mode = points.length > 1 ? "lines" : "markers";
    traces.push({ x: points.map(([x]) => x), y: points.map(([, n]) => n[0]), mode, name: `theory ${name}`.trim(), line: { color: colourOf(name), width: 2.5 }, marker: { symbol: "line-ew-open", size: 22, color: colourOf(name) } });
  }
  let far = null;
  for (const [name, points] of now.dots?.of(metric) ?? []) {
    for (const [, n] of points) if (typeof n[2] === "number") far = Math.max(far ?? 0, Math.abs(n[2]));
    traces.push({ x: points.map(([x]) => x), y: points.map(([, n]) => n[0]), error_y: { type: "data", array: points.map(([, n]) => n[1] ?? 0), thickness: 1.5, width: 4 }, mode: "markers", name: `simulated ${name}`.trim(), marker: { color: colourOf(name), size: 8 } });
  }
  now.far = far;
  const label = now.plan.axis ? now.plan.label : now.axis;
  const isFewSteps = now.axis === "step" && Math.max(0, ...traces.flatMap((each) => each.x)) <= MOST_TICKS;
  const ticks = now.plan.ticks ? { tickvals: now.plan.x, ticktext: now.plan.ticks } : isFewSteps ? { dtick: 1 } : {};
  const xaxis = { type: now.plan.axis && now.plan.log ? "log" : "linear", ...ticks };
  draw("plot", traces, layout(label, metric.replaceAll("_", " "), { xaxis, yaxis: { type: state.logY ? "log" : "linear" } }));
  at("z").textContent = far === null ? "largest |z| –" : `largest |z| ${far.toFixed(1)}, ${now.seeds} seeds`;
  const status = statusOf(metric);
  at("status").hidden = !status;
  at("status").className = `badge ${status ?? ""}`;
  at("status").textContent = status ?? "";
}

function statusOf(metric) {
  for (const [, points] of now.theory?.of(metric) ?? []) for (const [, numbers] of points) return numbers[2];
  return null;
}

function speak() {
  const lacking = now.reasons.length ? `No theory: ${now.reasons.join("; ")}. ` : "";
  const far = now.far === null ? "" : `, largest |z| ${now.far.toFixed(1)}`;
  const dots = now.dots && now.seeds ? `Dots from ${now.seeds} seeds${far}.` : "";
  const line = now.theory?.metrics().length ? `The line took ${Math.round(now.lineMs)} ms. ` : "";
  say(at("said"), lacking + line + dots, Boolean(lacking));
}

function pin() {
  if (!now?.theory) return;
  const name = `${row.name} ${state.pins.length + 1}`;
  state.pins.push({ name, axis: now.axis, asked: now.asked });
  const pinned = state.pins.at(-1);
  Object.defineProperty(pinned, "series", { value: now.theory, configurable: true });
  remember();
  showPins();
  redraw();
  // What is pinned on its way may be given up for another line: it gets one of its own.
  if (!now.ended || now.left) compute(pinned);
}

export function showPins() {
  at("pins").replaceChildren(
    ...state.pins.map((each, number) => {
      const name = make("input", { type: "text", value: each.name, "aria-label": "Name of the pinned curve" });
      name.addEventListener("change", () => {
        each.name = name.value;
        remember();
        redraw();
      });
      const remove = make("button", { type: "button", "aria-label": `Remove ${each.name}` }, "Remove");
      remove.addEventListener("click", () => {
        state.pins.splice(number, 1);
        remember();
        showPins();
        redraw();
      });
      return make("li", {}, name, remove);
    }),
  );
}

// Curves that were pinned in another session are computed again.
export async function restorePins() {
  showPins();
  for (const each of state.pins) await compute(each);
}

async function compute(pinned) {
  let series = null;
  let left = 0;
  await listen("theory", pinned.asked, undefined, (name, data) => {
    if (name === "plan") series = new Series(pinned.axis, data.x);
    if (name === "points") for (const each of data) series.take(each.index, each.entries, lastStep(each.entries));
    if (name === "end") left = data.left;
  }).catch(() => {});
  if (series) Object.defineProperty(pinned, "series", { value: series, configurable: true });
  redraw();
  if (left) setTimeout(() => state.pins.includes(pinned) && compute(pinned), QUIET_MS);
}

export function table() {
  const rows = [["kind", "metric", "place", now?.plan?.label || now?.axis, "value", "error", "status or z"]];
  for (const [kind, series] of [["theory", now?.theory], ["simulated", now?.dots]]) {
    for (const metric of series?.metrics() ?? []) {
      for (const [name, points] of series.of(metric)) for (const [x, numbers] of points) rows.push([kind, metric, name, x, ...numbers]);
    }
  }
  return csv(rows);
}
