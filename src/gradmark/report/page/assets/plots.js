// Plots: draws the views of the page's data as they are. A plot is drawn when it comes near the screen.
"use strict";
// The data leaves out what is usual.
const AXIS = { unit: "", log: false, names: [] };
const SERIES = { colour: 0, text: [], low: [], high: [], cells: [] };
const filled = (view) => ({
  ...view, x: { ...AXIS, ...view.x }, y: { ...AXIS, ...view.y }, cells: view.cells ?? [],
  series: view.series.map((one) => ({ ...SERIES, ...one })),
});

// Only the points of what the filter shows; a series without points of cells goes with its engine.
function visibleSeries(view) {
  return view.series.flatMap((one) => {
    if (!one.cells.length) return one.colour < 0 || !view.engines || filter.engineShown(one.colour) ? [one] : [];
    const keep = one.cells.map((cell, at) => (filter.cellShown(cell) ? at : -1)).filter((at) => at >= 0);
    if (!keep.length) return [];
    if (keep.length === one.x.length) return [one];
    const less = Object.fromEntries(["x", "y", "text", "low", "high"].map((key) => [key, one[key].length ? keep.map((at) => one[key][at]) : []]));
    return [{ ...one, ...less }];
  });
}

const isLine = ({ style }) => ["line", "dashed", "joined"].includes(style);

function seriesPlot(place, view) {
  const series = visibleSeries(view);
  const narrow = place.clientWidth < 560;
  const { svg, width } = canvas(place, 400);
  if (!series.some((one) => one.x.length && one.colour >= 0)) return nothing(svg, width);
  const values = (axis) => series.flatMap((one) => [...one[axis], ...(axis === "y" ? [...one.low, ...one.high] : [])]);
  const zero = (axis) => view[axis].log && values(axis).some((value) => value <= 0);
  const ranged = (axis) => {
    const [low, high] = endsOf(values(axis), view[axis].log);
    return { ...view[axis], low, high, zero: zero(axis) };
  };
  const [top, bottom] = [12, 340];
  const y = axisOf(ranged("y"), bottom, top, narrow ? 6 : 8);
  const left = besideOf(y.ticks, y.title);
  const right = width - 14;
  const x = axisOf(ranged("x"), left, right, narrow ? 4 : 9);
  frame(svg, { left, top, right, bottom }, x, y);
  for (const one of series) drawSeries(svg, one, x, y);
  // Where there is little room, the legend has each engine once.
  const named = series.filter((one) => !(isLine(one) && one.style === "line" && (narrow || series.length > 12) && series.some((other) => other !== one && other.colour === one.colour)));
  const entries = named.map((one) => ({
    text: one.name, draw: inLegend(one.colour, { line: one.style === "line", dashed: one.style === "dashed", open: one.style === "open" || one.style === "change", shape: one.style === "change" ? 2 : one.colour }),
  }));
  resize(svg, width, bottom + 50 + legend(svg, entries, left, bottom + 46, right));
}

function nothing(svg, width) {
  resize(svg, width, 60);
  el("text", { class: "title", x: 12, y: 34 }, svg, "The filter hides everything in this plot.");
}

function drawSeries(svg, one, x, y) {
  const at = one.x.map((value, place) => [x.at(value), y.at(one.y[place])]);
  if (isLine(one)) {
    const d = at.map(([a, b], place) => `${place ? "L" : "M"}${a.toFixed(1)},${b.toFixed(1)}`).join("");
    el("path", { class: `${one.style === "dashed" ? "dashed" : "line"} ${colourOf(one.colour)}`, d }, svg);
    if (one.style !== "joined") return;
  }
  at.forEach(([a, b], place) => {
    if (one.high.length) {
      const [low, high] = [y.at(one.low[place]), y.at(one.high[place])];
      el("path", { class: `whisker ${colourOf(one.colour)}`, d: `M${a - 4},${low}H${a + 4}M${a},${low}V${high}M${a - 4},${high}H${a + 4}` }, svg);
    }
    const change = one.style === "change";
    mark(svg, a, b, { shape: change ? 2 : one.colour, colour: one.colour, size: change ? 8 : 5, open: change || one.style === "open", text: one.text[place] ?? "" });
  });
}

function draw(figure) {
  const view = filled(figure.view);
  const place = figure.querySelector(".plot");
  place.setAttribute("aria-label", [...view.keys, view.answer, view.summary].filter(Boolean).join(" "));
  figure.querySelector(".summary").textContent = view.summary;
  if (view.answer) figure.querySelector(".answer").textContent = view.answer;
  if (view.boxes?.length) iciclePlot(place, view);
  else if (view.blocks) blocksPlot(place, view);
  else seriesPlot(place, { ...view, engines: figure.chart.by_engine ?? true });
}

// A view is offered if the filter shows any of its cells.
const offered = (view) => !view.cells?.length || view.cells.some((cell) => filter.cellShown(cell));

function setUp(figure, chart) {
  figure.chart = chart;
  figure.paint = () => draw(figure);
  const selects = all("select[data-level]", figure);
  const fill = (level) => {
    const select = selects[level];
    const earlier = selects.slice(0, level).map((one) => one.value);
    const shown = chart.views.filter(offered);
    const fitting = (shown.length ? shown : chart.views).filter((view) => earlier.every((key, at) => view.keys[at] === key));
    const keys = [...new Set(fitting.map((view) => view.keys[level]))];
    const before = select.value;
    select.replaceChildren(...keys.map((key) => new Option(key, key)));
    if (keys.includes(before)) select.value = before;
  };
  figure.choose = (level = 0) => {
    for (let next = level; next < selects.length; next++) fill(next);
    const keys = selects.map((select) => select.value);
    figure.view = chart.views.find((view) => keys.every((key, at) => view.keys[at] === key));
    if (chart.times) figure.view.unrolled ??= unrolled(figure.view.blocks, chart, chart.views.indexOf(figure.view));
    draw(figure);
  };
  selects.forEach((select, level) => select.addEventListener("change", () => figure.choose(level + 1)));
  figure.choose();
}
