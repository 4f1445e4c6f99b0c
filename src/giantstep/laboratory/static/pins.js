// Curves that are kept, of any target and any learner, under names that say what differs.

import { Line, listen } from "./api.js";
import { at, make, words } from "./page.js";
import { Series } from "./series.js";
import { remember, state } from "./state.js";

const QUIET_MS = 2000; // A lab that was busy may be quiet again by then.
const line = new Line();
let changed = () => {};

export function setUp(redraw) {
  changed = redraw;
}

const facts = ({ axis, asked }) => {
  const { [axis]: _, ...settings } = asked.settings;
  return { learner: asked.learner, ...asked.problem, ...settings };
};

// The name that was given, or what tells it from the curve that is drawn and the other pins.
export function nameOf(curve, now) {
  if (curve.name) return curve.name;
  const [own, ...others] = [curve, ...state.pins, now].map(facts);
  // Settings of two learners cannot be compared: then the learner says it.
  const isOne = others.every((each) => each.learner === own.learner);
  const names = isOne ? [...new Set([own, ...others].flatMap(Object.keys))] : ["learner", "target", "noise", "inputs"];
  const apart = names.filter((name) => others.some((each) => String(each[name]) !== String(own[name])));
  const told = apart.map((name) => (["learner", "target"].includes(name) ? own[name] : `${words(name)} ${own[name] ?? "as usual"}`));
  return told.join(", ") || own.learner;
}

export function pin(now) {
  if (!now?.theory) return;
  const pinned = { name: "", axis: now.axis, asked: now.asked };
  state.pins.push(pinned);
  Object.defineProperty(pinned, "series", { value: now.theory, configurable: true });
  remember();
  changed();
  // What is pinned on its way may be given up for another line: it gets one of its own.
  if (!now.ended || now.left) compute(pinned, line.controller?.signal);
}

export function show(now) {
  at("pins").replaceChildren(
    ...state.pins.map((each, number) => {
      const name = make("input", { type: "text", value: each.name, placeholder: nameOf(each, now ?? each), "aria-label": "Name of the pinned curve" });
      name.addEventListener("change", () => {
        each.name = name.value;
        remember();
        changed();
      });
      const remove = make("button", { type: "button", "aria-label": `Remove ${nameOf(each, now ?? each)}` }, "Remove");
      remove.addEventListener("click", () => {
        state.pins.splice(number, 1);
        remember();
        changed();
      });
      return make("li", {}, name, remove);
    }),
  );
}

// Curves that were pinned in another session are computed again.
export async function restore() {
  const signal = line.begin();
  for (const each of state.pins) if (!signal.aborted) await compute(each, signal);
}

async function compute(pinned, signal) {
  let series = null;
  let left = 0;
  await listen("theory", pinned.asked, signal, (name, data) => {
    if (name === "outline") series = new Series(pinned.axis, "", data);
    if (name === "points") data.forEach((each) => series.take(each));
    if (name === "end") left = data.left;
  }).catch(() => {});
  if (signal?.aborted) return;
  if (series) Object.defineProperty(pinned, "series", { value: series, configurable: true });
  changed();
  if (left) setTimeout(() => state.pins.includes(pinned) && compute(pinned, signal), QUIET_MS);
}
