// Before anything is drawn: the colours, and that nothing large is laid out again and again while it is being read.
"use strict";
const system = matchMedia("(prefers-color-scheme: dark)");
const remembered = (() => {
  try { return localStorage.getItem("gradmark-theme"); } catch { return null; } // a browser may refuse it to files
})();
document.documentElement.dataset.theme = remembered ?? (system.matches ? "dark" : "light");
document.documentElement.dataset.read = "little"; // then "table", then "all"
