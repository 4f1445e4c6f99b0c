// Words of the field: hover, tap or focus one and it says what it means.

import { at, make } from "./page.js";

const MEANINGS = {
  leap: "The least degree at which labels speak of a new direction, given those that are known. Gradient descent on fresh samples needs about d samples for leap 1, and a power of d more for each further leap.",
  class: "How hard the target is for message passing: trivial targets are found from any multiple of d samples, easy ones beyond a threshold of n/d, hard ones need more than a multiple of d.",
  trivial: "Found from n = alpha d samples with any alpha above 0.",
  easy: "Found from n = alpha d samples beyond a threshold of alpha.",
  hard: "Not found from any multiple of d samples: n must grow like a power of d above 1.",
  "information exponent": "The least degree of a Hermite polynomial in the labels themselves: what gradient descent sees that uses each sample once.",
  "generative exponent": "The same for the best function of the labels: what methods see that use a sample twice or transform labels first.",
  threshold: "The ratio n/d from which message passing finds a direction.",
  theorem: "Proved, in the limit and under the assumptions that the notes name.",
  replica: "Computed by the replica method: exact in every case that was checked, and not proved here.",
  heuristic: "A limit law used at finite size, or a formula whose corrections are not known.",
  conjecture: "Believed, with evidence in the papers that are named, and not proved.",
  z: "The largest distance between a dot and the line, in standard errors of the dot.",
};

export function term(name, shown = name, kind = "") {
  const button = make("button", { type: "button", class: `term ${kind}` }, shown);
  if (name in MEANINGS) button.dataset.term = name;
  return button;
}

export const badge = (status) => term(status, status, `badge ${status}`);

export function setUp() {
  for (const name of ["pointerover", "focusin", "click"]) addEventListener(name, (event) => show(event.target.closest?.("[data-term]")));
  addEventListener("pointerout", (event) => event.target.closest?.("[data-term]") && hide());
  addEventListener("focusout", hide);
  addEventListener("scroll", hide, true);
  addEventListener("keydown", (event) => event.key === "Escape" && hide());
}

function show(word) {
  if (!word) return;
  hide();
  const tip = at("tip");
  tip.textContent = MEANINGS[word.dataset.term];
  tip.hidden = false;
  word.setAttribute("aria-describedby", "tip");
  const [place, size] = [word.getBoundingClientRect(), tip.getBoundingClientRect()];
  const fits = place.bottom + size.height + 12 < innerHeight;
  tip.style.left = `${Math.max(8, Math.min(place.left, innerWidth - size.width - 8))}px`;
  tip.style.top = `${fits ? place.bottom + 6 : place.top - size.height - 6}px`;
}

function hide() {
  at("tip").hidden = true;
  document.querySelector("[aria-describedby=tip]")?.removeAttribute("aria-describedby");
}
