// Numbers of a stream as series: one for each place of a metric, along the x axis.

const INNER = ["time", "step"];

// entries: [metric, place, value, ...]; keeps those of one metric, by what is left of their place.
export class Series {
  constructor(axis, x) {
    this.inner = INNER.includes(axis) ? axis : null;
    this.x = x;
    this.points = new Map();
  }

  take(index, entries, last) {
    for (const [metric, place, ...numbers] of entries) {
      const found = Object.fromEntries(place);
      const x = this.inner ? found[this.inner] : this.x[index];
      if (x === undefined || numbers[0] === null || numbers[0] === "inf") continue;
      if (!this.inner && "step" in found && found.step !== last) continue;
      const name = place.filter(([axis]) => axis !== this.inner && axis !== "step").map(([axis, at]) => (axis === "direction" ? at : `${axis} ${at}`)).join(", ");
      if (!this.points.has(metric)) this.points.set(metric, new Map());
      const places = this.points.get(metric);
      if (!places.has(name)) places.set(name, new Map());
      places.get(name).set(x, numbers);
    }
  }

  metrics() {
    return [...this.points.keys()];
  }

  // [[name, [[x, numbers], ...]], ...] in the order of x.
  of(metric) {
    return [...(this.points.get(metric) ?? [])].map(([name, points]) => [name, [...points].sort((a, b) => a[0] - b[0])]);
  }
}

export const lastStep = (entries) => Math.max(-1, ...entries.flatMap(([, place]) => place.filter(([axis]) => axis === "step").map(([, at]) => at)));
