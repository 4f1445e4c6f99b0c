// An experiment as a picture: lines of theory with dots on them, or a map over two settings.

import { nameOf } from "./pins.js";
import { digits, typesetLabel, words } from "./page.js";
import { ghostColour, hue, layout } from "./plots.js";
import { state } from "./state.js";

const MOST_TICKS = 12; // Up to so many steps, each has its tick.
const LEAST_TICKS = 3; // On a logarithmic axis, where numbers as short as 1, 2, 5 are taken first.
// The brighter part of viridis: names of contours are dark and can be read on all of it.
const HEIGHTS = [[0, "#2d7d95"], [0.25, "#21918c"], [0.5, "#35b779"], [0.75, "#90d743"], [1, "#fde725"]];

export function metricsOf(now, row) {
  const have = new Set([...(now.theory?.metrics() ?? []), ...(now.dots?.metrics() ?? [])]);
  const known = row.metrics.map((each) => each.name).filter((name) => have.has(name));
  return [...known, ...[...have].filter((name) => !known.includes(name))];
}

export function farthest(now, metric) {
  const all = (now.dots?.cells(metric) ?? []).flatMap(([, cells]) => cells.map(([, , numbers]) => numbers[2]));
  const known = all.filter((each) => typeof each === "number").map(Math.abs);
  return known.length ? Math.max(...known) : null;
}

export function statusOf(now, metric) {
  for (const [, points] of now.theory?.of(metric) ?? []) for (const [, numbers] of points) return numbers[2];
  return null;
}

const xAxis = (now, traces) => {
  const isFewSteps = now.axis === "step" && Math.max(0, ...traces.flatMap((each) => each.x)) <= MOST_TICKS;
  const ticks = now.outline.ticks ? { tickvals: now.outline.x, ticktext: now.outline.ticks.map(typesetLabel) } : isFewSteps ? { dtick: 1 } : {};
  return { ...scale(isLogarithmic(now), traces.flatMap((each) => each.x)), ...(state.xScale ? {} : ticks) };
};
export const isLogarithmic = (now) => (state.xScale ? state.xScale === "log" : Boolean(now.outline.axis && now.axis !== "step" && now.outline.log));

// Numbers written whole along a logarithmic axis, where 0.4 would else be a small 4.
function scale(isLog, values) {
  const known = values.filter((each) => each > 0);
  if (!isLog || !known.length) return { type: isLog ? "log" : "linear" };
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const decades = Array.from({ length: Math.ceil(Math.log10(high)) - Math.floor(Math.log10(low)) + 1 }, (_, k) => 10 ** (Math.floor(Math.log10(low)) + k));
  const among = (digitsOfTicks) => decades.flatMap((power) => digitsOfTicks.map((digit) => Number((digit * power).toPrecision(1)))).filter((each) => each >= low * 0.999 && each <= high * 1.001);
  const tickvals = [[1], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]].map(among).find((each) => each.length >= LEAST_TICKS);
  return tickvals ? { type: "log", tickvals, ticktext: tickvals.map(String) } : { type: "log" };
}

