// Small multiples: every series of the history, what changed most first. A click draws one large.
"use strict";
const MOST_SMALL = 24; // at first
const [SMALL_WIDTH, SMALL_HEIGHT] = [220, 64];

function smallPlot(view) {
  const series = view.series.filter((one) => one.style === "joined");
  const shown = series.length ? series : view.series.slice(0, 1);
  const svg = el("svg", { viewBox: `0 0 ${SMALL_WIDTH} ${SMALL_HEIGHT}`, width: SMALL_WIDTH, height: SMALL_HEIGHT, "aria-hidden": "true" });
  const values = [...shown.flatMap((one) => one.y), ...(view.band ?? [])];
  const [low, high] = endsOf(values, false);
  const count = view.x.names.length;
  const x = (value) => 6 + ((value + 0.5) / count) * (SMALL_WIDTH - 12);
  const y = axisOf({ low, high }, SMALL_HEIGHT - 5, 5, 3).at;
  if (view.band?.length) el("rect", { class: "shade", x: 0, width: SMALL_WIDTH, y: y(view.band[1]), height: Math.max(1, y(view.band[0]) - y(view.band[1])) }, svg);
  for (const one of shown) {
    el("path", { class: "line c0", d: one.x.map((value, at) => `${at ? "L" : "M"}${x(value).toFixed(1)},${y(one.y[at]).toFixed(1)}`).join("") }, svg);
    el("circle", { class: "dot c0", cx: x(one.x.at(-1)), cy: y(one.y.at(-1)), r: 3 }, svg);
  }
  for (const one of view.series.filter((one) => one.style === "change")) {
    one.x.forEach((value, at) => mark(svg, x(value), y(one.y[at]), { shape: 2, colour: 1, size: 5, open: true }));
  }
  return svg;
}

// Where levels begin: the runs, with their commits.
function beganText(view) {
  const began = view.series.filter((one) => one.style === "change").flatMap((one) => one.x.map((value) => view.x.names[value]));
  return began.length ? `; new level at ${listed(began)}` : "";
}

function changeText({ change = 1 }) {
  return change >= 1e9 ? "no longer 0" : change < 1.005 ? "unchanged" : `${timesText(change)} ×`;
}

function setUpMultiples(figure) {
  const place = figure.querySelector(".multiples");
  const button = figure.querySelector(".all-rows");
  const history = document.getElementById("history-chart");
  figure.paint = () => {
    const views = charts["history-chart"].views.filter(offered).sort((a, b) => (b.change ?? 1) - (a.change ?? 1));
    const shown = figure.dataset.all ? views : views.slice(0, MOST_SMALL);
    button.hidden = shown.length === views.length;
    button.textContent = `Show all ${views.length}`;
    place.replaceChildren(...shown.map((view) => {
      const one = element("button", "", "multiple");
      one.type = "button";
      one.append(element("span", view.keys.join(", "), "name"), smallPlot(filled(view)), element("span", `${view.summary.split(". ")[0].replace(/\.$/, "")} (${changeText(view)})${beganText(view)}`, "caption"));
      one.addEventListener("click", () => {
        if (!history.paint) setUp(history, charts["history-chart"]);
        all("select[data-level]", history).forEach((select, level) => { select.value = view.keys[level]; history.choose(level + 1); });
        history.scrollIntoView({ block: "nearest" });
      });
      return one;
    }));
  };
  button.addEventListener("click", () => { figure.dataset.all = "yes"; figure.paint(); });
  figure.paint();
}
