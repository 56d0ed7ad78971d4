// Tables: sorting by the number behind a text, filtering, choosing columns, copying. Text is only ever set as text.
"use strict";
const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
const numberOf = (cell) => (cell && cell.dataset.v !== undefined ? Number(cell.dataset.v) : NaN);

function sortBy(table, column) {
  const heading = all("thead th", table)[column];
  const descending = heading.getAttribute("aria-sort") === "ascending";
  all("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
  heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const words = new Intl.Collator(undefined, { numeric: true });
  const rows = all("tbody tr", table).map((row) => ({ row, cell: row.cells[column] }));
  const sign = descending ? -1 : 1;
  const numbers = rows.some(({ cell }) => !Number.isNaN(numberOf(cell)));
  rows.sort((one, other) => {
    if (!numbers) return sign * words.compare(one.cell?.textContent ?? "", other.cell?.textContent ?? "");
    const [a, b] = [numberOf(one.cell), numberOf(other.cell)];
    // What has no number is last in both directions.
    return Number.isNaN(a) || Number.isNaN(b) ? Number.isNaN(a) - Number.isNaN(b) : sign * (a - b);
  });
  table.tBodies[0].append(...rows.map(({ row }) => row));
}

function csvField(text) {
  // A spreadsheet takes text that begins so for a formula.
  const safe = /^[=+\-@\t\r]/.test(text) && Number.isNaN(Number(text)) ? `'${text}` : text;
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function csvOf(table) {
  const shown = (row) => [...row.cells].filter((cell) => !cell.hidden);
  const head = shown(table.tHead.rows[0]).map((cell) => cell.dataset.csv);
  const rows = all("tbody tr", table).filter((row) => !row.hidden);
  const lines = rows.map((row) => shown(row).map((cell) => cell.dataset.v ?? cell.textContent));
  return [head, ...lines].map((line) => line.map(csvField).join(",")).join("\n") + "\n";
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
  const [find, suite, engine, count] = ["find", "suite", "engine", "count"].map((id) => document.getElementById(id));
  const rows = all("tbody tr", table);
  const filter = () => {
    const words = find.value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const row of rows) {
      const text = [...row.cells].map((cell) => (cell.hidden ? "" : cell.textContent)).join(" ").toLowerCase();
      row.hidden =
        (suite.value && row.dataset.suite !== suite.value) ||
        (engine.value && row.dataset.engine !== engine.value) ||
        !words.every((word) => text.includes(word));
      shown += !row.hidden;
    }
    count.textContent = `${shown} of ${rows.length} rows.`;
  };
  [find, suite, engine].forEach((control) => control.addEventListener("input", filter));
  for (const box of all("[data-column]")) {
    const show = () => {
      for (const row of table.rows) row.cells[box.dataset.column].hidden = !box.checked;
    };
    box.addEventListener("change", () => { show(); filter(); });
    if (!box.checked) show();
  }
  document.getElementById("intervals").addEventListener("change", (event) => {
    table.classList.toggle("intervals", event.target.checked);
  });
  document.getElementById("copy").addEventListener("click", async (event) => {
    const said = await copy(csvOf(table)).then(() => "Copied", (error) => error.message);
    event.target.textContent = said;
    setTimeout(() => (event.target.textContent = "Copy as CSV"), 2000);
  });
  filter();
}

document.addEventListener("click", (event) => {
  const heading = event.target.closest("table.sortable thead th");
  if (heading && event.target.closest("button")) sortBy(heading.closest("table"), heading.cellIndex);
});
if (document.getElementById("grid")) setUpGrid(document.getElementById("grid"));
