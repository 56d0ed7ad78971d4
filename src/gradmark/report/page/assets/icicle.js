// Icicle: boxes as wide as their times, level below level; what a box is too narrow to say, the pointer says.
"use strict";
const STOREY = 46; // pixels of a level

function iciclePlot(place, view) {
  const { svg, width } = canvas(place, 100);
  if (!offered(view)) return nothing(svg, width);
  const [left, right, top] = [10, width - 14, 6];
  const levels = view.boxes.reduce((most, one) => Math.max(most, one.level), 0) + 1;
  const bottom = top + levels * STOREY;
  const high = view.boxes.reduce((most, one) => Math.max(most, one.start + one.width), 0);
  const x = axisOf({ ...view.x, low: 0, high }, left, right, width < 560 ? 4 : 9);
  frame(svg, { left, top, right, bottom }, x, { ticks: [], title: "" });
  for (const one of view.boxes) {
    const [from, to] = [x.at(one.start), x.at(one.start + one.width)];
    const y = top + one.level * STOREY;
    const wide = Math.max(to - from, 0.5);
    el("rect", { class: `box ${colourOf(one.colour)}`, x: from.toFixed(2), y, width: wide.toFixed(2), height: STOREY - 2 }, svg);
    if (widthOf(one.name) + 10 <= wide) el("text", { class: "note", x: (from + wide / 2).toFixed(1), y: y + STOREY / 2 + 4, "text-anchor": "middle" }, svg, one.name);
    for (let at = from + Math.min(wide / 2, 20); at < from + wide; at += 40) (svg.said ??= []).push({ x: at, y: y + STOREY / 2, text: one.text });
  }
  resize(svg, width, bottom + 46);
}