// Dots up to the step that is played, the whole of them otherwise.
export function curves(now, ghosts, metric, until) {
  const traces = [];
  const line = (points, rest) => traces.push({ x: points.map(([x]) => x), y: points.map(([, n]) => n[0]), mode: "lines", ...rest });
  const pinned = state.pins.map((each) => JSON.stringify({ ...each.asked, seeds: 0 }));
  for (const ghost of ghosts) {
    if (pinned.includes(ghost.text)) continue;
    if (ghost.axis !== now.axis || ghost.asked.learner !== now.asked.learner) continue;
    for (const [, points] of ghost.theory?.of(metric) ?? []) line(points, { name: "before", line: { color: ghostColour(), width: 1.2, dash: "dot" }, showlegend: false, hoverinfo: "skip" });
  }
  const others = state.pins.filter((each) => each.axis === now.axis && each.series);
  others.forEach((each, number) => {
    for (const [name, points] of each.series.of(metric)) line(points, { name: `${nameOf(each, now)} ${name}`.trim(), line: { color: hue(number + 3), width: 2, dash: "dash" } });
  });
  const places = [...new Set([...(now.theory?.of(metric) ?? []), ...(now.dots?.of(metric) ?? [])].map(([name]) => name))];
  const own = others.some((each) => !each.name) ? ` ${nameOf(now, now)}` : "";
  const predicted = new Set((now.theory?.of(metric) ?? []).map(([name]) => name));
  for (const [name, points] of now.theory?.of(metric) ?? []) {
    const color = hue(places.indexOf(name));
    line(points, { mode: points.length > 1 ? "lines" : "markers", name: `theory${own} ${name}`.trim(), line: { color, width: 2.5 }, marker: { symbol: "line-ew-open", size: 22, color } });
  }
  for (const [name, all] of now.dots?.of(metric) ?? []) {
    const points = now.axis === "step" ? all.filter(([x]) => x <= until) : all;
    const error = { type: "data", array: points.map(([, n]) => n[1] ?? 0), thickness: 1.5, width: 4 };
    line(points, { mode: "markers", name: `simulated ${name}`.trim(), error_y: error, showlegend: !predicted.has(name), marker: { color: hue(places.indexOf(name)), size: 8 } });
  }
  const dim = Number(now.asked.settings.dim);
  const xs = traces.flatMap((each) => each.x);
  if (metric === "overlap" && dim > 0 && xs.length) {
    const ends = [Math.min(...xs), Math.max(...xs)];
    traces.push({ x: ends, y: ends.map(() => dim ** -0.5), mode: "lines", name: "chance", line: { color: ghostColour(), width: 1.2, dash: "dashdot" }, hoverinfo: "skip" });
  }
  const label = typesetLabel(now.outline.axis ? now.outline.label : now.axis);
  return [traces, layout(label, words(metric), { xaxis: xAxis(now, traces), yaxis: scale(state.logY, traces.flatMap((each) => each.y)) })];
}

const short = (text) => typesetLabel(text.replace(/\d*\.\d{3,}/, (found) => digits(Number(found))));

// Theory as a map with contours, simulations as dots in the same colours.
export function map(now, metric) {
  const order = (text) => parseFloat(text) || 0;
  const [[, cells] = ["", []]] = now.theory?.cells(metric) ?? [];
  const [[, dots] = ["", []]] = now.dots?.cells(metric) ?? [];
  const all = [...cells, ...dots];
  const xs = [...new Set(cells.map(([x]) => x))].sort((a, b) => a - b);
  const ys = [...new Set(all.map(([, y]) => y))].sort((a, b) => order(a) - order(b));
  const found = new Map(cells.map(([x, y, numbers]) => [`${x} ${y}`, numbers[0]]));
  const z = ys.map((y) => xs.map((x) => found.get(`${x} ${y}`) ?? null));
  const heights = all.map(([, , numbers]) => numbers[0]);
  const [cmin, cmax] = [Math.min(...heights), Math.max(...heights)];
  const coloraxis = { colorscale: HEIGHTS, cmin, cmax, colorbar: { title: { text: words(metric) }, thickness: 14 } };
  const traces = [];
  // A few points that have come first are not a surface yet.
  const isSurface = xs.length > 1 && ys.length > 1 && cmax > cmin && cells.length > xs.length;
  if (isSurface) traces.push({ type: "contour", name: "theory", x: xs, y: ys, z, coloraxis: "coloraxis", connectgaps: true, contours: { coloring: "heatmap", showlabels: true, labelfont: { color: "#1d2730" } }, line: { width: 1, color: "#1d2730" } });
  if (dots.length) {
    const marker = { color: dots.map(([, , n]) => n[0]), coloraxis: "coloraxis", size: 13, line: { color: "#ffffff", width: 1.5 } };
    traces.push({ type: "scatter", mode: "markers", name: "simulated", x: dots.map(([x]) => x), y: dots.map(([, y]) => y), marker });
  }
  const label = typesetLabel(now.outline.axis && !now.theory.inner ? now.outline.label : now.axis);
  const second = now.theory.inner ? now.outline.label : words(now.theory.second);
  return [traces, layout(label, typesetLabel(second), { coloraxis, showlegend: false, margin: { l: 70, r: 12, t: 26, b: 44 }, xaxis: xAxis(now, traces), yaxis: { type: "category", tickvals: ys, ticktext: ys.map(short) } })];
}
