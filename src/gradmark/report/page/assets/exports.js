// Exports: each table as markdown or CSV, each plot as SVG, PNG or CSV; always what is shown, and made in the page.
"use strict";
const STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-opacity", "stroke-dasharray", "opacity", "font-family", "font-size"];
const SHARPER = 2; // pixels of a PNG for each of the screen

function save(name, content, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content instanceof Blob ? content : new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// --- plots

// The drawing with the styles of the page written into it, as it looks now.
function standalone(svg) {
  const copied = svg.cloneNode(true);
  const [from, to] = [svg, copied].map((one) => [one, ...one.querySelectorAll("*")]);
  from.forEach((one, at) => {
    const style = getComputedStyle(one);
    for (const name of STYLES) to[at].setAttribute(name, style.getPropertyValue(name));
    to[at].removeAttribute("class");
  });
  copied.setAttribute("xmlns", NS);
  const { width, height } = svg.viewBox.baseVal;
  for (const [name, value] of Object.entries({ width, height })) copied.setAttribute(name, value);
  const back = el("rect", { width, height, fill: getComputedStyle(document.querySelector("section")).backgroundColor });
  copied.prepend(back);
  return { text: new XMLSerializer().serializeToString(copied), width, height };
}

async function png(svg) {
  const { text, width, height } = standalone(svg);
  const image = new Image();
  image.src = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
  await image.decode();
  const sheet = Object.assign(document.createElement("canvas"), { width: SHARPER * width, height: SHARPER * height });
  sheet.getContext("2d").drawImage(image, 0, 0, sheet.width, sheet.height);
  URL.revokeObjectURL(image.src);
  return new Promise((done) => sheet.toBlob(done, "image/png"));
}

const csvLines = (lines) => `${lines.map((line) => line.map((one) => csvField(String(one ?? ""))).join(",")).join("\n")}\n`;

// What a plot shows, as lines of a table.
function linesOf(figure) {
  if (figure.lines) return figure.lines();
  const view = filled(figure.view);
  if (view.boxes?.length) return [["level", "name", "start_ns", "width_ns"], ...view.boxes.map((one) => [one.level, one.name, one.start, one.width])];
  if (view.blocks) return [["process", "block", "measured_ns", "state"], ...view.unrolled.map((one) => [one.number, one.at + 1, one.measured, one.state])];
  const series = visibleSeries({ ...view, engines: figure.chart.by_engine ?? true });
  const points = series.flatMap((one) => one.x.map((value, at) => [one.name, view.x.names[value] ?? value, one.y[at], one.low[at], one.high[at]]));
  return [["series", view.x.title, view.y.title, "low", "high"], ...points];
}

function tool(text, label, act) {
  const made = element("button", text);
  made.type = "button";
  made.setAttribute("aria-label", label);
  made.addEventListener("click", async () => {
    const said = await Promise.resolve().then(act).then((done) => done ?? text, (error) => error.message);
    made.textContent = said;
    setTimeout(() => (made.textContent = text), 2000);
  });
  return made;
}

function offerFigure(figure) {
  if (figure.querySelector(".save") || !figure.querySelector(".plot")) return;
  const name = `gradmark-${figure.id.replace("-chart", "")}`;
  const tools = element("span", "", "save");
  const svg = () => figure.querySelector(".plot svg");
  tools.append(
    tool("SVG", `Save ${name} as SVG`, () => save(`${name}.svg`, standalone(svg()).text, "image/svg+xml")),
    tool("PNG", `Save ${name} as PNG`, async () => save(`${name}.png`, await png(svg()))),
    tool("CSV", `Save ${name} as CSV`, () => save(`${name}.csv`, csvLines(linesOf(figure)), "text/csv")),
  );
  figure.querySelector(".controls").append(tools);
}

// --- tables

const shownRows = (table) => [...table.rows].filter((row) => !row.hidden && !row.classList.contains("detail"));
const wordsOf = (cell) => cell.innerText.replace(/\s+/g, " ").trim();

// As GitHub renders it: what has a meaning there is escaped, as in escaping/markdown.py.
const markdownText = (text) => text.replace(/[\\`*_{}[\]<>#|~&]/g, "\\$&");
function markdownOf(table) {
  const [head, ...body] = shownRows(table).map((row) => shownOf(row));
  const line = (cells) => `| ${cells.map((cell) => markdownText(wordsOf(cell))).join(" | ")} |`;
  const marks = head.map((cell) => (cell.classList.contains("number") ? "---:" : "---"));
  return `${[line(head), `| ${marks.join(" | ")} |`, ...body.map(line)].join("\n")}\n`;
}

const plainCsv = (table) => csvLines(shownRows(table).map((row) => shownOf(row).map((cell) => cell.dataset.v ?? wordsOf(cell))));

function offerTable(table) {
  const tools = element("p", "", "save");
  const csv = () => (table.id === "grid" ? csvOf(table) : plainCsv(table));
  const title = table.caption?.textContent ?? "table";
  tools.append(
    tool("Copy as markdown", `Copy as markdown: ${title}`, () => copy(markdownOf(table)).then(() => "Copied")),
    tool("Copy as CSV", `Copy as CSV: ${title}`, () => copy(csv()).then(() => "Copied")),
    tool("Save CSV", `Save as CSV: ${title}`, () => save(`gradmark-${(table.id || title).toLowerCase().replace(/[^a-z0-9]+/g, "-")}.csv`, csv(), "text/csv")),
  );
  table.closest(".scroll").after(tools);
}

later(SOON).then(idle).then(() => all(".scroll > table:not(.bars)").forEach(offerTable));
