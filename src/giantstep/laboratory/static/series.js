// Numbers of a stream as series: one for each place of a metric, along one axis or over two.

const INNER = ["time", "step"];

// entries: [metric, place, value, ...]; keeps those of one metric, by what is left of their place.
export class Series {
  constructor(axis, second, outline) {
    this.inner = INNER.includes(axis) ? axis : null;
    this.second = outline.axis === second ? axis : second;
    this.outline = outline;
    this.points = new Map();
  }

  take({ index, entries }) {
    const last = lastStep(entries);
    for (const [metric, place, ...numbers] of entries) {
      const found = Object.fromEntries(place);
      const x = this.inner ? found[this.inner] : this.outline.x[index];
      if (x === undefined || numbers[0] === null || numbers[0] === "inf") continue;
      if (!this.inner && "step" in found && found.step !== last) continue;
      const y = this.inner ? this.outline.values[index] : found[this.second];
      const hidden = [this.inner, this.second, "step"];
      const name = place.filter(([axis]) => !hidden.includes(axis)).map(([axis, at]) => (axis === "direction" ? at : `${axis} ${at}`)).join(", ");
      if (!this.points.has(metric)) this.points.set(metric, new Map());
      const places = this.points.get(metric);
      if (!places.has(name)) places.set(name, new Map());
      places.get(name).set(`${x} ${y}`, [x, String(y), numbers]);
    }
  }

  metrics() {
    return [...this.points.keys()];
  }

  // [[name, [[x, numbers], ...]], ...] in the order of x.
  of(metric) {
    return this.cells(metric).map(([name, cells]) => [name, cells.map(([x, , numbers]) => [x, numbers]).sort((a, b) => a[0] - b[0])]);
  }

  // The same with the second axis: [[name, [[x, y, numbers], ...]], ...].
  cells(metric) {
    return [...(this.points.get(metric) ?? [])].map(([name, cells]) => [name, [...cells.values()]]);
  }
}

const lastStep = (entries) => Math.max(-1, ...entries.flatMap(([, place]) => place.filter(([axis]) => axis === "step").map(([, at]) => at)));
