// The page: what is where, and what follows when the target changes.

import { learners } from "./api.js";
import * as experiment from "./experiment.js";
import * as neurons from "./neurons.js";
import { at, say } from "./page.js";
import * as spectra from "./spectra.js";
import { restore, state } from "./state.js";
import * as take from "./take.js";
import * as target from "./target.js";
import * as tour from "./tour.js";

// The token has done its work: it need not stay in the address.
if (location.search) history.replaceState(null, "", location.pathname + location.hash);

const dark = matchMedia("(prefers-color-scheme: dark)");

function theme(name) {
  document.documentElement.dataset.theme = name;
  for (const panel of [experiment, spectra, neurons]) panel.redraw();
}

// Panels below the fold wait until somebody scrolls to them.
const seen = new Set();
const panels = { spectra, neurons };
const watch = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const id = entry.target.id;
    if (!entry.isIntersecting || seen.has(id)) continue;
    seen.add(id);
    panels[id].refresh();
  }
}, { rootMargin: "100px" });

function targetChanged() {
  experiment.refresh();
  for (const id of seen) panels[id].refresh();
}

async function begin() {
  const restored = restore();
  theme(dark.matches ? "dark" : "light");
  dark.addEventListener("change", () => theme(dark.matches ? "dark" : "light"));
  at("theme").addEventListener("click", () => theme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
  const told = await learners();
  const giant = told.learners.find((row) => row.name === "giant-step");
  experiment.setUp(told.learners, take.told);
  spectra.setUp(giant);
  neurons.setUp(giant);
  take.setUp({ plot: experiment.table, "spectrum-plot": spectra.table, "neuron-plot": neurons.table });
  const reading = target.setUp(told.targets, told.inputs, targetChanged);
  experiment.refresh();
  for (const id of Object.keys(panels)) watch.observe(at(id));
  tour.setUp(!restored);
  await reading;
  if (state.pins.length) await experiment.restorePins();
}

// The address belongs to the state: a jump inside the page must not write into it.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  at("experiment").scrollIntoView();
  at("experiment").focus({ preventScroll: true });
});
addEventListener("hashchange", () => location.reload());
begin().catch((error) => say(at("said"), error.message, true));
