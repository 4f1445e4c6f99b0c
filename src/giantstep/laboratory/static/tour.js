// A few words for a first visit, beside the thing that they speak of; Escape or Skip ends them.

import { at } from "./page.js";

const STEPS = [
  ["target-section", "The target", "A function of a few hidden directions h1, h2, … Beside it is its staircase: what is learned first, what next, and what never."],
  ["experiment", "The experiment", "The line is the theory in high dimension, the dots are networks that were trained. Move a slider: the line follows at once, the dots land on it."],
  ["stories", "Six stories", "Each sets the page up for one result of the field, in three sentences."],
  ["take", "Take it away", "The same experiment as a command, as Python, as a file that any lab opens; every plot as a picture and a table."],
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
  document.querySelector(".shown")?.classList.remove("shown");
  if (next >= STEPS.length) return end();
  number = next;
  const [id, title, text] = STEPS[number];
  at("tour-title").textContent = `${number + 1} of ${STEPS.length}: ${title}`;
  at("tour-text").textContent = text;
  at("tour-next").textContent = number + 1 < STEPS.length ? "Next" : "Done";
  at(id).classList.add("shown");
  if (number) at(id).scrollIntoView({ block: "nearest" });
  if (focus) at("tour-next").focus({ preventScroll: true });
  return undefined;
}

function end() {
  document.querySelector(".shown")?.classList.remove("shown");
  at("tour").hidden = true;
  try {
    localStorage.setItem(SEEN, "seen");
  } catch {
    // Nothing to remember it with.
  }
  before?.focus?.({ preventScroll: true });
}
