// Blocks: every timed block, and below it the pilots around it. They share an axis: a slow block stands over a slow pilot.
"use strict";
// Told apart by colour and by shape. Slow ones are drawn first, so that they hide no calm one.
const STATES = [
  { state: "slow", name: "machine was slow", colour: 1, shape: "cross" },
  { state: "calm", name: "calm", colour: 0, shape: 0 },
  { state: "unknown", name: "state unknown", colour: -1, shape: 2, open: true },
];
const ORDER = ["calm", "slow", "unknown"]; // in the legend
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
  return [`process ${number}, block ${at + 1}: ${name}`, `${timeText(measured)} as measured${counted}`, ...pilots].join("\n");
}

// What lies beyond the axis is a triangle at its end.
function blockMarks(svg, found, x, y, top, size) {
  for (const { state, colour, shape, open = false } of STATES) {
    for (const one of found.filter((one) => one.state === state)) {
      const beyond = one.y > top;
      mark(svg, x.at(one.x), y.at(Math.min(one.y, top)), beyond ? { shape: 3, colour, size: size + 1, open: true, text: one.text } : { shape, colour, size, open, text: one.text });
    }
  }
}

// Processes in turn with a shade and without.
function shades(svg, processes, x, top, bottom) {
  let end = 0.5;
  processes.forEach(([, count], turn) => {
    const [from, to] = [x.at(end), x.at((end += count))];
    if (turn % 2) el("rect", { class: "shade", x: from, y: top, width: to - from, height: bottom - top }, svg);
  });
}

function blocksPlot(place, view) {
  const { top, shown, pilots = {}, processes } = view.blocks;
  const blocks = view.unrolled;
  const narrow = place.clientWidth < 560;
  const kinds = Object.keys(pilots);
  const [high, each] = [narrow ? 240 : 300, 70];
  const { svg, width } = canvas(place, 400);
  const found = blocks.map((one) => ({ x: one.place, y: one.measured, state: one.state, text: blockText(one) }));
  const heights = [...found.map((one) => Math.min(one.y, top)), ...(shown === undefined ? [] : [shown])];
  const [least, most] = endsOf(heights, false);
  const states = STATES.filter(({ state }) => found.some((one) => one.state === state)).reverse();
  const entries = [...states].sort((a, b) => ORDER.indexOf(a.state) - ORDER.indexOf(b.state))
    .map(({ name, colour, shape, open }) => ({ text: name, draw: inLegend(colour, { shape, open }) }));
  if (shown !== undefined) entries.push({ text: `the number shown, ${timeText(shown)}`, draw: inLegend(-1, { dashed: true }) });
  const first = legend(svg, entries, 12, 0, width - 14) + 8;
  const y = axisOf({ ...view.y, low: least, high: most }, first + high, first, narrow ? 5 : 7);
  const left = Math.max(besideOf(y.ticks, y.title), 52);
  const right = width - 14;
  const x = axisOf({ ...view.x, low: 0, high: blocks.length + 1 }, left, right, narrow ? 5 : 9);
  const bottom = first + high + kinds.length * (each + 30);
  shades(svg, processes, x, first, bottom);
  frame(svg, { left, top: first, right, bottom: first + high }, x, y, { labels: !kinds.length });
  if (shown !== undefined) el("line", { class: "dashed c-none", x1: left, x2: right, y1: y.at(shown), y2: y.at(shown) }, svg);
  blockMarks(svg, found, x, y, top, narrow ? 3 : 3.5);
  kinds.forEach((kind, at) => {
    const [above, below] = [first + high + 30 + at * (each + 30), first + high + 30 + at * (each + 30) + each];
    const limit = 1 + pilots[kind].limit / pilots[kind].parts;
    const seen = blocks.flatMap((one) => (one.looks[kind] ?? []).map(({ ratio, calm }, after) => ({
      x: one.place + (after ? 0.25 : -0.25), y: ratio, state: calm ? "calm" : "slow",
      text: `process ${one.number}, ${after ? "after" : "before"} block ${one.at + 1}: ${multiple(ratio)}`,
    })));
    const lowest = Math.min(1, ...seen.map((one) => one.y));
    const ticks = [{ value: 1, text: "1×" }, { value: 1.5, text: "1.5×" }, { value: SLOWEST, text: `≥ ${SLOWEST}×` }];
    const ratios = axisOf({ log: true, low: 0.94 * lowest, high: SLOWEST * 1.06, ticks }, below, above);
    frame(svg, { left, top: above, right, bottom: below }, x, ratios, { labels: at === kinds.length - 1 });
    el("line", { class: "dotted c-none", x1: left, x2: right, y1: ratios.at(limit), y2: ratios.at(limit) }, svg);
    el("text", { class: "note", x: left + 2, y: above - 7 }, svg, `${KINDS[kind]}, calm up to ${multiple(limit)} (dotted line)`);
    blockMarks(svg, seen, x, ratios, SLOWEST, narrow ? 2 : 2.5);
  });
  resize(svg, width, bottom + 46);
}
