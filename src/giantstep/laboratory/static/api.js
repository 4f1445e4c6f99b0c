// Questions to the lab: one JSON answer, or a stream of events.

export class Refusal extends Error {
  constructor(error) {
    super(error.message);
    this.kind = error.kind;
    this.position = error.position;
  }
}

async function sent(path, question, signal) {
  const response = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(question),
    signal,
  });
  if (response.ok) return response;
  const text = await response.text();
  let error = { kind: "failed", message: text || `the lab answered ${response.status}` };
  try {
    error = JSON.parse(text).error;
  } catch {
    // Not every refusal is JSON: its text is shown.
  }
  throw new Refusal(error);
}

export async function ask(path, question, signal) {
  return (await sent(path, question, signal)).json();
}

export async function learners() {
  const response = await fetch("learners");
  if (!response.ok) throw new Refusal({ kind: "failed", message: await response.text() });
  return response.json();
}

// Calls hear(name, data) for each event; a stream that ends badly throws.
export async function listen(path, question, signal, hear) {
  const response = await sent(path, question, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += value;
    const parts = text.split("\n\n");
    text = parts.pop();
    for (const part of parts) {
      const lines = part.split("\n");
      const name = lines.find((line) => line.startsWith("event: "))?.slice(7);
      const data = lines.find((line) => line.startsWith("data: "))?.slice(6);
      if (!name) continue;
      if (name === "error") throw new Refusal(JSON.parse(data));
      hear(name, JSON.parse(data));
    }
  }
}

// One question at a time: a new one ends the one before.
export class Line {
  begin() {
    this.controller?.abort();
    this.controller = new AbortController();
    return this.controller.signal;
  }
  stop() {
    this.controller?.abort();
  }
}

export const isAbort = (error) => error.name === "AbortError";
