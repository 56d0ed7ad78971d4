// The page as a whole: light and dark, and printing.
"use strict";
const button = document.getElementById("theme");
const theme = () => (document.documentElement.dataset.theme === "dark" ? "dark" : "light");

function setTheme(name) {
  if (name !== theme()) document.documentElement.dataset.theme = name;
  button.textContent = name === "dark" ? "Light" : "Dark";
}

setTheme(theme());
system.addEventListener("change", (event) => { if (!remembered) setTheme(event.matches ? "dark" : "light"); });
button.addEventListener("click", () => {
  setTheme(theme() === "dark" ? "light" : "dark");
  try { localStorage.setItem("gradmark-theme", theme()); } catch { /* the choice then holds until the page is closed */ }
});

// On paper everything is open, drawn and light.
let before = null;
addEventListener("beforeprint", () => {
  before ??= theme();
  setTheme("light");
  document.documentElement.classList.add("paper"); // as wide as paper, so that what is drawn now need not be made smaller
  all("details:not(.menu)").forEach((one) => (one.open = true));
  if (document.documentElement.dataset.plots === "ready") drawAll();
});
addEventListener("afterprint", () => {
  if (before) setTheme(before);
  before = null;
  document.documentElement.classList.remove("paper");
  drawn().forEach((figure) => figure.paint());
});
document.addEventListener("click", (event) => {
  all("details.menu[open]").filter((one) => !one.contains(event.target)).forEach((one) => (one.open = false));
});
document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") all("details.menu[open]").forEach((one) => { one.open = false; one.querySelector("summary").focus(); });
});

// A link may have brought a filter.
if (location.hash.includes("?")) {
  readAddress();
  apply();
}
