// Plots: draws the views of the page's data as they are. A plot is drawn when it comes near the screen.
"use strict";
// The data leaves out what is usual.
const AXIS = { unit: "", log: false, names: [] };
const SERIES = { colour: 0, text: [], low: [], high: [] };
// Okabe and Ito's colours, which people who see few colours can tell apart; darker or lighter to stand out.
const COLOURS = {
  light: ["#0b62b0", "#c24e00", "#00795a", "#a8417d", "#7a6400", "#3f7fb0", "#5b4aa0", "#555d66"],
  dark: ["#62b0f5", "#f2904d", "#3fc79c", "#e59cc6", "#e5d24a", "#9ad0f5", "#b3a4f0", "#b8c0ca"],
};
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "cross", "star", "hexagon", "x"];
const UNITS = { time: { factor: 1e-9, suffix: "s" }, bytes: { factor: 1, suffix: "B" }, count: { factor: 1, suffix: "" }, "": { factor: 1, suffix: "" } };
const theme = () => (document.documentElement.dataset.theme === "dark" ? "dark" : "light");
const variable = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
// Plotly reads a few tags in its texts. Names are text, so what would begin a tag or an entity is escaped.
const plain = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const shortened = (text) => (text.length > 40 ? `${text.slice(0, 39)}…` : text);

// 1, 10, 100 …, and 2 and 5 where that gives too few; every mark with its unit, which plotly's own leave out.
function logTicks(values, unit, narrow) {
  const [low, high] = [Math.min(...values), Math.max(...values)].map(Math.log10);
  const steps = high - low < (narrow ? 1.2 : 2.5) ? [1, 2, 5] : [1];
  const every = steps.length === 1 ? Math.ceil((high - low) / (narrow ? 4 : 9)) : 1;
  const tickvals = [];
  for (let decade = Math.floor(low) - 1; decade <= Math.ceil(high); decade++) {
    if (decade % every === 0) tickvals.push(...steps.map((step) => Number(`${step}e${decade}`)));
  }
  const PREFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"], [1e-12, "p"]];
  const ticktext = tickvals.map((value) => {
    const [factor, prefix] = PREFIXES.find(([least]) => value >= least * 0.999) ?? [1e-12, "p"];
    return `${Number((value / factor).toPrecision(3))} ${prefix}${UNITS[unit].suffix}`.trim();
  });
  return { tickvals, ticktext };
}

function axis(one, values, narrow) {
  const drawn = {
    title: { text: plain(one.title), standoff: 8 }, type: one.log ? "log" : "linear", automargin: true, nticks: narrow ? 5 : 9,
    gridcolor: variable("--line"), linecolor: variable("--soft"), zerolinecolor: variable("--line"), exponentformat: "SI",
  };
  if (one.names.length) {
    const step = Math.ceil(one.names.length / (narrow ? 3 : 8));
    const places = one.names.map((_, place) => place).filter((place) => place % step === 0);
    return { ...drawn, tickvals: places, ticktext: places.map((place) => plain(one.names[place])), range: [-0.5, one.names.length - 0.5] };
  }
  const seen = values.filter((value) => value > 0);
  if (one.log && seen.length) return Object.assign(drawn, logTicks(seen, one.unit, narrow));
  if (one.unit) Object.assign(drawn, { tickformat: "~s", ticksuffix: UNITS[one.unit].suffix });
  return drawn;
}

