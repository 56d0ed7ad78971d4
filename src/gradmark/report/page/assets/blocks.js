// Blocks: every timed block, and below it the pilots around it. They share an axis: a slow block stands over a slow pilot.
"use strict";
// Told apart by colour and by shape. Slow ones are drawn first, so that they hide no calm one.
const STATES = [
  { state: "slow", name: "machine was slow", colour: 1, symbol: "x-thin-open", rank: 2 },
  { state: "calm", name: "calm", colour: 0, symbol: "circle", rank: 1 },
  { state: "unknown", name: "state unknown", colour: -1, symbol: "diamond-open", rank: 3 },
];
const KINDS = { core: "pilots", memory: "memory pilots", device: "device pilots" };
const SLOWEST = 2; // pilots that took longer are drawn at this multiple of the reference
// Numbers as chart.py has them in letters.
const NOTHING = 60000;
const numberAt = (letters, at) => { const code = letters.charCodeAt(at); return code > 59000 ? code - 60000 : code - 70; };
const multiple = (ratio) => (ratio < 50 ? `${ratio.toFixed(2)}×` : "over 50×");

// As the tables write it.
function timeText(ns) {
  const [factor, unit] = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]].find(([least]) => ns >= 0.9995 * least) ?? [1, "ns"];
  const value = ns / factor;
  const digits = factor === 1 && Number.isInteger(value) ? 0 : Math.abs(value) < 9.995 ? 2 : Math.abs(value) < 99.95 ? 1 : 0;
  return `${value.toFixed(digits)} ${unit}`;
}

// The blocks one by one, each with its place on the axis, its state, and its pilots as multiples of the reference.
function unrolled({ processes, low, step, pilots = {} }, chart, view) {
  const times = chart.times[view];
  const kinds = Object.keys(pilots);
  const taken = (kind, at) => 1 + numberAt(chart.pilots[kind][view], at) / pilots[kind].parts;
  const calm = (kind, at) => numberAt(chart.pilots[kind][view], at) <= pilots[kind].limit;
  let place = 0;
  return processes.flatMap(([number, count]) => Array.from({ length: count }, (_, at) => {
    const around = [2 * place, 2 * place + 1]; // before and after
    const seen = kinds.filter((kind) => chart.pilots[kind][view].charCodeAt(around[0]) !== NOTHING);
    const state = !seen.length ? "unknown" : seen.every((kind) => around.every((one) => calm(kind, one))) ? "calm" : "slow";
    const looks = Object.fromEntries(seen.map((kind) => [kind, around.map((one) => ({ ratio: taken(kind, one), calm: calm(kind, one) }))]));
    return { place: ++place, number, at, measured: Number((low + step * numberAt(times, place - 1)).toPrecision(4)), looks, state };
  }));
}

function blockText({ number, at, measured, looks, state }) {
  const { name } = STATES.find((one) => one.state === state);
  // At the clock of the reference, of which the faster of the two pilots tells.
  const corrected = looks.core ? measured / Math.min(...looks.core.map((one) => one.ratio)) : measured;
  const counted = { calm: `, ${timeText(corrected)} corrected`, slow: ", not corrected and not counted", unknown: "" }[state];
  const pilots = Object.entries(looks).map(([kind, pair]) => `${KINDS[kind]} ${pair.map((one) => multiple(one.ratio)).join(" and ")}`);
  return [`process ${number}, block ${at + 1}: ${name}`, `${timeText(measured)} as measured${counted}`, ...pilots].join("<br>");
}

// One trace for the marks of a state; those beyond the axis are triangles at its end.
function marks(found, { name, colour, symbol, rank }, top, size, more) {
  const drawn = colour < 0 ? variable("--soft") : COLOURS[theme()][colour];
  const part = (some, shape, legend) => ({
    type: "scatter", mode: "markers", name, legendgroup: name, legendrank: rank, showlegend: legend, hoverinfo: "text",
    x: some.map((one) => one.x), y: some.map((one) => Math.min(one.y, top)), text: some.map((one) => one.text),
    marker: { symbol: shape, size, color: drawn, line: { width: shape.includes("thin") ? 1.5 : 1, color: drawn } }, ...more,
  });
  const [within, beyond] = [found.filter((one) => one.y <= top), found.filter((one) => one.y > top)];
  return [
    ...(within.length ? [part(within, symbol, more.yaxis === "y")] : []),
    ...(beyond.length ? [part(beyond, "triangle-up-open", more.yaxis === "y" && !within.length)] : []),
  ];
}

