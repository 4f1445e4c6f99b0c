// What the page shows, as one plain object that fits into an address or a file.

const FIRST = {
  story: "",
  target: "h1 + h1*h2",
  noise: "0",
  inputs: "gaussian",
  learner: "giant-step",
  settings: { dim: "400", width: "40", samples: "8d", steps: "2", step_size: "3" },
  axis: "step",
  range: "",
  second: "",
  secondRange: "",
  metric: "",
  xScale: "",
  logY: false,
  seeds: 8,
  pins: [],
  spectrum: {},
};

export const state = structuredClone(FIRST);

// The worked example, changed by what is given; whatever else is in it is left alone.
export function become(given) {
  Object.assign(state, structuredClone(FIRST));
  for (const [name, first] of Object.entries(FIRST)) {
    const isKind = typeof given?.[name] === typeof first && Array.isArray(given[name]) === Array.isArray(first);
    if (isKind && given[name] !== null) state[name] = structuredClone(given[name]);
  }
}

// The address as the page read or wrote it last, and whether a slider is on its way since.
let own = location.hash;
let moving = false;

export function restore() {
  own = location.hash;
  const given = new URLSearchParams(own.slice(1));
  if (!given.has("s")) {
    become({ target: given.get("target") ?? undefined });
    return given.has("target");
  }
  try {
    become(JSON.parse(given.get("s")));
    return true;
  } catch {
    become({}); // An address that was cut short shows the worked example.
    return false;
  }
}

export function permalink() {
  const hash = `#s=${encodeURIComponent(JSON.stringify(state))}`;
  return `${location.origin}${location.pathname}${hash}`;
}

// Each change is a place that the browser's back button leads to; a slider's way is one change.
export function remember(settled = true) {
  // Somebody has just given the page another address: it begins anew from that one.
  if (location.hash !== own) return;
  const link = permalink();
  const replaces = moving || !own.startsWith("#s=");
  try {
    if (link !== location.href) history[replaces ? "replaceState" : "pushState"](null, "", link);
  } catch {
    return; // Browsers take so many addresses in a while: the next one holds this change too.
  }
  moving = !settled;
  own = location.hash;
}

export const problem = () => ({ target: state.target, noise: state.noise || "0", inputs: state.inputs || "gaussian" });
