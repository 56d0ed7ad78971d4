// SVG: scales, axes, marks and legends. What is drawn here takes its colours from the page's styles, so that light and dark,
// paper and files need no second drawing.
"use strict";
const NS = "http://www.w3.org/2000/svg";
const PREFIXES = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""], [1e-3, "m"], [1e-6, "µ"], [1e-9, "n"], [1e-12, "p"]];
const BINARY = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"], [1, "B"]];
// Times come in nanoseconds.
const UNITS = { time: [1e-9, "s"], count: [1, ""], flops: [1, "FLOP/s"], traffic: [1, "B/s"], ratio: [1, ""], "": [1, ""] };
const COLOURS = 8; // the styles have so many
const LETTER = 13; // pixels of the letters in a plot
const shortened = (text, most = 40) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

function el(name, attributes = {}, inside = null, text = null) {
  const made = document.createElementNS(NS, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== null) made.textContent = text;
  inside?.append(made);
  return made;
}

const ruler = document.createElement("canvas").getContext("2d");
function widthOf(text, size = LETTER) {
  ruler.font = `${size}px system-ui, sans-serif`;
  return ruler.measureText(text).width;
}

// --- numbers on axes

function tickText(value, unit) {
  if (value === 0) return "0";
  if (unit === "bytes") {
    const [factor, name] = BINARY.find(([least]) => Math.abs(value) >= least * 0.999) ?? [1, "B"];
    return `${Number((value / factor).toPrecision(3))} ${name}`;
  }
  const [scale, name] = UNITS[unit];
  if (!name && Math.abs(value) < 1e4 && Math.abs(value) >= 1e-3) return `${Number(value.toPrecision(3))}`;
  const scaled = Math.abs(value * scale);
  const [factor, prefix] = PREFIXES.find(([least]) => scaled >= least * 0.999) ?? [1e-12, "p"];
  return `${Number(((value * scale) / factor).toPrecision(3))} ${prefix}${name}`.trim();
}

function linearTicks(low, high, most, unit) {
  const base = unit === "bytes" ? 1024 ** Math.floor(Math.log(Math.max(Math.abs(high), 1)) / Math.log(1024)) : 1;
  const rough = (high - low) / base / most || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = base * power * [1, 2, 5, 10].find((one) => one * power >= rough * 0.999);
  const found = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) found.push(k * step);
  return found;
}

// 1, 10, 100 …, and 2 and 5 where that gives too few; of bytes powers of two.
function logTicks(low, high, most, unit) {
  const found = [];
  if (unit === "bytes") {
    const every = Math.max(1, Math.ceil((Math.log2(high) - Math.log2(low)) / most));
    const step = every > 5 ? 10 * Math.ceil(every / 10) : every;
    for (let power = Math.ceil(Math.log2(low) - 1e-9); power <= Math.log2(high) + 1e-9; power++) if (power % step === 0) found.push(2 ** power);
    return found;
  }
  const decades = Math.log10(high) - Math.log10(low);
  if (decades < 0.5) return linearTicks(low, high, Math.min(most, 6), unit);
  const steps = decades < most / 3 ? [1, 2, 5] : [1];
  const every = steps.length === 1 ? Math.max(1, Math.ceil(decades / most)) : 1;
  for (let decade = Math.floor(Math.log10(low)); decade <= Math.ceil(Math.log10(high)); decade++) {
    if (decade % every === 0) found.push(...steps.map((step) => Number(`${step}e${decade}`)));
  }
  return found.filter((value) => value >= low * 0.999 && value <= high * 1.001);
}

