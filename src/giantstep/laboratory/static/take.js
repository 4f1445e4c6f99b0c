// What a visitor takes home: links, commands, tables, pictures, a report.

import { isAbort, listen, Line } from "./api.js";
import { at, download, make, say } from "./page.js";
import { picture } from "./plots.js";
import { permalink, problem, state } from "./state.js";

const line = new Line();

// open(state) shows the state of another lab.
export function setUp(tables, seconds, open) {
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
  at("save-state").addEventListener("click", () => download("giantstep-lab.json", JSON.stringify({ giantstep: "lab", state }, null, 1), "application/json"));
  at("open-state").addEventListener("click", () => at("state-file").click());
  at("state-file").addEventListener("change", () => opened(at("state-file").files[0], open));
  at("report").addEventListener("click", () => report(false, seconds.report));
  at("quick-report").addEventListener("click", () => report(true, seconds.report));
}

export function told(outline) {
  // An option stays with its value and is never broken at its hyphens.
  const words = outline.command.split(/ (?=--)/).flatMap((each, number) => [number ? " " : "", make("span", { class: "word" }, each)]);
  at("command").replaceChildren(...words);
  at("python").textContent = outline.python;
}

async function opened(file, open) {
  try {
    const found = JSON.parse(await file.text());
    if (found.giantstep !== "lab") throw new Error("another kind of file");
    open(found.state);
    say(at("take-said"), `The page is as ${file.name} has it.`);
  } catch {
    say(at("take-said"), `${file.name} is not a state of the lab: take a file that Save state made.`, true);
  }
  at("state-file").value = "";
}

async function copy(text, what) {
  const reach = what === "link" ? " It opens in this browser, while this lab runs; to others send the file of Save state, which any lab opens." : "";
  try {
    await navigator.clipboard.writeText(text);
    say(at("take-said"), `The ${what} is in the clipboard.${reach}`);
  } catch {
    // A browser may refuse the clipboard: then it can be copied by hand.
    say(at("take-said"), text);
  }
}

async function report(quick, seconds) {
  say(at("take-said"), `The report begins; it may take ${seconds / 60} minutes.`);
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
