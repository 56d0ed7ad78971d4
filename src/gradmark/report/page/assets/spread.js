// Spread: the blocks of one workload on every engine, as strips with the outline of their density.
"use strict";
const POINTS = 60; // of an outline
const MOST_DOTS = 400; // of a strip; more hide each other

// The blocks that count: those of calm moments, or all where nobody watched.
function countedBlocks(view) {
  const chart = charts["samples-chart"];
  view.unrolled ??= unrolled(view.blocks, chart, chart.views.indexOf(view));
  const calm = view.unrolled.filter((one) => one.state !== "slow");
  return (calm.length ? calm : view.unrolled).filter((one) => one.measured > 0);
}

const quantile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];

// A kernel density estimate over pixels; the kernel is as wide as Silverman's rule has it.
function density(places, from, to) {
  const sorted = [...places].sort((a, b) => a - b);
  const middle = places.reduce((sum, one) => sum + one, 0) / places.length;
  const deviation = Math.sqrt(places.reduce((sum, one) => sum + (one - middle) ** 2, 0) / places.length);
  const width = Math.max(0.9 * Math.min(deviation, (quantile(sorted, 0.75) - quantile(sorted, 0.25)) / 1.34 || deviation) * places.length ** -0.2, 2.5);
  const [low, high] = [Math.max(from, sorted[0] - 3 * width), Math.min(to, sorted.at(-1) + 3 * width)];
  return Array.from({ length: POINTS }, (_, k) => {
    const x = low + ((high - low) * k) / (POINTS - 1);
    return [x, places.reduce((sum, one) => sum + Math.exp(-0.5 * ((x - one) / width) ** 2), 0)];
  });
}

function stripPlot(place, views) {
  const { svg, width } = canvas(place, 60);
  const rows = views.map((view) => ({ view, cell: index.cells[view.cells[0]], blocks: countedBlocks(view) })).filter((one) => one.blocks.length);
  if (!rows.length) return nothing(svg, width);
  const values = rows.flatMap(({ view, blocks }) => [...blocks.map((one) => Math.min(one.measured, view.blocks.top)), ...(view.blocks.shown > 0 ? [view.blocks.shown] : [])]);
  const least = values.reduce((a, b) => Math.min(a, b));
  const log = values.reduce((a, b) => Math.max(a, b)) > 8 * least;
  const [low, high] = endsOf(values, log);
  const narrow = width < 560;
  const each = 54;
  const names = rows.map(({ cell }) => shortened(index.competitors[cell.competitor], 26));
  const left = narrow || rows.length === 1 ? 10 : Math.max(...names.map((name) => widthOf(name))) + 18;
  const [right, top] = [width - 16, 6];
  const bottom = top + each * rows.length;
  const x = axisOf({ log, low, high, unit: "time", title: "time of an iteration" }, left, right, narrow ? 4 : 8);
  frame(svg, { left, top, right, bottom }, x, { ticks: [], title: "" });
  rows.forEach(({ view, cell, blocks }, at) => {
    const y = top + each * (at + 0.55);
    const places = blocks.map((one) => x.at(Math.min(one.measured, view.blocks.top)));
    if (at) el("line", { class: "grid", x1: left, x2: right, y1: top + each * at, y2: top + each * at }, svg);
    if (rows.length > 1) el("text", narrow ? { class: "note", x: left + 3, y: top + each * at + 13 } : { class: "note", x: left - 9, y: y + 4, "text-anchor": "end" }, svg, names[at]);
    const outline = density(places, left, right);
    const most = outline.reduce((a, [, one]) => Math.max(a, one), 0);
    const half = (one) => (0.4 * each * one) / most;
    const d = [...outline.map(([a, one]) => [a, y - half(one)]), ...outline.reverse().map(([a, one]) => [a, y + half(one)])];
    el("path", { class: `violin ${colourOf(cell.engine)}`, d: `M${d.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join("L")}Z` }, svg);
    const step = Math.ceil(blocks.length / MOST_DOTS);
    blocks.forEach((one, k) => {
      if (k % step) return;
      const jitter = (((k * 61) % 17) / 17 - 0.5) * 0.36 * each; // the same each time
      el("circle", { class: `dot ${colourOf(cell.engine)}`, cx: places[k].toFixed(1), cy: (y + jitter).toFixed(1), r: 1.6 }, svg);
    });
    const processes = new Map();
    blocks.forEach((one, k) => processes.set(one.number, [...(processes.get(one.number) ?? []), one.measured]));
    for (const [number, taken] of processes) {
      const own = quantile(taken.sort((a, b) => a - b), 0.25);
      const a = x.at(Math.min(own, view.blocks.top));
      el("line", { class: "process", x1: a, x2: a, y1: y - 0.32 * each, y2: y + 0.32 * each }, svg);
      (svg.said ??= []).push({ x: a, y: y + 0.25 * each, text: `${names[at]}, process ${number}: ${timeText(own)}\nlower quartile of ${taken.length} blocks` });
    }
    const middle = quantile(blocks.map((one) => one.measured).sort((a, b) => a - b), 0.5);
    el("line", { class: "median", x1: x.at(middle), x2: x.at(middle), y1: y - 0.42 * each, y2: y + 0.42 * each }, svg);
    (svg.said ??= []).push({ x: x.at(middle), y: y - 0.35 * each, text: `${names[at]}: ${timeText(middle)}, the median of ${blocks.length} blocks` });
    if (view.blocks.shown > 0) mark(svg, x.at(view.blocks.shown), y, { shape: cell.engine, size: 6, more: "lined", text: `${names[at]}: ${timeText(view.blocks.shown)}, the time in the table` });
  });
  resize(svg, width, bottom + 46);
}

function spreadViews() {
  const tasks = new Map();
  for (const view of charts["samples-chart"].views) {
    const cell = view.cells?.[0];
    if (cell === undefined || !filter.cellShown(cell)) continue;
    const { task, competitor, place } = index.cells[cell];
    // Where engines compete, what gives no gradient would only stretch the axis.
    if (!place && index.cells.some((one) => one.task === task && one.place)) continue;
    if (!tasks.has(task)) tasks.set(task, new Map());
    if (!tasks.get(task).has(competitor)) tasks.get(task).set(competitor, view); // the whole comes first
  }
  return tasks;
}

function setUpSpread(figure) {
  const select = figure.querySelector("select");
  figure.paint = () => {
    const views = [...(spreadViews().get(Number(select.value)) ?? new Map()).values()];
    stripPlot(figure.querySelector(".plot"), views);
    figure.querySelector(".summary").textContent = `${plural(views.length, "engine")} on ${index.tasks[select.value] ?? "no workload"}.`;
  };
  figure.lines = () => [["row", "engine", "process", "block", "measured_ns"],
    ...[...(spreadViews().get(Number(select.value)) ?? new Map())].flatMap(([name, view]) =>
      countedBlocks(view).map((one) => [index.tasks[select.value], index.competitors[name], one.number, one.at + 1, one.measured]))];
  figure.choose = () => {
    const before = select.value;
    select.replaceChildren(...[...spreadViews().keys()].map((task) => new Option(index.tasks[task], task)));
    if ([...select.options].some((one) => one.value === before)) select.value = before;
    figure.paint();
  };
  select.addEventListener("input", figure.paint);
  figure.choose();
}

// A row of the table leads to its own samples.
function showSamples(view) {
  const figure = document.getElementById("samples-chart");
  if (!figure.paint) setUp(figure, charts["samples-chart"]);
  all("select[data-level]", figure).forEach((select, level) => { select.value = view.keys[level]; figure.choose(level + 1); });
}
