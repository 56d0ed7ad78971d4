// The filter: what of the run is shown, in every section. It lives in the address, so that a link shows the same view.
"use strict";
const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
const index = JSON.parse(document.getElementById("index").textContent);
// The data leaves out what is usual.
index.cells = index.cells.map((cell) => ({ status: "ok", timed: false, steady: true, calm: true, ...cell }));
const CHOICES = ["suite", "derivative", "device"];

const filter = {
  engines: null, // a set of places; null: all
  words: [],
  chosen: {}, // of each choice the place that was chosen
  shown: index.cells.map(() => true),
  tasks: new Set(index.tasks.keys()),
  followers: [],
  engineShown: (place) => !filter.engines || filter.engines.has(place),
  cellShown: (place) => filter.shown[place] ?? true,
  active: () => Boolean(filter.engines || filter.words.length || CHOICES.some((name) => filter.chosen[name] !== undefined)),
};
const textOf = (cell) => [index.tasks[cell.task], index.engines[cell.engine], index.suites[cell.suite], index.derivatives[cell.derivative], cell.status].join(" ").toLowerCase();

function isShown(cell) {
  if (!filter.engineShown(cell.engine)) return false;
  if (CHOICES.some((name) => filter.chosen[name] !== undefined && cell[name] !== filter.chosen[name])) return false;
  if (!filter.words.length) return true;
  cell.text ??= textOf(cell);
  return filter.words.every((word) => cell.text.includes(word));
}

// What belongs to a cell, to several, to a task or to an engine goes with them.
function applyTo(element) {
  const { c, t, e } = element.dataset;
  const hidden =
    (c !== undefined && c !== "" && !c.split(" ").some((place) => filter.shown[place])) ||
    (t !== undefined && !filter.tasks.has(Number(t))) ||
    (e !== undefined && !filter.engineShown(Number(e)));
  if (element.hidden !== hidden) element.hidden = hidden;
}

const controls = { find: document.getElementById("find"), ...Object.fromEntries(CHOICES.map((name) => [name, document.getElementById(`by-${name}`)])) };
const boxes = all("#by-engine input");

function readControls() {
  const ticked = boxes.filter((box) => box.checked).map((box) => Number(box.value));
  filter.engines = ticked.length === boxes.length || !ticked.length ? null : new Set(ticked);
  filter.words = controls.find.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const name of CHOICES) filter.chosen[name] = controls[name]?.value ? Number(controls[name].value) : undefined;
}

function apply() {
  readControls();
  filter.shown = index.cells.map(isShown);
  filter.tasks = new Set(index.cells.flatMap((cell, place) => (filter.shown[place] ? [cell.task] : [])));
  all("[data-c], [data-t], [data-e]").forEach(applyTo);
  const count = filter.shown.filter(Boolean).length;
  document.getElementById("count").textContent = `${count} of ${index.cells.length} ${index.cells.length === 1 ? "cell" : "cells"}`;
  document.getElementById("engines-shown").textContent = filter.engines ? `Engines: ${filter.engines.size} of ${boxes.length}` : "Engines: all";
  document.getElementById("reset").hidden = !filter.active();
  filter.followers.forEach((follow) => follow());
}

// --- the address: #section?engine=a&engine=b&find=poly&suite=scalar

const more = {}; // what else a link remembers, such as the baseline of the ratios
function address(section = location.hash.slice(1).split("?")[0]) {
  const said = new URLSearchParams();
  if (filter.engines) filter.engines.forEach((place) => said.append("engine", index.engines[place]));
  if (controls.find.value.trim()) said.set("find", controls.find.value.trim());
  for (const name of CHOICES) if (filter.chosen[name] !== undefined) said.set(name, index[`${name}s`][filter.chosen[name]]);
  for (const [name, value] of Object.entries(more)) if (value) said.set(name, value);
  return `#${section}${said.size ? `?${said}` : ""}`;
}
const remember = (section) => history.replaceState(null, "", address(section));

function readAddress() {
  const [section, said] = location.hash.slice(1).split("?");
  const given = new URLSearchParams(said ?? "");
  const engines = given.getAll("engine");
  boxes.forEach((box) => (box.checked = !engines.length || engines.includes(index.engines[box.value])));
  controls.find.value = given.get("find") ?? "";
  for (const name of CHOICES) if (controls[name]) {
    const place = index[`${name}s`].indexOf(given.get(name));
    controls[name].value = place < 0 ? "" : place;
  }
  for (const name of Object.keys(more)) delete more[name];
  for (const name of ["baseline"]) if (given.has(name)) more[name] = given.get(name);
  return section;
}

// What lies between is laid out only when it comes near, and moves the goal: look again, unless the reader has gone on.
let goal = null;
const MOST_TRIES = 10;
async function goTo(section) {
  const target = document.getElementById(section);
  if (!target) return;
  goal = target;
  if (!target.hasAttribute("tabindex")) target.setAttribute("tabindex", "-1");
  target.focus({ preventScroll: true });
  for (let tries = 0; goal === target && tries < MOST_TRIES; tries++) {
    const before = target.getBoundingClientRect().top;
    target.scrollIntoView();
    if (tries && Math.abs(target.getBoundingClientRect().top - before) < 1) break;
    await later(150);
  }
}
for (const kind of ["wheel", "touchstart", "keydown", "pointerdown"]) addEventListener(kind, () => (goal = null), { passive: true });

const changed = () => { apply(); remember(); };
for (const control of [...Object.values(controls), ...boxes]) control?.addEventListener("input", changed);
document.getElementById("reset").addEventListener("click", () => {
  boxes.forEach((box) => (box.checked = true));
  for (const control of Object.values(controls)) if (control) control.value = "";
  changed();
});
// One engine alone, or all of them again.
document.getElementById("by-engine").addEventListener("click", (event) => {
  const only = event.target.closest("[data-only]");
  if (!only) return;
  boxes.forEach((box) => (box.checked = box.value === only.dataset.only));
  changed();
});
document.addEventListener("click", (event) => {
  const link = event.target.closest('a[href^="#"]');
  if (!link) return;
  event.preventDefault();
  const section = link.getAttribute("href").slice(1);
  history.pushState(null, "", address(section));
  goTo(section);
});
// Another filter in the address: by hand, or one step back. A link within the page changes none.
addEventListener("popstate", () => {
  const before = address("");
  readAddress();
  readControls();
  if (address("") !== before) apply();
});
