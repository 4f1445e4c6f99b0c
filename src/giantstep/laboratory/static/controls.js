// Controls of a learner, from the declarations of its settings.

import { make } from "./page.js";

const SIZE = /^\s*([0-9.]+(?:e[+-]?\d+)?)?\s*\*?\s*(d.*)?$/i;

// The number in a text such as 4d, and what follows it.
function parts(text) {
  const match = SIZE.exec(text ?? "");
  if (!match || (!match[1] && !match[2])) return null;
  return { number: match[1] ? Number(match[1]) : 1, unit: match[2] ?? "" };
}

function joined(number, unit, whole) {
  const text = whole ? String(Math.round(number)) : String(Number(number.toPrecision(3)));
  return unit.includes("^") ? `${text}*${unit}` : text + unit;
}

// One control; changed(name, value, settled) hears what is typed, moved or chosen.
export function control(rule, value, changed) {
  const id = `set-${Math.random().toString(36).slice(2, 8)}-${rule.name}`;
  const box = make("div", { class: "control" });
  box.dataset.name = rule.name;
  const title = rule.only ? `${rule.label} (${rule.only} only)` : rule.label;
  const label = make("label", { htmlFor: id, title: rule.help }, title);
  const row = make("div", { class: "row alone" });
  box.append(label, row);
  if (rule.kind === "bool") {
    const input = make("input", { type: "checkbox", id, checked: value === true, title: rule.help });
    input.addEventListener("change", () => changed(rule.name, input.checked, true));
    label.className = "check";
    label.prepend(input);
    row.remove();
    return box;
  }
  if (rule.choices.length) {
    const menu = make("select", { id, title: rule.help });
    for (const choice of rule.choices) menu.append(make("option", { value: choice, selected: choice === value }, choice));
    menu.addEventListener("change", () => changed(rule.name, menu.value, true));
    row.append(menu);
    return box;
  }
  const input = make("input", { type: "text", id, value: value ?? "", title: rule.help, placeholder: rule.default ?? "none", spellcheck: false });
  row.append(input);
  if (rule.slider) {
    row.className = "row";
    const { low, high, log, whole } = rule.slider;
    const [from, to] = log ? [Math.log(low), Math.log(high)] : [low, high];
    const slider = make("input", { type: "range", min: from, max: to, step: whole && !log ? 1 : (to - from) / 200 });
    slider.setAttribute("aria-label", `${rule.label}, slider`);
    const place = () => {
      const found = parts(input.value);
      if (found) slider.value = log ? Math.log(found.number) : Number(input.value);
    };
    const number = () => (log ? Math.exp(Number(slider.value)) : Number(slider.value));
    const move = (settled) => {
      input.value = joined(number(), parts(input.value)?.unit ?? "", whole);
      slider.setAttribute("aria-valuetext", input.value);
      changed(rule.name, input.value, settled);
    };
    place();
    slider.addEventListener("input", () => move(false));
    slider.addEventListener("change", () => move(true));
    input.addEventListener("change", place);
    row.prepend(slider);
  }
  input.addEventListener("change", () => changed(rule.name, input.value.trim(), true));
  return box;
}

// The settings that are sent: those that were given or that the example gives.
export function chosen(rules, values) {
  const found = {};
  for (const rule of rules) {
    const value = rule.name in values ? values[rule.name] : rule.value;
    if (value === null || value === "" || value === rule.default) continue;
    found[rule.name] = value;
  }
  return found;
}
