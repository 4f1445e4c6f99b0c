// The staircase of a target as a drawing: one stair per leap, a wall where nothing more is learned.

import { make, makeSvg } from "./page.js";

const [WIDTH, HEIGHT, FOOT] = [118, 112, 14];

// h1, h2 with the numbers lowered.
function lowered(text) {
  const parts = text.split(/(?<=h)(\d+)/);
  return parts.map((part, number) => makeSvg("tspan", number % 2 ? { class: "low", dy: 4 } : number ? { dy: -4 } : {}, part));
}

export function staircase(found, dimension) {
  const { stairs, title } = found;
  const learned = stairs.reduce((sum, stair) => sum + stair.text.split(",").length, 0);
  const isWhole = learned >= dimension;
  const risers = stairs.map((stair) => Math.min(stair.leap, 4));
  const unit = Math.min(34, (HEIGHT - 46) / Math.max(1, risers.reduce((a, b) => a + b, 0)));
  const columns = Math.max(1, stairs.length + (isWhole ? 0 : 1));
  const drawing = makeSvg("svg", { viewBox: `0 0 ${WIDTH * columns + 8} ${HEIGHT}`, class: "staircase", role: "img", "aria-label": said(found, isWhole) });
  let [x, y] = [4, HEIGHT - FOOT];
  stairs.forEach((stair, number) => {
    const top = y - risers[number] * unit;
    const words = makeSvg("text", { x: x + 10, y: top - 6, class: stair.text.length > 12 ? "direction long" : "direction" }, ...lowered(stair.text));
    const leap = makeSvg("text", { x: x + 8, y: top + 15, class: `leap ${stair.class}` }, `leap ${stair.leap}, ${stair.class}`);
    const block = makeSvg("path", { d: `M${x} ${HEIGHT - FOOT} V${top} H${x + WIDTH} V${HEIGHT - FOOT}`, class: "block" });
    const edge = makeSvg("path", { d: `M${x} ${y} V${top} H${x + WIDTH}`, class: "edge" });
    drawing.append(makeSvg("g", { class: "stair" }, block, edge, words, leap));
    [x, y] = [x + WIDTH, top];
  });
  if (!isWhole) {
    const wall = makeSvg("path", { d: `M${x} ${y} V8 H${x + WIDTH}`, class: "edge wall" });
    const words = makeSvg("text", { x: x + 8, y: 26, class: "leap hard" }, "never climbed");
    drawing.append(makeSvg("g", { class: "wall" }, wall, words));
  }
  return make("figure", {}, make("figcaption", {}, title), drawing);
}

function said(found, isWhole) {
  const stairs = found.stairs.map((stair) => `${stair.text} at leap ${stair.leap} (${stair.class}, ${stair.status})`);
  return `${found.title}: ${stairs.join(", then ") || "no stair"}${isWhole ? "" : "; the rest is never climbed"}`;
}
