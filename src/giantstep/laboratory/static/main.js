// The page: what is where, and what follows when the target changes.

import { learners } from "./api.js";
import * as experiment from "./experiment.js";
import * as glossary from "./glossary.js";
import * as neurons from "./neurons.js";
import { at, say } from "./page.js";
import { redrawAll } from "./plots.js";
import * as spectra from "./spectra.js";
import { become, restore } from "./state.js";
import * as stories from "./stories.js";
import * as take from "./take.js";
import * as target from "./target.js";
import * as tour from "./tour.js";

// The token has done its work: it need not stay in the address.
if (location.search) history.replaceState(null, "", location.pathname + location.hash);

const dark = matchMedia("(prefers-color-scheme: dark)");

function theme(name) {
  document.documentElement.dataset.theme = name;
  redrawAll();
}

// The panel below the fold waits until somebody scrolls to it.
let isSeen = false;
const watch = new IntersectionObserver((entries) => {
  if (isSeen || !entries.some((entry) => entry.isIntersecting)) return;
  isSeen = true;
  spectra.refresh();
}, { rootMargin: "100px" });

function targetChanged() {
  stories.show();
  experiment.refresh();
  if (isSeen) spectra.refresh();
}

// Shows what the state holds, wherever it came from.
async function adopt() {
  spectra.adopt();
  experiment.adopt();
  if (isSeen) spectra.refresh();
  await target.adopt();
}

async function begin() {
  const restored = restore();
  theme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => theme(dark.matches ? "dark" : "light"));
  at("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  glossary.setUp();
  const told = await learners();
  experiment.setUp(told, take.told, adopt);
  spectra.setUp(told.learners.find((row) => row.name === "giant-step"), told.seconds.spectrum);
  const open = (given, place) => {
    become(given);
    adopt();
    if (place) at(place).scrollIntoView();
  };
  stories.setUp(open);
  take.setUp({ plot: experiment.table, "spectrum-plot": spectra.table, "neuron-plot": neurons.table }, told.seconds, open);
  target.setUp(told.targets, told.inputs, targetChanged);
  watch.observe(at("spectra"));
  tour.setUp(!restored);
  await adopt();
}

// The address belongs to the state: a jump inside the page must not write into it.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  at("experiment").scrollIntoView();
  at("experiment").focus({ preventScroll: true });
});
// The back button, or another address for the same page.
addEventListener("hashchange", () => {
  restore();
  adopt();
});
begin().catch((error) => say(at("said"), error.message, true));
