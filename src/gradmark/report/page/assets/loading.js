// Loading: the data of the plots is unpacked when nothing else is to do; each is drawn when it comes near the screen.
"use strict";
const PIECE = 1 << 17; // letters; a multiple of four, as base64 wants it
let charts = {};

// Piece by piece: the page answers in between.
async function unpacked(id) {
  const letters = document.getElementById(id).textContent;
  let at = 0;
  const packed = new ReadableStream({
    async pull(controller) {
      await idle();
      const piece = atob(letters.slice(at, (at += PIECE)));
      const bytes = new Uint8Array(piece.length);
      for (let place = 0; place < piece.length; place++) bytes[place] = piece.charCodeAt(place);
      controller.enqueue(bytes);
      if (at >= letters.length) controller.close();
    },
  });
  return new Response(packed.pipeThrough(new DecompressionStream("gzip"))).text();
}

// Figures whose numbers are not among the packed ones draw themselves.
const OWN = { "ratios-chart": setUpRatios, "spread-chart": setUpSpread, "multiples-chart": setUpMultiples };
const start = (figure) => {
  (OWN[figure.id] ?? setUp)(figure, charts[figure.id]);
  offerFigure(figure);
};
const drawn = () => all("figure.chart").filter((figure) => figure.paint);

function drawAll() {
  for (const figure of all("figure.chart")) figure.paint ? figure.paint() : start(figure);
}

// What stands below the table is laid out when the reader has nothing else for the page to do.
async function showRest() {
  await later(SOON);
  await idle();
  document.documentElement.dataset.read = "all";
  const [section, said] = location.hash.slice(1).split("?");
  if (section && said !== undefined) goTo(section); // which no browser finds by itself
  const figures = all("figure.chart");
  if (figures.length) await prepareCharts(figures);
}

async function prepareCharts(figures) {
  try {
    charts = JSON.parse(await unpacked("data"));
  } catch (error) {
    figures.forEach((one) => (one.querySelector(".summary").textContent = `This browser cannot draw this plot: ${error.message}.`));
    return;
  }
  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting && !target.paint) start(target);
  }, { rootMargin: "300px" });
  figures.forEach((figure) => watcher.observe(figure));
  document.documentElement.dataset.plots = "ready";
}

// As wide as the window, and what the filter shows.
let width = innerWidth;
addEventListener("resize", () => {
  if (innerWidth === width) return; // on a phone the height changes while it scrolls
  width = innerWidth;
  drawn().forEach((figure) => figure.paint());
});
filter.followers.push(() => drawn().forEach((figure) => (figure.choose ?? figure.paint)()));
