// The page Health: the log, its flushes, memory and counters, sampled while the page is open.

import { rowsOf } from "./api.js";
import { lineChart, sparkline } from "./chart.js";
import { fill, h } from "./dom.js";
import { counted, short } from "./format.js";
import { toNumber } from "./json.js";
import { empty, errorNote, heading, loading, section } from "./parts.js";
import { CHARTS, derived, isCounter, nameOf, textOf } from "./measures.js";
import { warningsOf } from "./warnings.js";

const SAMPLE_MILLISECONDS = 1000;
const MAXIMUM_SAMPLES = 150;
const CHART_HEIGHT = 150;
// These must match pictures.css.
const NARROWEST_CHART = 290;
const CHART_GAP = 14;
const CARD_PADDING = 34;
const STATEMENTS = [
  "SELECT * FROM system:health", "SELECT * FROM system:metrics", "SELECT * FROM system:data_sync_info",
  "SELECT COUNT(*) AS count FROM system:refused_writes",
];
// Values by name, each with its time; they are kept while another page is shown.
const samples = new Map();

export function mount(root, { signal }) {
  const parts = {
    warnings: h("div.warnings", { "aria-live": "polite" }), error: h("div"), span: h("span.muted"),
    charts: h("div.health-charts"), tiles: h("div.tiles", {}, loading()), counters: h("div.tiles", {}, loading()),
  };
  fill(root, heading("Health", parts.span), parts.error, parts.warnings, parts.charts,
    section("Store", parts.tiles), section("Statements and observers", parts.counters));
  sample(parts, signal);
  return () => {};
}

async function sample(parts, signal) {
  if (!document.hidden) await read(parts, signal);
  if (!signal.aborted) setTimeout(() => sample(parts, signal), SAMPLE_MILLISECONDS);
}

async function read(parts, signal) {
  try {
    const [health, metrics, sync, refused] = await Promise.all(
      STATEMENTS.map((statement) => rowsOf(statement, {}, { signal })));
    draw(parts, { health: derived(health), metrics, sync, refused: toNumber(refused[0]?.count) ?? 0 });
    fill(parts.error);
  } catch (error) {
    if (error.name !== "AbortError") fill(parts.error, errorNote(error));
  }
}

function draw(parts, state) {
  const now = Date.now();
  for (const row of [...state.health, ...state.metrics]) keep(row, now);
  const found = warningsOf(state, (name) => valuesOf(name));
  fill(parts.warnings, found.length === 0 ? h("p.note.good", {}, "No warnings.")
    : found.map(({ title, text }) => h("div.note.warn", {}, h("p.strong", {}, title), h("p", {}, text))));
  const charts = CHARTS.filter(({ names }) => samples.has(names[0]));
  fill(parts.charts, charts.map((one) => chart(one, chartWidth(parts.charts.clientWidth, charts.length))));
  fill(parts.tiles, state.health.length === 0 ? empty("No values") : state.health.map(tile));
  fill(parts.counters, state.metrics.map(tile));
  const longest = Math.max(0, ...[...samples.values()].map((values) => values.length));
  parts.span.textContent = `${counted(longest, "sample")}, one each second`;
}

function keep({ name, value }, now) {
  const number = toNumber(value);
  if (number === null) return;
  samples.set(name, [...(samples.get(name) ?? []), { x: now, y: number }].slice(-MAXIMUM_SAMPLES));
}

function valuesOf(name) {
  return (samples.get(name) ?? []).map(({ y }) => y);
}

/** The width of each chart: they stand beside each other where there is space. */
function chartWidth(space, count) {
  const columns = Math.max(1, Math.min(count, Math.floor((space + CHART_GAP) / (NARROWEST_CHART + CHART_GAP))));
  return (space - CHART_GAP * (columns - 1)) / columns - CARD_PADDING;
}

function chart({ title, names, text, base }, width) {
  const known = names.filter((name) => samples.has(name));
  const series = known.map((name) => ({ name: known.length > 1 ? nameOf(name) : "", points: samples.get(name) }));
  return section(title, lineChart(series, { isTime: true, width, height: CHART_HEIGHT, text, base }));
}

function tile({ name, value }) {
  const values = valuesOf(name);
  const changes = values.slice(1).map((number, index) => (number - values[index]) / (SAMPLE_MILLISECONDS / 1000));
  const isRate = isCounter(name);
  const rate = isRate && changes.length > 0 ? `${rateText(name, changes.at(-1))} per second` : " ";
  return h("div.tile", {},
    h("p.tile-name", { title: name }, nameOf(name)), h("p.tile-value", {}, textOf(name, value)),
    h("p.tile-rate.muted", {}, rate),
    values.length > 0 ? sparkline(isRate ? changes : values, nameOf(name)) : null);
}

function rateText(name, rate) {
  return /bytes|nanoseconds/.test(name) ? textOf(name, rate) : short(rate);
}