// An axis between two places in pixels. `zero` keeps room for the number 0, which has no place on a logarithm.
function axisOf({ title = "", unit = "", log = false, names = [], low, high, zero = false, ticks = null }, from, to, most) {
  const sign = Math.sign(to - from);
  if (names.length) {
    const at = (value) => from + ((value + 0.5) / names.length) * (to - from);
    const step = Math.ceil(names.length / most);
    return { title, at, ticks: names.map((text, value) => ({ value, text })).filter(({ value }) => value % step === 0) };
  }
  const gap = zero && log ? 26 * sign : 0;
  const scale = log ? Math.log10 : (value) => value;
  const [a, b] = [scale(low), scale(high)];
  const at = (value) => (log && value <= 0 ? from : from + gap + ((scale(value) - a) / (b - a || 1)) * (to - from - gap));
  const values = ticks ?? (log ? logTicks : linearTicks)(low, high, most, unit);
  const shown = values.map((one) => (typeof one === "number" ? { value: one, text: tickText(one, unit) } : one));
  return { title, at, gap: gap && from + gap / 2, ticks: gap ? [{ value: 0, text: "0" }, ...shown] : shown };
}

// The ends of an axis: a little beyond the values.
function endsOf(values, log, zero = false) {
  const seen = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  if (!seen.length) return log ? [1, 10] : [0, 1];
  let [low, high] = [seen.reduce((a, b) => Math.min(a, b)), seen.reduce((a, b) => Math.max(a, b))];
  if (log) {
    const more = Math.max(0.05 * Math.log10(high / low), 0.06);
    return [low * 10 ** -more, high * 10 ** more];
  }
  const more = 0.05 * (high - low) || Math.abs(high) * 0.1 || 1;
  return [zero && low >= 0 ? 0 : low - more, high + more];
}

// --- panels

// The room that the numbers of a vertical axis take.
const besideOf = (ticks, title) => Math.max(...ticks.map(({ text }) => widthOf(text)), 0) + (title ? 34 : 14);

