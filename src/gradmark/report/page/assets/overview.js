// The overview of what the filter shows: the sentence and the standings, counted as Python counts them for all rows.
"use strict";
const LEAST_SHARE = 0.5; // of the rows: an engine with fewer times has no mean, as in tally.py
const MOST_NAMED = 3;
const thousands = (text) => text.replace(/\B(?=(\d{3})+$)/g, ",");
const plural = (count, noun) => `${thousands(String(count))} ${noun}${count === 1 ? "" : "s"}`;
const listed = (parts) => (parts.length > 1 ? `${parts.slice(0, -1).join(", ")} and ${parts.at(-1)}` : parts.join(""));

// A factor as units.times writes it.
function timesText(ratio) {
  if (!Number.isFinite(ratio)) return "inf";
  const digits = Math.abs(ratio) < 9.995 ? 2 : Math.abs(ratio) < 99.95 ? 1 : 0;
  return digits ? ratio.toFixed(digits) : thousands(String(Number(Math.round(ratio).toPrecision(3))));
}

const mean = (numbers) => Math.exp(numbers.reduce((sum, one) => sum + Math.log(one), 0) / numbers.length);

// Where an engine has no rival it wins nothing; one that is hidden is a rival all the same.
const rivals = index.cells.reduce((counts, cell) => (cell.place ? counts.set(cell.task, (counts.get(cell.task) ?? 0) + 1) : counts), new Map());
const group = (cells, key) => cells.reduce((groups, cell) => groups.set(cell[key], [...(groups.get(cell[key]) ?? []), cell]), new Map());

// What tally.py calls a contest: the rows with their standings, and what each engine was asked for.
function contest() {
  const shown = index.cells.filter((cell, at) => filter.shown[at] && !cell.apart);
  const placed = shown.filter((cell) => cell.place);
  const rows = [...group(placed.filter((cell) => rivals.get(cell.task) > 1), "task").values()];
  const planned = group(shown, "competitor");
  const own = new Map([...planned.keys()].map((name) => [name, rows.flatMap((row) => row.filter((cell) => cell.competitor === name))]));
  const enough = [...own].filter(([, cells]) => cells.length && cells.length >= LEAST_SHARE * rows.length).map(([name]) => name);
  const common = rows.filter((row) => enough.length && enough.every((name) => row.some((cell) => cell.competitor === name)));
  return { rows, placed, planned, own, common };
}

function numbersOf(name, { placed, planned, own, common }) {
  const cells = own.get(name) ?? [];
  const timed = placed.filter((cell) => cell.competitor === name);
  const of = (row) => row.find((cell) => cell.competitor === name);
  const ratios = common.map((row) => of(row)?.place.ratio);
  const peaks = common.filter((row) => row.some((cell) => cell.place.peak)).map((row) => {
    const least = Math.min(...row.map((cell) => cell.place.peak || Infinity));
    return of(row)?.place.peak / least;
  });
  // As Python: a row without this engine's peak leaves no mean, and neither does a row in which nobody has one.
  const whole = (some) => some.length === common.length && some.length && some.every((one) => one > 0 && Number.isFinite(one));
  const digits = timed.map((cell) => cell.place.digits).filter((one) => one !== undefined);
  const counted = (planned.get(name) ?? []).filter((cell) => cell.status === "ok" && cell.allocations !== undefined);
  const marks = (mark) => cells.filter((cell) => cell.place.mark === mark).length;
  return [
    whole(ratios) ? timesText(mean(ratios)) : "n/a", marks("◀"), marks("="), marks("?"),
    whole(peaks) ? timesText(mean(peaks)) : "n/a",
    digits.length ? Math.min(...digits).toFixed(1) : "n/a",
    counted.length ? `${counted.filter((cell) => cell.allocations <= 0).length} of ${counted.length}` : "n/a",
    `${timed.length} of ${(planned.get(name) ?? []).length}`,
  ].map(String);
}

function winnersText({ rows, placed, own }) {
  if (!rows.length) {
    const timed = [...group(placed, "competitor").keys()];
    if (timed.length === 1) return `${index.competitors[timed[0]]} was timed on ${plural(placed.length, "row")}.`;
    return timed.length ? `${plural(timed.length, "engine")} were timed, no two on the same row.` : "";
  }
  const won = (cells) => cells.filter((cell) => cell.place.mark === "◀").length;
  const winners = [...own].map(([name, cells]) => ({ name: index.competitors[name], won: won(cells), led: cells.filter((cell) => cell.place.mark).length }))
    .filter((one) => one.won).sort((a, b) => b.won - a.won || b.led - a.led);
  const parts = winners.slice(0, MOST_NAMED).map((one, at) => `${one.name} ${at ? "" : "is fastest "}on ${one.won}${at ? "" : ` of ${plural(rows.length, "row")}`}`);
  const rest = winners.slice(MOST_NAMED);
  if (rest.length) parts.push(`${plural(rest.length, "other engine")} on ${rest.reduce((sum, one) => sum + one.won, 0)}`);
  const undecided = rows.filter((row) => row.some((cell) => "=?".includes(cell.place.mark || "-")));
  const tied = undecided.filter((row) => row.every((cell) => cell.place.mark !== "?")).length;
  const open = [...(tied ? [plural(tied, "tie")] : []), ...(undecided.length > tied ? [`${undecided.length - tied} not settled`] : [])];
  return `${[winners.length ? listed(parts) : "No engine is the sole fastest on any row", ...(open.length ? [listed(open)] : [])].join("; ")}.`;
}

// Winners are counted by rows, these by times: where both are said, so is what there is one of.
function unsteadyText({ rows }) {
  const timed = index.cells.filter((cell, at) => filter.shown[at] && cell.timed);
  if (!timed.length) return "";
  const doubtful = timed.filter((cell) => cell.calm && !cell.steady).length;
  const never = timed.filter((cell) => !cell.calm).length;
  if (timed.length === 1) return `The time is ${never ? "never calm" : doubtful ? "unsteady" : "steady"}.`;
  const count = plural(timed.length, "time");
  const each = rows.length ? ", one per row and engine," : "";
  if (!doubtful && !never) return `All ${count}${each} are steady.`;
  const parts = [
    ...(doubtful ? [`${doubtful} ${doubtful === 1 ? "is" : "are"} unsteady`] : []),
    ...(never ? [`${never} ${never === 1 ? "was" : "were"} never calm`] : []),
  ];
  return `Of ${count}${each || ","} ${listed(parts)}.`;
}

function meansText({ rows, common }) {
  if (common.length) return `× fastest and peak memory: geometric means over the ${plural(common.length, "row")} that all engines with a mean have.`;
  if (rows.length) return "No row has a time on every engine, so there are no means. Choose a suite, or fewer engines.";
  return "";
}

function showOverview() {
  const found = contest();
  const hides = filter.engines && found.rows.length > 0;
  document.getElementById("sentence").textContent = [winnersText(found), unsteadyText(found)].filter(Boolean).join(" ") || "The filter hides every time.";
  const note = document.getElementById("means");
  if (note) note.textContent = [meansText(found), hides ? "× fastest, marks and ties are against all engines of the run, hidden ones too." : ""].filter(Boolean).join(" ");
  for (const line of all("#standings tbody tr")) {
    const numbers = numbersOf(Number(line.dataset.k), found);
    all("td[data-n]", line).forEach((cell, at) => (cell.textContent = numbers[at]));
  }
}
filter.followers.push(showOverview);
