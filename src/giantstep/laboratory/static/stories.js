// Six results of the field, each as three sentences and a state of the page.

import { at, make, makeSvg } from "./page.js";
import { state } from "./state.js";

const SAMPLES = "1d:8d:7log";
const MORE = "1d:16d:7log";
const RIDGED = { dim: "200", samples: SAMPLES, ridge: "0.1" };
const STEEP = { target: "tanh(3*h1)", noise: "0", inputs: "gaussian" };
const CUBE = { target: "He3(h1)", noise: "0", inputs: "gaussian" };
const ONE_PASS = { dim: "1000", activation: "tanh", loss: "correlation", step_size: "0.2", start_overlap: "0", times: "1,2,3,4,6,8,10" };
const SQUARE = { target: "He2(h1)", noise: "0", inputs: "gaussian" };

const STORIES = [
  {
    name: "staircase",
    title: "A staircase",
    text: "The labels h1 + h1 h2 show h1 at once, and h2 only to somebody who knows h1. The first giant step turns every neuron towards h1; the second, on fresh samples, finds h2. Each stair has leap 1, so a multiple of d samples is enough for all of it.",
    state: { target: "h1 + h1*h2" },
    lines: ["M4 40 H20 V28 H36 V16 H60", "M4 38 L20 24 L36 14 L60 8"],
  },
  {
    name: "wall",
    title: "A stair never climbed",
    text: "Take h1 + h2 h3 instead: h1 tells nothing of h2 and h3. Their product has leap 2, and n = 8d samples in each step show no gradient towards them. The cloud turns to h1; towards h2 and h3 it keeps little more than chance.",
    state: { target: "h1 + h2*h3", settings: { dim: "400", width: "40", samples: "8d", steps: "4", step_size: "2" } },
    lines: ["M4 40 H22 V30 H40 V6", "M4 38 L22 26 H60"],
  },
  {
    name: "kernel",
    title: "One step beats kernels",
    text: "A kernel sees tanh(3 h1) through all d coordinates, and pays for each degree of it. One giant step turns the features towards h1, and the readout then fits a function of one variable. With few samples the step is mostly noise and the kernel (dashed) wins; from a few d samples on, the network does.",
    state: { ...STEEP, axis: "samples", range: MORE, metric: "test_error", settings: { dim: "200", samples: "4d", steps: "1", step_size: "5", width: "1d", activation: "tanh", readout: "ones", ridge: "0.1" }, pins: [{ name: "kernel", axis: "samples", asked: { learner: "kernel", settings: { ...RIDGED, samples: MORE }, problem: STEEP, seeds: 8 } }] },
    lines: ["M4 6 C16 10 36 30 60 38", "M4 14 C20 15 40 20 60 24"],
  },
  {
    name: "outlier",
    title: "An outlier leaves the bulk",
    text: "Weights at the start have a bulk of singular values and nothing else. A giant step adds one direction, and beyond a step size of order 1 its singular value leaves the bulk. Move the step size under Spectra: the arrow is the prediction.",
    state: { target: "sin(h1)", spectrum: { step_size: "2" } },
    goes: "spectra",
    lines: ["M4 40 C8 8 26 8 34 40", "M52 40 V20 M48 25 L52 20 L56 25"],
  },
  {
    name: "repetition",
    title: "Repetition finds it",
    text: "He3(h1) has information exponent 3: in one pass, gradient descent needs about d squared samples. Looking ahead, which uses each sample twice, turns the labels into something of a lower degree. The overlap grows in size within a few d samples; without the look ahead (dashed) it does not.",
    state: { ...CUBE, learner: "online-sgd", axis: "time", metric: "overlap", settings: { ...ONE_PASS, lookahead: "0.5" }, pins: [{ name: "each sample once", axis: "time", asked: { learner: "online-sgd", settings: ONE_PASS, problem: CUBE, seeds: 8 } }] },
    lines: ["M4 40 C24 40 26 10 60 8", "M4 38 H60"],
  },
  {
    name: "spike",
    title: "A spike in the data helps",
    text: "With isotropic inputs a kernel needs about d squared samples for He2(h1). Inputs with a large variance along h1 show the direction before any label does. The line is the kernel with the spike, the dashed one without.",
    state: { ...SQUARE, inputs: "spiked:d^0.5", learner: "kernel", axis: "samples", range: SAMPLES, settings: { dim: "200", ridge: "0.1" }, pins: [{ name: "without a spike", axis: "samples", asked: { learner: "kernel", settings: RIDGED, problem: SQUARE, seeds: 8 } }] },
    lines: ["M8 38 L56 8", "M14 26 a18 8 -32 1 0 36 -6 a18 8 -32 1 0 -36 6"],
  },
];

export function setUp(chosen) {
  for (const story of STORIES) {
    const paths = story.lines.map((d, number) => makeSvg("path", { d, class: `line-${number}` }));
    const thumbnail = makeSvg("svg", { viewBox: "0 0 64 44", "aria-hidden": "true" }, ...paths);
    const button = make("button", { type: "button", class: "story", "aria-pressed": "false" }, thumbnail, make("span", {}, story.title));
    button.dataset.story = story.name;
    button.addEventListener("click", () => chosen({ ...story.state, story: story.name }, story.goes));
    at("story-list").append(button);
  }
}

export function show() {
  const story = STORIES.find((each) => each.name === state.story);
  for (const button of document.querySelectorAll(".story")) button.setAttribute("aria-pressed", String(button.dataset.story === story?.name));
  at("story-text").hidden = !story;
  at("tagline").hidden = Boolean(story);
  at("story-text").textContent = story?.text ?? "";
}
