// Loading: the data of the plots and plotly are unpacked when nothing else is to do, and plotly runs once it is needed.
"use strict";
const PIECE = 1 << 17; // letters; a multiple of four, as base64 wants it
let charts = {};
let plotly = ""; // its text, until it has run

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

// It takes a second or so in which the page does not answer, so only who looks at plots or prints them waits for it.
function runPlotly() {
  if (window.Plotly) return;
  const script = document.createElement("script");
  script.textContent = plotly;
  document.head.append(script);
  plotly = "";
}

function drawFirst(figure) {
  runPlotly();
  setUp(figure, charts[figure.id]);
}

function drawAll() {
  for (const figure of all("figure.chart")) figure.view ? draw(figure) : drawFirst(figure);
}

// What stands below the table is laid out when the reader has nothing else for the page to do.
async function showRest() {
  await later(SOON);
  await idle();
  document.documentElement.dataset.read = "all";
  const figures = all("figure.chart");
  if (figures.length) await prepareCharts(figures);
}

async function prepareCharts(figures) {
  try {
    charts = JSON.parse(await unpacked("data"));
    plotly = await unpacked("plotly");
  } catch (error) {
    figures.forEach((one) => (one.querySelector(".summary").textContent = `This browser cannot draw it: ${error.message}.`));
    return;
  }
  const watcher = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting && !target.view) drawFirst(target);
  }, { rootMargin: "300px" });
  figures.forEach((figure) => watcher.observe(figure));
  document.documentElement.dataset.plots = "ready";
}
