// Tables: sorting by the number behind a text, filtering, choosing columns, copying. Text is only ever set as text.
"use strict";
const numberOf = (cell) => (cell?.hasAttribute("data-v") ? Number(cell.getAttribute("data-v")) : NaN);

const SOON = 500; // ms in which a reader who is quick comes first
const later = (wait) => new Promise((go) => setTimeout(go, wait));
const idle = () => new Promise((go) => (window.requestIdleCallback ? requestIdleCallback(go, { timeout: 500 }) : setTimeout(go)));
// The first rows at once, the others when nothing else is to do.
const inBrief = async (table) => {
  table.classList.add("brief");
  await later(SOON);
  await idle();
  table.classList.remove("brief");
};
const shownOf = (row) => [...row.cells].filter((cell) => !cell.hidden);

function sortBy(table, column) {
  const heading = all("thead th", table)[column];
  const descending = heading.getAttribute("aria-sort") === "ascending";
  all("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
  heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const words = new Intl.Collator(undefined, { numeric: true });
  const body = table.tBodies[0];
  closeRows(table);
  table.classList.add("sorted"); // rows of one workload no longer stand together
  if (table.parentElement.scrollTop === 0) inBrief(table);
  body.remove(); // while it is not in the page, moving a row costs nothing
  const rows = [...body.rows].map((row) => {
    const cell = row.cells[column];
    return { row, number: numberOf(cell), text: cell?.textContent ?? "" };
  });
  const sign = descending ? -1 : 1;
  const numbers = rows.some(({ number }) => !Number.isNaN(number));
  rows.sort(({ number: a, text }, { number: b, text: other }) => {
    if (!numbers) return sign * words.compare(text, other);
    // What has no number is last in both directions.
    return Number.isNaN(a) || Number.isNaN(b) ? Number.isNaN(a) - Number.isNaN(b) : sign * (a - b);
  });
  body.append(...rows.map(({ row }) => row));
  table.append(body);
}

function csvField(text) {
  // A spreadsheet takes text that begins so for a formula.
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

// As CSV files have it: numbers in full under the name of their metric, nothing for what is missing, and the status.
function csvOf(table) {
  const heads = shownOf(table.tHead.rows[0]).map((cell) => ({ names: cell.dataset.csv.split(" "), number: cell.classList.contains("number") }));
  const fields = (cell, { names, number }) =>
    number ? names.map((_, place) => (Number(cell.dataset.which ?? 0) === place && cell.dataset.v) || "") : [cell.textContent];
  const rows = all("tbody tr:not(.detail)", table).filter((row) => !row.hidden);
  const lines = rows.map((row) => [...shownOf(row).flatMap((cell, place) => fields(cell, heads[place])), row.dataset.status]);
  return [[...heads.flatMap(({ names }) => names), "status"], ...lines].map((line) => line.map(csvField).join(",")).join("\n") + "\n";
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Where a page from disk may not use the clipboard, the old way often still works.
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    if (!done) throw new Error("the browser does not let this page copy");
  }
}

// --- rows that open: all numbers of a cell, with intervals and reasons, and its samples

const closeRows = (table) => {
  all("tr.detail", table).forEach((row) => row.remove());
  all('th button[aria-expanded="true"]', table.tBodies[0]).forEach((button) => button.setAttribute("aria-expanded", "false"));
};
const element = (name, text = "", className = "") => Object.assign(document.createElement(name), { textContent: text, className });

function toggle(table, button) {
  const open = button.getAttribute("aria-expanded") === "true";
  button.setAttribute("aria-expanded", String(!open));
  const row = button.closest("tr");
  if (open) return row.nextElementSibling.remove();
  const detail = element("tr", "", "detail");
  const cell = element("td");
  cell.colSpan = shownOf(table.tHead.rows[0]).length;
  cell.append(numbersList(table, row), samplesOf(Number(row.dataset.c)));
  detail.append(cell);
  row.after(detail);
  cell.querySelectorAll(".plot").forEach((place) => place.draw?.());
}

function numbersList(table, row) {
  const list = element("dl", "", "numbers");
  [...row.cells].forEach((cell, at) => {
    if (!at || !cell.textContent) return;
    const pair = element("div");
    pair.append(element("dt", table.tHead.rows[0].cells[at].textContent), element("dd", cell.textContent));
    if (cell.dataset.more) pair.append(element("dd", cell.dataset.more, "caption"));
    list.append(pair);
  });
  return list;
}

function samplesOf(cell) {
  const place = element("div", "", "plot strip");
  const view = (charts["samples-chart"]?.views ?? []).find((one) => one.cells?.includes(cell));
  if (!view) return place;
  place.draw = () => stripPlot(place, [view]);
  const link = element("a", "Every block of this row");
  link.href = "#samples-chart";
  link.addEventListener("click", () => showSamples(view));
  const whole = element("div");
  whole.append(place, link);
  return whole;
}

function setUpGrid(table) {
  for (const box of all("[data-column]")) {
    const show = () => {
      closeRows(table);
      for (const row of table.rows) row.cells[box.dataset.column].hidden = !box.checked;
    };
    box.addEventListener("change", show);
    if (box.checked !== box.defaultChecked) show(); // as the browser remembers it
  }
  document.getElementById("intervals").addEventListener("change", (event) => {
    table.classList.toggle("intervals", event.target.checked);
  });
  filter.followers.push(() => { table.classList.remove("brief"); closeRows(table); });
  table.tBodies[0].addEventListener("click", (event) => {
    const button = event.target.closest("th button");
    if (button) toggle(table, button);
  });
  inBrief(table);
}

document.addEventListener("click", (event) => {
  const heading = event.target.closest("table.sortable thead th");
  if (heading && event.target.closest("button")) sortBy(heading.closest("table"), heading.cellIndex);
});
if (document.getElementById("grid")) setUpGrid(document.getElementById("grid"));
document.documentElement.dataset.read = "table";
