// Plotly, in the colours of the page.

import { at } from "./page.js";

// Colours that people tell apart whatever their eyes, for paper and for night.
const COLOURS = {
  light: ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"],
  dark: ["#56b4e9", "#ff8a4c", "#2fd1a5", "#e39bc4", "#f0b93a", "#8fb8ff"],
};

export const hue = (number) => COLOURS[document.documentElement.dataset.theme ?? "light"][number % 6];

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
export const ghostColour = () => colour("--ghost");

export function layout(x, y, more = {}) {
  const axis = (title, rest = {}) => ({
    title: { text: title, standoff: 8 }, gridcolor: colour("--grid"), linecolor: colour("--line"), zerolinecolor: colour("--line"), automargin: false, ...rest,
  });
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { color: colour("--ink"), family: "system-ui, sans-serif", size: 13 },
    margin: { l: 62, r: 14, t: 12, b: 50 }, showlegend: true, hovermode: "closest",
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", bgcolor: "rgba(0,0,0,0)" },
    ...more,
    xaxis: axis(x, more.xaxis), yaxis: axis(y, more.yaxis),
  };
}

const CONFIG = { responsive: true, displayModeBar: false };

export function draw(id, traces, shape) {
  return globalThis.Plotly.react(at(id), traces, shape, CONFIG);
}

export async function picture(id, format) {
  const plot = at(id);
  const options = { format, filename: `giantstep-${id}`, width: plot.clientWidth, height: plot.clientHeight, scale: 2 };
  await globalThis.Plotly.downloadImage(plot, options);
}
