// Ratios: every engine on every row as a multiple of a baseline, with its interval and whether it is tied with the fastest.
"use strict";
const MOST_ROWS = 40; // drawn at first
const FASTEST = "fastest";

// The number that a row is measured by: the fastest engine's, or that of a competitor, which may not have the row.
function baseOf(row, baseline) {
  if (baseline === FASTEST) return Math.min(...row.map((cell) => cell.place.total / cell.place.ratio));
  return row.find((cell) => index.competitors[cell.competitor] === baseline)?.place.total;
}

function ratiosOf(baseline) {
  const rows = new Map();
  index.cells.forEach((cell, at) => {
    if (!cell.place || !filter.tasks.has(cell.task)) return;
    if (!rows.has(cell.task)) rows.set(cell.task, []);
    rows.get(cell.task).push({ ...cell, at });
  });
  return [...rows].filter(([, row]) => row.length > 1).map(([task, row]) => {
    const base = baseOf(row, baseline);
    const ratio = (ns) => (ns === undefined || !base ? undefined : ns / base);
    const points = row.filter(({ at }) => filter.cellShown(at)).map((cell) => ({
      cell, name: index.competitors[cell.competitor], low: ratio(cell.place.low), high: ratio(cell.place.high),
      // What Python divided stays as it is.
      ratio: baseline === FASTEST ? cell.place.ratio : ratio(cell.place.total),
    }));
    return { task: index.tasks[task], base, points: points.filter((one) => one.ratio > 0 && Number.isFinite(one.ratio)) };
  }).filter((one) => one.points.length);
}

const MARKED = { "◀": "the fastest", "=": "tied with the fastest", "?": "not settled: too few processes to tell it from the fastest" };
function ratioText({ task }, { name, cell, ratio, low, high }, baseline) {
  const of = baseline === FASTEST ? "the fastest" : baseline;
  return [
    `${name} on ${task}: ${timesText(ratio)} × ${of}`, timeText(cell.place.total),
    ...(low !== undefined && high !== undefined ? [`interval ${timesText(low)} to ${timesText(high)}`] : []),
    ...(cell.place.mark ? [MARKED[cell.place.mark]] : []), ...(cell.steady ? [] : ["unsteady"]),
  ].join("\n");
}

function drawRatios(figure) {
  const place = figure.querySelector(".plot");
  const select = figure.querySelector("select");
  if (more.baseline && all("option", select).some((one) => one.value === more.baseline)) select.value = more.baseline;
  const baseline = select.value;
  const rows = ratiosOf(baseline);
  const shown = figure.dataset.all ? rows : rows.slice(0, MOST_ROWS);
  const button = figure.querySelector(".all-rows");
  button.hidden = shown.length === rows.length;
  button.textContent = `Show all ${rows.length} rows`;
  figure.querySelector(".summary").textContent = `${plural(rows.length, "row")}; each dot is an engine's time as a multiple of ${baseline === FASTEST ? "the fastest engine's" : `${baseline}'s`}, each line its interval.`;
  const { svg, width } = canvas(place, 60);
  if (!shown.length) return nothing(svg, width);
  const narrow = width < 560;
  const each = narrow ? 38 : 24;
  const values = shown.flatMap(({ points }) => points.flatMap((one) => [one.ratio, ...(one.low > 0 ? [one.low, one.high] : [])]));
  const [low, high] = endsOf([...values, 1], true);
  const left = narrow ? 8 : Math.min(250, Math.max(...shown.map(({ task }) => widthOf(shortened(task, 34)))) + 16);
  const right = width - 16;
  const above = shown.length > 15;
  const top = above ? 24 : 8;
  const bottom = top + each * shown.length;
  const x = axisOf({ log: true, low, high, unit: "ratio", title: `× ${baseline}` }, left, right, narrow ? 4 : 9);
  frame(svg, { left, top, right, bottom }, x, { ticks: [], title: "" });
  // The axis once more above, where the one below is out of sight.
  if (above) for (const { value, text } of x.ticks) el("text", { class: "tick", x: x.at(value), y: top - 7, "text-anchor": "middle" }, svg, text);
  el("line", { class: "base", x1: x.at(1), x2: x.at(1), y1: top, y2: bottom }, svg);
  const engines = new Map();
  shown.forEach((row, at) => {
    const y = top + each * (at + (narrow ? 0.72 : 0.5));
    if (at) el("line", { class: "grid", x1: left, x2: right, y1: top + each * at, y2: top + each * at }, svg);
    const label = shortened(row.task, narrow ? 44 : 34);
    el("text", narrow ? { class: "note", x: left + 3, y: y - 12 } : { class: "note", x: left - 8, y: y + 4, "text-anchor": "end" }, svg, label);
    for (const one of row.points) {
      const { engine, place: stands } = one.cell;
      engines.set(one.name, engine);
      if (one.low > 0 && one.high > 0) el("line", { class: `whisker ${colourOf(engine)}`, x1: x.at(one.low), x2: x.at(one.high), y1: y, y2: y }, svg);
    }
    for (const one of row.points) {
      const { engine, place: stands } = one.cell;
      mark(svg, x.at(one.ratio), y, { shape: engine, size: 5, open: stands.mark === "?", text: ratioText(row, one, baseline) });
      if (stands.mark === "=" || stands.mark === "◀") el("circle", { class: "ring", cx: x.at(one.ratio), cy: y, r: 9 }, svg);
    }
  });
  const entries = [...engines].sort(([, a], [, b]) => a - b).map(([name, engine]) => ({ text: name, draw: inLegend(engine) }));
  const ring = (group, a, b) => el("circle", { class: "ring", cx: a, cy: b, r: 7 }, group);
  entries.push({ text: "fastest, or tied with it", draw: ring }, { text: "open: not settled", draw: inLegend(-1, { open: true, shape: 0 }) });
  resize(svg, width, bottom + 46 + legend(svg, entries, 12, bottom + 44, right));
}

function setUpRatios(figure) {
  figure.paint = () => drawRatios(figure);
  figure.lines = () => [["row", "engine", "ratio", "ratio_low", "ratio_high", "total_ns", "mark"],
    ...ratiosOf(figure.querySelector("select").value).flatMap(({ task, points }) =>
      points.map((one) => [task, one.name, one.ratio, one.low, one.high, one.cell.place.total, one.cell.place.mark]))];
  figure.querySelector("select").addEventListener("input", (event) => { more.baseline = event.target.value === FASTEST ? "" : event.target.value; remember(); figure.paint(); });
  figure.querySelector(".all-rows").addEventListener("click", () => { figure.dataset.all = "yes"; figure.paint(); });
  figure.paint();
}