function frame(svg, { left, top, right, bottom }, x, y, { labels = true } = {}) {
  for (const { value, text } of x.ticks) {
    const place = x.at(value);
    el("line", { class: "grid", x1: place, x2: place, y1: top, y2: bottom }, svg);
    if (labels) el("text", { class: "tick", x: place, y: bottom + 17, "text-anchor": "middle" }, svg, text);
  }
  for (const { value, text, svgClass = "tick" } of y.ticks) {
    const place = y.at(value);
    el("line", { class: "grid", x1: left, x2: right, y1: place, y2: place }, svg);
    el("text", { class: svgClass, x: left - 7, y: place + 4, "text-anchor": "end" }, svg, text);
  }
  el("path", { class: "edge", d: `M${left},${top}V${bottom}H${right}` }, svg);
  if (x.gap) el("line", { class: "break", x1: x.gap, x2: x.gap, y1: top, y2: bottom }, svg);
  if (y.gap) el("line", { class: "break", x1: left, x2: right, y1: y.gap, y2: y.gap }, svg);
  if (labels && x.title) el("text", { class: "title", x: (left + right) / 2, y: bottom + 37, "text-anchor": "middle" }, svg, x.title);
  if (y.title) {
    const place = left - besideOf(y.ticks, y.title) + 14;
    el("text", { class: "title", transform: `translate(${place},${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, svg, y.title);
  }
}

// --- marks, told apart by shape as well as by colour

const star = (r, points, inner) => Array.from({ length: 2 * points }, (_, k) => {
  const angle = (Math.PI * k) / points - Math.PI / 2;
  const far = k % 2 ? inner * r : r;
  return `${k ? "L" : "M"}${(far * Math.cos(angle)).toFixed(2)},${(far * Math.sin(angle)).toFixed(2)}`;
}).join("") + "Z";
const SHAPES = [
  (r) => `M${-r},0A${r},${r} 0 1,0 ${r},0A${r},${r} 0 1,0 ${-r},0Z`,
  (r) => `M${-0.9 * r},${-0.9 * r}H${0.9 * r}V${0.9 * r}H${-0.9 * r}Z`,
  (r) => `M0,${-1.25 * r}L${1.25 * r},0L0,${1.25 * r}L${-1.25 * r},0Z`,
  (r) => `M0,${-1.15 * r}L${1.1 * r},${0.85 * r}H${-1.1 * r}Z`,
  (r) => `M${-0.35 * r},${-r}H${0.35 * r}V${-0.35 * r}H${r}V${0.35 * r}H${0.35 * r}V${r}H${-0.35 * r}V${0.35 * r}H${-r}V${-0.35 * r}H${-0.35 * r}Z`,
  (r) => star(1.3 * r, 5, 0.45),
  (r) => star(1.1 * r, 3, 0.88),
  (r) => `M0,${1.15 * r}L${1.1 * r},${-0.85 * r}H${-1.1 * r}Z`,
];
const CROSS = (r) => `M${-r},${-r}L${r},${r}M${-r},${r}L${r},${-r}`;
const colourOf = (place) => (place < 0 ? "c-none" : `c${place % COLOURS}`);

// `shape`: the place of an engine, or "cross". The text is shown while the pointer is near.
function mark(svg, x, y, { shape = 0, colour = shape, size = 5, open = false, text = "", more = "" }) {
  const draw = shape === "cross" ? CROSS : SHAPES[Math.max(shape, 0) % SHAPES.length];
  const kind = shape === "cross" || open ? "open" : "mark";
  el("path", { class: `${kind} ${colourOf(colour)} ${more}`.trim(), d: draw(size), transform: `translate(${x.toFixed(1)},${y.toFixed(1)})` }, svg);
  if (text) (svg.said ??= []).push({ x, y, text });
}

// Entries one after another, in as many lines as they need. Returns the height.
function legend(svg, entries, left, top, right) {
  let [x, y] = [left, top + 14];
  const group = el("g", { class: "legend" }, svg);
  for (const { text, draw } of entries) {
    const width = 26 + widthOf(shortened(text)) + 16;
    if (x + width > right + 16 && x > left) [x, y] = [left, y + 20];
    draw(group, x + 9, y - 4);
    el("text", { x: x + 24, y }, group, shortened(text));
    x += width;
  }
  return entries.length ? y - top + 8 : 0;
}

const inLegend = (colour, { dashed = false, line = false, open = false, shape = colour } = {}) => (group, x, y) =>
  line || dashed
    ? el("line", { class: `${dashed ? "dashed" : "line"} ${colourOf(colour)}`, x1: x - 9, x2: x + 9, y1: y, y2: y }, group)
    : mark(group, x, y, { shape, colour, open });

// --- a place on the page that a plot is drawn into

function canvas(place, height) {
  const width = Math.max(place.clientWidth, 280);
  const svg = el("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
  place.replaceChildren(svg);
  return { svg, width };
}

function resize(svg, width, height) {
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
}

// What is nearest to the pointer or the finger says what it is.
const tip = document.createElement("div");
tip.className = "tip";
tip.hidden = true;
const NEAR = 22; // pixels
function point(event) {
  const svg = event.target.closest?.(".plot svg");
  const box = svg?.getBoundingClientRect();
  const factor = svg ? svg.viewBox.baseVal.width / box.width : 1;
  const near = (svg?.said ?? []).map((one) => ({ ...one, far: Math.hypot(one.x - (event.clientX - box.left) * factor, one.y - (event.clientY - box.top) * factor) }))
    .reduce((best, one) => (one.far < (best?.far ?? NEAR) ? one : best), null);
  tip.hidden = !near;
  if (!near) return;
  if (!tip.isConnected) document.body.append(tip);
  tip.textContent = near.text;
  const [x, y] = [box.left + near.x / factor, box.top + near.y / factor];
  tip.style.left = `${Math.max(4, Math.min(x + 12, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${y + 14 + tip.offsetHeight > innerHeight ? y - tip.offsetHeight - 12 : y + 14}px`;
}
for (const kind of ["pointermove", "pointerdown"]) document.addEventListener(kind, point, { passive: true });
document.addEventListener("scroll", () => (tip.hidden = true), { passive: true, capture: true });
