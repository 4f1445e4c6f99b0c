// Neurons of the experiment as a cloud in the plane of two directions, moving step by step.

import { Line, isAbort, listen } from "./api.js";
import { chosen } from "./controls.js";
import { at, csv, make, say } from "./page.js";
import { clear, draw, ghostColour, hue, layout } from "./plots.js";
import { state } from "./state.js";

const STEP_MS = 900;
const line = new Line();
const calm = matchMedia("(prefers-reduced-motion: reduce)");
let found = null;
let frame = 0;
let wanted = false; // The first cloud plays once.
let played = false;
let moved = () => {};

export function setUp(hear) {
  moved = hear;
  at("step").addEventListener("input", () => {
    pause();
    show(Number(at("step").value));
  });
  at("play").addEventListener("click", () => (frame ? pause() : play()));
  for (const id of ["plane-x", "plane-y"]) at(id).addEventListener("change", () => show(Number(at("step").value)));
}

// Up to which step dots are drawn: all of them, but for the time that the cloud plays.
export const shownStep = () => (frame ? Number(at("step").value) : Infinity);

export function playOnce() {
  if (played || !at("cloud").checkVisibility()) return;
  wanted = !found;
  if (found) play();
}

function play() {
  played = true;
  const last = Number(at("step").max);
  if (calm.matches) return finish(last);
  const begin = performance.now();
  at("play").textContent = "Pause";
  const move = (time) => {
    const step = Math.min(last, Math.max(0, time - begin) / STEP_MS);
    const isNew = Math.floor(step) !== Number(at("step").value);
    show(step);
    if (isNew) moved();
    if (step >= last) return finish(last);
    frame = requestAnimationFrame(move);
    return undefined;
  };
  frame = requestAnimationFrame(move);
  return undefined;
}

function finish(last) {
  pause();
  show(last);
  document.body.dataset.played = "once";
}

function pause() {
  cancelAnimationFrame(frame);
  frame = 0;
  at("play").textContent = "Play";
  moved();
}

export function hide() {
  line.stop();
  forget();
  at("cloud").hidden = true;
}

// A cloud that is gone is not drawn again when colours change.
function forget() {
  found = null;
  clear("neuron-plot");
}

export async function refresh(row, asked) {
  if (!row.neurons) return hide();
  at("cloud").hidden = false;
  delete document.body.dataset.neurons;
  at("neuron-plot").classList.add("stale");
  // A swept setting has the value of its slider in the network that is shown.
  const question = { ...asked, settings: chosen(row.controls, state.settings), seed: 0, seeds: undefined };
  try {
    await listen("neurons", question, line.begin(), (name, data) => {
      if (name === "cloud") arrived(data);
      if (name === "spaces") found.subspaces = data.subspaces;
      if (name !== "end") show(Number(at("step").value));
    });
  } catch (error) {
    if (isAbort(error)) return undefined;
    forget();
    at("neuron-plot").classList.remove("stale");
    say(at("neuron-said"), error.message, true);
  }
  return undefined;
}

function arrived(data) {
  if (frame) pause();
  found = { cosines: data.cosines.map((cloud) => cloud.map(withRest)), subspaces: [] };
  ["plane-x", "plane-y"].forEach((id, first) => {
    const kept = at(id).options.length === names().length ? at(id).selectedIndex : first;
    at(id).replaceChildren(...names().map((name, i) => make("option", { value: i }, name)));
    at(id).selectedIndex = kept;
  });
  at("neuron-plot").classList.remove("stale");
  at("step").max = found.cosines.length - 1;
  at("step").value = found.cosines.length - 1;
  say(at("neuron-said"), `${counted(found.cosines[0].length, "neuron")} of one network, ${counted(found.cosines.length - 1, "step")}.`);
  document.body.dataset.neurons = "done";
  if (wanted) play();
  wanted = false;
}

// The last cosine of a neuron is with what is orthogonal to every direction.
const withRest = (cosines) => [...cosines, Math.sqrt(Math.max(0, 1 - cosines.reduce((sum, each) => sum + each ** 2, 0)))];
const names = () => found.cosines[0][0].map((_, i, all) => (i < all.length - 1 ? `h${i + 1}` : "rest"));

const counted = (number, word) => `${number} ${word}${number === 1 ? "" : "s"}`;

// The cloud at a step, or on the way between two.
function show(step) {
  if (!found) return;
  const [before, share] = [Math.floor(step), step % 1];
  at("step").value = before;
  at("step-shown").textContent = before;
  const [from, to] = [found.cosines[before], found.cosines[Math.min(before + 1, found.cosines.length - 1)]];
  const along = (k) => from.map((each, number) => each[k] + share * (to[number][k] - each[k]));
  const [h, v] = [Number(at("plane-x").value), Number(at("plane-y").value)];
  const title = (k) => `cosine with ${names()[k].replace(/^h(.+)/, "h<sub>$1</sub>").replace("rest", "the rest")}`;
  const spaces = found.subspaces[before] ?? [];
  draw("neuron-plot", () => {
    const range = { range: [-1.05, 1.05], dtick: 0.5 };
    const ends = (vector, k) => [-(vector[k] ?? 0), vector[k] ?? 0];
    const learned = spaces.map((each) => ({ x: ends(each, h), y: ends(each, v), mode: "lines", line: { color: ghostColour(), width: 3 }, hoverinfo: "skip" }));
    const cloud = { x: along(h), y: along(v), mode: "markers", name: `step ${before}`, marker: { color: hue(0), size: 7, opacity: 0.65 } };
    return [[...learned, cloud], layout(title(h), title(v), { showlegend: false, xaxis: range, yaxis: { ...range, scaleanchor: "x" } })];
  });
}

export function table() {
  const rows = [["step", "neuron", ...(found ? names() : []).map((name) => `cosine ${name}`)]];
  found?.cosines.forEach((cloud, step) => cloud.forEach((each, neuron) => rows.push([step, neuron, ...each])));
  return csv(rows);
}
