// What the page shows, as one plain object that fits into an address.

export const state = {
  target: "h1 + h1*h2",
  noise: "0",
  inputs: "gaussian",
  learner: "random-features",
  settings: { dim: "100", width: "2d", ridge: "0.01" },
  axis: "",
  range: "",
  metric: "",
  logY: false,
  seeds: 8,
  pins: [],
  spectrum: {},
  neurons: {},
};

export function restore() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (given.has("target")) state.target = given.get("target");
  if (!given.has("s")) return given.has("target");
  try {
    const found = JSON.parse(given.get("s"));
    for (const name of Object.keys(state)) {
      if (name in found && typeof found[name] === typeof state[name]) state[name] = found[name];
    }
    return true;
  } catch {
    return false; // An address that was cut short shows the worked example.
  }
}

export function permalink() {
  const hash = `#s=${encodeURIComponent(JSON.stringify(state))}`;
  return `${location.origin}${location.pathname}${hash}`;
}

// The address as the page read or wrote it last.
let own = location.hash;

export function remember() {
  // Somebody has just given the page another address: it begins anew from that one.
  if (location.hash !== own) return;
  try {
    history.replaceState(null, "", permalink());
  } catch {
    return; // Browsers take so many addresses in a while: the next one holds this change too.
  }
  own = location.hash;
}

export const problem = () => ({ target: state.target, noise: state.noise || "0", inputs: state.inputs || "gaussian" });
