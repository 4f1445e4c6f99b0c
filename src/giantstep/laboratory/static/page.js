// Small helpers around the document.

export const at = (id) => document.getElementById(id);

export function make(tag, options = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(options)) {
    if (name === "class") element.className = value;
    else if (name in element && name !== "list") element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export function makeSvg(tag, options = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(options)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

// Formulas come as MathML; nothing but MathML is taken over.
export function formula(markup) {
  const body = new DOMParser().parseFromString(markup, "text/html").body;
  const space = "http://www.w3.org/1998/Math/MathML";
  const fragment = document.createDocumentFragment();
  for (const node of body.childNodes) {
    if (node.nodeType === Node.TEXT_NODE) fragment.append(node.textContent);
    else if (node.namespaceURI === space && isMath(node, space)) fragment.append(document.importNode(node, true));
  }
  return fragment;
}

function isMath(node, space) {
  if (node.namespaceURI !== space) return false;
  const quiet = [...node.attributes].every((each) => !each.name.startsWith("on") && each.name !== "href");
  return quiet && [...node.children].every((child) => isMath(child, space));
}

// Powers, as in d^1.5 or d^(1/2), raised: parts of a text that are plain and parts that are raised.
const POWER = /(?<=[\w)])\^(?:\(([^()]*)\)|(-?[\w.]+(?:\/\d+)?))/g;

export function typeset(text) {
  const fragment = document.createDocumentFragment();
  let end = 0;
  for (const found of text.matchAll(POWER)) {
    fragment.append(text.slice(end, found.index), make("sup", {}, found[1] ?? found[2]));
    end = found.index + found[0].length;
  }
  fragment.append(text.slice(end));
  return fragment;
}

// The same for labels of plots, which read a little markup.
export const typesetLabel = (text) => String(text).replace(/[<>&]/g, "").replace(POWER, (_, one, other) => `<sup>${one ?? other}</sup>`);

export function say(element, text, bad = false) {
  element.textContent = text;
  element.classList.toggle("bad", bad);
}

// Does it once the calls have paused; cancel() forgets the last of them.
export function debounced(milliseconds, action) {
  let timer = 0;
  const soon = (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), milliseconds);
  };
  soon.cancel = () => clearTimeout(timer);
  return soon;
}

export const digits = (number, count = 3) => (number === null || number === undefined ? "–" : String(Number(Number(number).toPrecision(count))));

export const words = (name) => name.replaceAll("_", " ");

export function download(name, text, kind) {
  const address = URL.createObjectURL(new Blob([text], { type: kind }));
  make("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

export function csv(rows) {
  const cell = (value) => {
    const text = value === null || value === undefined ? "" : String(value);
    return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\n") + "\n";
}
