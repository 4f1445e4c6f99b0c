// The experiment: what is asked, the line of theory that comes, and the dots that land on it.

import { Line, isAbort, listen } from "./api.js";
import { chosen } from "./controls.js";
import { curves, farthest, isLogarithmic, map, metricsOf, statusOf } from "./curves.js";
import * as neurons from "./neurons.js";
import * as panel from "./panel.js";
import { at, csv, debounced, make, say, typeset, words } from "./page.js";
import * as pins from "./pins.js";
import { clear, draw } from "./plots.js";
import { Series } from "./series.js";
import { problem, remember, state } from "./state.js";
import * as stories from "./stories.js";

const MOST_GHOSTS = 3;
const QUIET_MS = 2000; // A lab that was busy may be quiet again by then.
const theoryLine = new Line();
const dotLine = new Line();
let now = null; // What is drawn: the question, the outline, the series of theory and of dots.
let accepted = null; // The same for what was asked last, once the lab has taken it.
let ghosts = [];
let told = () => {};
let seconds = {};

export function setUp(described, elsewhere, adoptAll) {
  told = elsewhere;
  seconds = described.seconds;
  panel.setUp(described.learners, { learner: forget, changed: refresh, moved: refreshSoon, adopt: adoptAll });
  pins.setUp(() => {
    pins.show(now);
    redraw();
  });
  neurons.setUp(redraw);
  at("metric").addEventListener("change", () => shows({ metric: at("metric").value }));
  at("log-y").addEventListener("change", () => shows({ logY: at("log-y").checked }));
  at("log-x").addEventListener("change", () => shows({ xScale: at("log-x").checked ? "log" : "linear" }));
  at("seeds").addEventListener("change", () => {
    state.seeds = Math.min(64, Math.max(1, Math.round(Number(at("seeds").value)) || 1));
    at("seeds").value = state.seeds;
    remember();
    if (at("auto").checked) simulate();
  });
  at("run").addEventListener("click", simulate);
  at("stop").addEventListener("click", () => dotLine.stop());
  at("pin").addEventListener("click", () => pins.pin(now));
  at("clear").addEventListener("click", () => {
    ghosts = [];
    redraw();
  });
}

// Shows what the state holds.
export function adopt() {
  forget();
  panel.choose();
  at("log-y").checked = state.logY;
  at("seeds").value = state.seeds;
  pins.show(now);
  pins.restore();
  refresh();
}

function shows(how) {
  Object.assign(state, how);
  remember();
  redraw();
}

// Nothing that was said of the learner before holds for this one.
function forget() {
  stories.show();
  ghosts = [];
  now = null;
  clear("plot");
  at("notes").replaceChildren();
  say(at("said"), "");
  at("z").textContent = "largest |z| –";
  at("status").hidden = true;
  at("progress").value = 0;
}

function question() {
  const row = panel.row();
  const settings = { ...chosen(row.controls, state.settings), ...panel.swept() };
  return { learner: row.name, settings, problem: row.has_target ? problem() : { noise: state.noise || "0" }, seeds: state.seeds };
}

const refreshSoon = debounced(50, () => refresh(false));

export async function refresh(settled = true) {
  // Whatever was to follow the question before has no meaning for this one.
  for (const soon of [refreshSoon, refineSoon, simulateSoon]) soon.cancel();
  remember(settled);
  dotLine.stop();
  for (const name of ["dots", "lineMs", "neurons"]) delete document.body.dataset[name];
  accepted = null;
  at("fits").hidden = true;
  const asked = question();
  const text = JSON.stringify({ ...asked, seeds: 0 });
  if (now?.ended && now.text !== text) ghosts = [now, ...ghosts].slice(0, MOST_GHOSTS);
  const next = { text, asked, axis: state.axis, second: state.second, theory: null, dots: null, ended: false, reasons: [] };
  const signal = theoryLine.begin();
  const begin = performance.now();
  at("plot").classList.add("stale");
  say(at("said"), `Theory is being computed${now ? "; what is dimmed is the answer before" : ""}. A point may take ${seconds.predict} s.`);
  try {
    await listen("theory", asked, signal, (name, data) => {
      if (name === "outline") {
        accepted = next;
        next.outline = data;
        next.theory = new Series(next.axis, next.second, data);
        told(data);
      } else if (name === "points") {
        data.forEach((each) => next.theory.take(each));
        if (data.length) arrived(next);
      } else if (name === "end") {
        next.ended = true;
        next.lineMs = performance.now() - begin;
        next.reasons = data.reasons;
        next.left = data.left;
        arrived(next);
        at("notes").replaceChildren(...[...data.notes, ...data.references].map((line) => make("li", {}, typeset(line))));
        redraw();
        document.body.dataset.lineMs = next.lineMs.toFixed(0);
        if (data.left) refineSoon(next);
      }
    });
    speak();
    pins.show(now);
    if (!now.theory.metrics().length) panel.offer();
    if (at("auto").checked) simulateSoon();
    else neurons.refresh(panel.row(), asked);
  } catch (error) {
    if (isAbort(error)) return;
    forget();
    at("plot").classList.remove("stale");
    say(at("said"), error.message, true);
    neurons.hide();
    panel.offer();
    document.body.dataset.dots = "refused";
  }
}

