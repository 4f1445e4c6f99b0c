// Plotly, in the colours of the page; pictures that are taken away are in those of paper.

import { at, make } from "./page.js";

// Colours that people tell apart whatever their eyes, for paper and for night.
const COLOURS = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"],
  dark: ["#56b4e9", "#ff8a4c", "#2fd1a5", "#e39bc4", "#8fb8ff", "#f0b93a"],
};
const PAPER = { "--ink": "#1d2730", "--grid": "#e8ebee", "--line": "#d9dee2", "--ghost": "#8b979f" };
const SIZE = { width: 640, height: 440, scale: 3 };
const CONFIG = { displayModeBar: false };
const builders = new Map();
// A plot follows its place on the page, whatever has made that wider.
const follows = new ResizeObserver((entries) => {
  for (const { target } of entries) if (target.data && target.clientWidth) globalThis.Plotly.Plots.resize(target);
});
let printing = false;

export const hue = (number) => COLOURS[printing ? "light" : document.documentElement.dataset.theme ?? "light"][number % 6];

const colour = (name) => (printing ? PAPER[name] : getComputedStyle(document.documentElement).getPropertyValue(name).trim());
export const ghostColour = () => colour("--ghost");

export function layout(x, y, more = {}) {
  const axis = (title, rest = {}) => ({
    title: { text: title, standoff: 6 }, gridcolor: colour("--grid"), linecolor: colour("--line"), zerolinecolor: colour("--line"), showline: true, automargin: false, ...rest,
  });
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: colour("--ink"), family: "system-ui, sans-serif", size: 13 },
    margin: { l: 58, r: 12, t: 10, b: 44 }, showlegend: true, hovermode: "closest",
    legend: { orientation: "h", x: 0, y: 1.01, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)" },
    ...more,
    xaxis: axis(x, more.xaxis), yaxis: axis(y, more.yaxis),
  };
}

// build() gives traces and layout; it is called again when colours change, and for a picture.
export function draw(id, build) {
  builders.set(id, build);
  follows.observe(at(id));
  return globalThis.Plotly.react(at(id), ...build(), CONFIG);
}

export function clear(id) {
  builders.delete(id);
  globalThis.Plotly.purge(at(id));
}

export function redrawAll() {
  for (const [id, build] of builders) draw(id, build);
}

export async function picture(id, format) {
  const build = builders.get(id);
  if (!build) return;
  printing = true;
  const [data, shape] = build();
  printing = false;
  const font = { ...shape.font, family: "DejaVu Sans, Verdana, sans-serif", size: 12 };
  const paper = { ...shape, font, paper_bgcolor: "#ffffff", plot_bgcolor: "#ffffff", margin: { ...shape.margin, t: 30 } };
  const address = await globalThis.Plotly.toImage({ data, layout: paper }, { ...SIZE, format });
  make("a", { href: address, download: `giantstep-${id}.${format}` }).click();
}
