// Three steps for a first visit; Escape or Skip ends them.

import { at } from "./page.js";

const STEPS = [
  ["target-section", "1 of 3: type a target", "A function of a few hidden directions h1, h2, … Beside it: which are learned first, which next, and from how many samples. Each number has a badge that says how well it is founded."],
  ["experiment", "2 of 3: move a slider", "The line is the exact theory in high dimension. Dots are networks trained at finite size, seed by seed: watch their error bars shrink onto the line."],
  ["take", "3 of 3: take it away", "A link restores the page; the same experiment is a command and a few lines of Python; every plot is a PNG, an SVG and a table."],
];
const SEEN = "giantstep-lab-tour";
let number = 0;
let before = null;

export function setUp(first) {
  at("tour-start").addEventListener("click", () => begin());
  at("tour-next").addEventListener("click", () => show(number + 1));
  at("tour-skip").addEventListener("click", end);
  addEventListener("keydown", (event) => event.key === "Escape" && !at("tour").hidden && end());
  if (first && !seen()) begin(false);
}

function seen() {
  try {
    return localStorage.getItem(SEEN) !== null;
  } catch {
    return true; // No memory: no tour at every visit.
  }
}

function begin(focus = true) {
  before = document.activeElement;
  at("tour").hidden = false;
  show(0, focus);
}

function show(next, focus = true) {
  for (const [id] of STEPS) at(id).classList.remove("shown");
  if (next >= STEPS.length) return end();
  number = next;
  const [id, title, text] = STEPS[number];
  at("tour-title").textContent = title;
  at("tour-text").textContent = text;
  at("tour-next").textContent = number + 1 < STEPS.length ? "Next" : "Done";
  at(id).classList.add("shown");
  if (number) at(id).scrollIntoView({ block: "nearest" });
  if (focus) at("tour-next").focus({ preventScroll: true });
  return undefined;
}

function end() {
  for (const [id] of STEPS) at(id).classList.remove("shown");
  at("tour").hidden = true;
  try {
    localStorage.setItem(SEEN, "seen");
  } catch {
    // Nothing to remember it with.
  }
  before?.focus?.({ preventScroll: true });
}