function arrived(next) {
  now = next;
  at("plot").classList.remove("stale");
  redrawSoon();
}

// A busy lab leaves points out: they are asked for again while the same line is looked at.
const refineSoon = debounced(QUIET_MS, (mine) => refine(mine));

async function refine(mine) {
  await listen("theory", mine.asked, theoryLine.begin(), (name, data) => {
    if (name === "points") data.forEach((each) => mine.theory.take(each));
    if (name !== "end") return;
    mine.left = data.left;
    redraw();
    if (data.left) refineSoon(mine);
  }).catch(() => {});
}

const simulateSoon = debounced(200, () => simulate());

async function simulate() {
  simulateSoon.cancel();
  if (!accepted) return;
  const mine = accepted;
  const signal = dotLine.begin();
  document.body.dataset.dots = "running";
  at("stop").disabled = false;
  at("progress").value = 0;
  neurons.refresh(panel.row(), mine.asked);
  speak(`Dots are running; a seed may take ${seconds.simulate} s.`);
  try {
    await listen("simulate", { ...mine.asked, seeds: state.seeds, seed: 0 }, signal, (name, data) => {
      if (name === "outline") {
        mine.dots = new Series(mine.axis, mine.second, data);
        told(data);
      }
      if (name === "dots") {
        for (const each of data.dots) {
          mine.seeds = each.seeds;
          mine.dots.take(each);
        }
        at("progress").value = data.share;
        if (now !== mine) arrived(mine);
        redrawSoon();
      }
    });
    document.body.dataset.dots = "done";
  } catch (error) {
    // A run that another has replaced says nothing of the one that is on its way.
    if (signal !== dotLine.controller.signal) return;
    at("stop").disabled = true;
    if (isAbort(error)) speak("Stopped.");
    else say(at("said"), error.message, true);
    document.body.dataset.dots = "stopped";
    return;
  }
  at("stop").disabled = true;
  redraw();
  speak();
  neurons.playOnce();
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

function showMetrics() {
  const names = metricsOf(now, panel.row());
  const menu = at("metric");
  if ([...menu.options].map((each) => each.value).join() !== names.join()) {
    menu.replaceChildren(...names.map((name) => make("option", { value: name }, words(name))));
  }
  menu.value = [state.metric, "test_error", names[0]].find((name) => names.includes(name)) ?? "";
  return menu.value;
}

function redraw() {
  if (!now?.outline) return;
  const metric = showMetrics();
  const until = neurons.shownStep();
  const [drawn, drawnGhosts] = [now, ghosts];
  draw("plot", () => (drawn.second ? map(drawn, metric) : curves(drawn, drawnGhosts, metric, until)));
  at("log-x").checked = isLogarithmic(now);
  const far = farthest(now, metric);
  at("z").textContent = far === null ? "largest |z| –" : `largest |z| ${far.toFixed(1)}, ${now.seeds} seeds`;
  const status = statusOf(now, metric);
  at("status").hidden = !status;
  at("status").className = `term badge ${status ?? ""}`;
  at("status").textContent = at("status").dataset.term = status ?? "";
}

function speak(more = "") {
  if (!now?.ended) return;
  const lacking = now.reasons.length ? `No theory: ${now.reasons.join("; ")}. ` : "";
  const far = farthest(now, at("metric").value);
  const dots = now.dots && now.seeds && !more ? `Dots from ${now.seeds} seeds${far === null ? "" : `, largest |z| ${far.toFixed(1)}`}.` : more;
  const line = now.theory?.metrics().length ? `The line took ${now.lineMs < 1000 ? `${Math.round(now.lineMs)} ms` : `${(now.lineMs / 1000).toFixed(1)} s`}. ` : "";
  say(at("said"), lacking + line + dots, Boolean(lacking));
}

export function table() {
  const rows = [["kind", "metric", "place", now?.outline?.label || now?.axis, now?.second || "second", "value", "error", "status or z"]];
  for (const [kind, series] of [["theory", now?.theory], ["simulated", now?.dots]]) {
    for (const metric of series?.metrics() ?? []) {
      for (const [name, cells] of series.cells(metric)) for (const [x, y, numbers] of cells) rows.push([kind, metric, name, x, now.second ? y : "", ...numbers]);
    }
  }
  return csv(rows);
}