function trace(series, view, narrow) {
  const colours = COLOURS[theme()];
  const colour = series.colour < 0 ? variable("--soft") : colours[series.colour % colours.length];
  const [fx, fy] = [UNITS[view.x.unit].factor, UNITS[view.y.unit].factor];
  const y = series.y.map((value) => value * fy);
  const line = ["line", "dashed", "joined"].includes(series.style);
  const twin = view.series.some((other) => other.colour === series.colour && other.style === "points");
  const drawn = {
    type: "scatter", name: plain(shortened(series.name)), x: series.x.map((value) => value * fx), y,
    mode: series.style === "joined" ? "lines+markers" : line ? "lines" : "markers",
    line: { color: colour, width: 2, dash: series.style === "dashed" ? "dash" : "solid" },
    marker: {
      color: colour, size: series.style === "change" ? 16 : 9,
      symbol: series.style === "change" ? "diamond-open" : SYMBOLS[Math.max(series.colour, 0) % SYMBOLS.length] + (series.style === "open" ? "-open" : ""),
      line: { width: series.style === "change" ? 3 : 1, color: colour },
    },
    hoverinfo: line && series.style !== "joined" ? "skip" : series.text.length ? "text" : "x+y+name",
    text: series.text.map(plain),
    // Where there is little room, the legend has each engine once.
    showlegend: !(narrow && series.style !== "points" && twin),
  };
  if (series.high.length) {
    drawn.error_y = {
      type: "data", symmetric: false, color: colour, thickness: 1.5, width: 4,
      array: series.high.map((value, place) => value * fy - y[place]), arrayminus: series.low.map((value, place) => y[place] - value * fy),
    };
  }
  return drawn;
}

function filled(view) {
  const series = view.series.map((one) => ({ ...SERIES, ...one }));
  return { ...view, x: { ...AXIS, ...view.x }, y: { ...AXIS, ...view.y }, series };
}

function seriesPlot(view, narrow) {
  const traces = view.series.map((one) => trace(one, view, narrow));
  const values = (key) => traces.flatMap((one) => one[key]);
  const below = narrow || view.series.length > 14;
  return {
    traces, xaxis: axis(view.x, values("x"), narrow), yaxis: axis(view.y, values("y"), narrow),
    legend: below ? { orientation: "h", y: -0.25, x: 0, yanchor: "top", font: { size: 10 } } : { x: 1.01, y: 1 },
  };
}

function draw(figure) {
  const view = filled(figure.view);
  const place = figure.querySelector(".plot");
  place.classList.toggle("pilots", Boolean(view.blocks?.pilots));
  const narrow = place.clientWidth < 560;
  const { traces, ...parts } = view.blocks ? blocksPlot(view, narrow) : seriesPlot(view, narrow);
  const layout = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: variable("--text"), family: "system-ui, sans-serif", size: narrow ? 11 : 13 },
    margin: { l: 10, r: 10, t: 10, b: 10 }, hovermode: "closest", hoverlabel: { align: "left", namelength: -1 }, showlegend: true, ...parts,
  };
  place.setAttribute("aria-label", [...view.keys, view.answer, view.summary].filter(Boolean).join(" "));
  figure.querySelector(".summary").textContent = view.summary;
  if (view.answer) figure.querySelector(".answer").textContent = view.answer;
  Plotly.react(place, traces, layout, { responsive: true, displaylogo: false, displayModeBar: false });
}

function setUp(figure, chart) {
  const selects = all("select", figure);
  const fill = (level) => {
    const select = selects[level];
    const earlier = selects.slice(0, level).map((one) => one.value);
    const fitting = chart.views.filter((view) => earlier.every((key, at) => view.keys[at] === key));
    const keys = [...new Set(fitting.map((view) => view.keys[level]))];
    const before = select.value;
    select.replaceChildren(...keys.map((key) => new Option(key, key)));
    if (keys.includes(before)) select.value = before;
  };
  const choose = (level) => {
    for (let next = level; next < selects.length; next++) fill(next);
    const keys = selects.map((select) => select.value);
    figure.view = chart.views.find((view) => keys.every((key, at) => view.keys[at] === key));
    if (chart.times) figure.view.unrolled ??= unrolled(figure.view.blocks, chart, chart.views.indexOf(figure.view));
    draw(figure);
  };
  selects.forEach((select, level) => select.addEventListener("change", () => choose(level + 1)));
  choose(0);
}