function pilotTraces(kind, yaxis, blocks, size) {
  const found = blocks.flatMap((one) => (one.looks[kind] ?? []).map(({ ratio, calm }, after) => ({
    x: one.place + (after ? 0.25 : -0.25), y: ratio, state: calm ? "calm" : "slow",
    text: `process ${one.number}, ${after ? "after" : "before"} block ${one.at + 1}: ${multiple(ratio)}`,
  })));
  return STATES.flatMap((state) => marks(found.filter((one) => one.state === state.state), state, SLOWEST, size, { yaxis }));
}

// Processes in turn with a shade and without.
function shades(processes) {
  let end = 0.5;
  const ranges = processes.map(([, count]) => [end, (end += count)]);
  return ranges.filter((_, turn) => turn % 2).map(([x0, x1]) => ({
    type: "rect", layer: "below", xref: "x", yref: "paper", x0, x1, y0: 0, y1: 1, line: { width: 0 }, fillcolor: variable("--line"), opacity: 0.3,
  }));
}

function blocksPlot(view, narrow) {
  const { top, shown, pilots = {}, processes } = view.blocks;
  const blocks = view.unrolled;
  const factor = UNITS[view.y.unit].factor;
  const ends = [0, blocks.length + 1];
  const found = blocks.map((one) => ({ x: one.place, y: one.measured * factor, state: one.state, text: blockText(one) }));
  const traces = STATES.flatMap((state) => marks(found.filter((one) => one.state === state.state), state, top * factor, narrow ? 5 : 6, { yaxis: "y" }));
  if (shown !== undefined) {
    traces.push({
      type: "scatter", mode: "lines", name: `the number shown, ${timeText(shown)}`, legendrank: 4, x: ends, y: [shown * factor, shown * factor],
      line: { color: variable("--text"), width: 1, dash: "dash" }, hoverinfo: "skip",
    });
  }
  const kinds = Object.keys(pilots);
  const [height, gap] = [kinds.length > 1 ? 0.18 : 0.26, 0.07];
  const floor = kinds.length * (height + gap);
  const heights = traces.flatMap((one) => one.y);
  const [low, high] = [Math.min(...heights), Math.max(...heights)];
  const yaxis = { ...axis(view.y, heights, narrow), domain: [floor, 1], range: [low - 0.06 * (high - low), high + 0.06 * (high - low)] };
  if (low === high) delete yaxis.range;
  const last = kinds.length ? `y${kinds.length + 1}` : "y";
  const plot = {
    xaxis: { ...axis(view.x, ends, narrow), range: ends, anchor: last, zeroline: false }, yaxis: { ...yaxis, zeroline: false },
    legend: { orientation: "h", x: 0, y: 1.01, yanchor: "bottom", font: { size: narrow ? 11 : 13 } }, shapes: shades(processes), annotations: [],
  };
  kinds.forEach((kind, at) => {
    const name = `y${at + 2}`;
    const limit = 1 + pilots[kind].limit / pilots[kind].parts;
    const bottom = (kinds.length - 1 - at) * (height + gap);
    const lowest = Math.min(1, ...blocks.flatMap((one) => (one.looks[kind] ?? []).map(({ ratio }) => ratio)));
    traces.push(...pilotTraces(kind, name, blocks, narrow ? 3 : 4));
    const { title, ...drawn } = axis({ unit: "", log: true, names: [], title: "" }, [], narrow);
    plot[`yaxis${at + 2}`] = {
      ...drawn, domain: [bottom, bottom + height], range: [0.94 * lowest, SLOWEST * 1.06].map(Math.log10),
      tickvals: [1, 1.5, SLOWEST], ticktext: ["1×", "1.5×", `≥ ${SLOWEST}×`], zeroline: false, fixedrange: true,
    };
    plot.shapes.push({ type: "line", xref: "paper", yref: name, x0: 0, x1: 1, y0: limit, y1: limit, line: { color: variable("--text"), width: 1, dash: "dot" } });
    plot.annotations.push({
      text: `${KINDS[kind]}, calm up to ${multiple(limit)} (dotted line)`, font: { size: narrow ? 11 : 13 }, showarrow: false,
      xref: "paper", yref: "paper", x: 0, y: bottom + height, xanchor: "left", yanchor: "bottom",
    });
  });
  return { traces, ...plot };
}
