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
  const rows = all("tbody tr", table).filter((row) => !row.hidden);
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

function setUpGrid(table) {
  for (const box of all("[data-column]")) {
    const show = () => {
      for (const row of table.rows) if (row.cells[box.dataset.column]) row.cells[box.dataset.column].hidden = !box.checked;
    };
    box.addEventListener("change", show);
    if (box.checked !== box.defaultChecked) show(); // as the browser remembers it
  }
  document.getElementById("intervals").addEventListener("change", (event) => {
    table.classList.toggle("intervals", event.target.checked);
  });
  filter.followers.push(() => table.classList.remove("brief"));
  inBrief(table);
}

document.addEventListener("click", (event) => {
  const heading = event.target.closest("table.sortable thead th");
  if (heading && event.target.closest("button")) sortBy(heading.closest("table"), heading.cellIndex);
});
if (document.getElementById("grid")) setUpGrid(document.getElementById("grid"));
document.documentElement.dataset.read = "table";
