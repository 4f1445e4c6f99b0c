// What a visitor takes home: links, commands, tables, pictures, a report.

import { isAbort, listen, Line } from "./api.js";
import { at, download, make, say } from "./page.js";
import { picture } from "./plots.js";
import { permalink, problem } from "./state.js";

const line = new Line();

export function setUp(tables) {
  for (const bar of document.querySelectorAll(".take")) {
    const id = bar.dataset.plot;
    const button = (name, action) => {
      const made = make("button", { type: "button" }, name);
      made.addEventListener("click", action);
      bar.append(made);
    };
    button("CSV", () => download(`giantstep-${id}.csv`, tables[id](), "text/csv"));
    button("PNG", () => picture(id, "png"));
    button("SVG", () => picture(id, "svg"));
  }
  at("copy-link").addEventListener("click", () => copy(permalink(), "link"));
  at("copy-command").addEventListener("click", () => copy(at("command").textContent, "command"));
  at("copy-python").addEventListener("click", () => copy(at("python").textContent, "Python"));
  at("report").addEventListener("click", () => report(false));
  at("quick-report").addEventListener("click", () => report(true));
}

export function told(plan) {
  // An option stays with its value and is never broken at its hyphens.
  const words = plan.command.split(/ (?=--)/).flatMap((each, number) => [number ? " " : "", make("span", { class: "word" }, each)]);
  at("command").replaceChildren(...words);
  at("python").textContent = plan.python;
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
    say(at("take-said"), `The ${what} is in the clipboard.`);
  } catch {
    // A browser may refuse the clipboard: then it can be copied by hand.
    say(at("take-said"), text);
  }
}

async function report(quick) {
  say(at("take-said"), "The report begins …");
  try {
    await listen("report", { problem: problem(), quick }, line.begin(), (name, data) => {
      if (name === "progress") say(at("take-said"), `The report is ${Math.round(100 * data.share)} % done.`);
      if (name === "page") {
        download("giantstep-report.html", data.html, "text/html");
        say(at("take-said"), "The report is among your downloads: one page that needs no network.");
      }
    });
  } catch (error) {
    if (!isAbort(error)) say(at("take-said"), error.message, true);
  }
}
