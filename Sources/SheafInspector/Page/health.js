// The page Health: sizes, times and counters, sampled while the page is open, and warnings.

import { rowsOf } from "./api.js";
import { sparkline } from "./chart.js";
import { fill, h } from "./dom.js";
import { bytes, count, counted, nanoseconds, percent, short } from "./format.js";
import { stringify, toNumber } from "./json.js";
import { empty, errorNote, heading, loading, section } from "./parts.js";
import { warningsOf } from "./warnings.js";

const SAMPLE_MILLISECONDS = 1000;
const MAXIMUM_SAMPLES = 150;
// Samples outlive a visit of another page.
const samples = new Map();

export function mount(root, { signal }) {
  const warnings = h("div.warnings", { "aria-live": "polite" });
  const health = h("div.tiles", {}, loading());
  const metrics = h("div.tiles", {}, loading());
  const error = h("div");
  const span = h("span.muted");
  fill(root, heading("Health", span), error, warnings, section("Store", health), section("Counters", metrics));
  sample({ warnings, health, metrics, error, span }, signal);
  return () => {};
}

async function sample(parts, signal) {
  if (!document.hidden) await read(parts, signal);
  if (!signal.aborted) setTimeout(() => sample(parts, signal), SAMPLE_MILLISECONDS);
}

async function read(parts, signal) {
  try {
    const [health, metrics, sync, refused] = await Promise.all([
      "SELECT * FROM system:health", "SELECT * FROM system:metrics", "SELECT * FROM system:data_sync_info",
      "SELECT COUNT(*) AS count FROM system:refused_writes",
    ].map((statement) => rowsOf(statement, {}, { signal })));
    draw(parts, { health, metrics, sync, refused: toNumber(refused[0]?.count) ?? 0 });
    fill(parts.error);
  } catch (error) {
    if (error.name !== "AbortError") fill(parts.error, errorNote(error));
  }
}

function draw(parts, state) {
  for (const row of [...state.health, ...state.metrics]) keep(row);
  const found = warningsOf(state, samples);
  fill(parts.warnings, found.length === 0 ? h("p.note.good", {}, "No warnings.")
    : found.map(({ title, text }) => h("div.note.warn", {}, h("p.strong", {}, title), h("p", {}, text))));
  fill(parts.health, state.health.length === 0 ? empty("No values") : state.health.map((row) => tile(row, false)));
  fill(parts.metrics, state.metrics.map((row) => tile(row, true)));
  const longest = Math.max(0, ...[...samples.values()].map((values) => values.length));
  parts.span.textContent = `${counted(longest, "sample")}, one each second`;
}

function keep({ name, value }) {
  const number = toNumber(value);
  if (number === null) return;
  samples.set(name, [...(samples.get(name) ?? []), number].slice(-MAXIMUM_SAMPLES));
}

function tile({ name, value, description }, isCounter) {
  const values = samples.get(name) ?? [];
  const isRate = isCounter && !name.endsWith("_active");
  const rate = isRate && values.length > 1 ? (values.at(-1) - values.at(-2)) / (SAMPLE_MILLISECONDS / 1000) : null;
  const shown = isRate ? values.slice(1).map((number, index) => (number - values[index]) / (SAMPLE_MILLISECONDS / 1000)) : values;
  return h("div.tile", { title: description ?? "" },
    h("p.tile-name", {}, words(name)), h("p.tile-value", {}, valueIn(name, value)),
    h("p.tile-rate.muted", {}, rate === null ? " " : `${rateIn(name, rate)} per s`),
    values.length > 0 ? sparkline(shown, words(name)) : null);
}

function words(name) {
  const text = String(name).replaceAll("_", " ").replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  // The value has the unit.
  return text.replace(/(.) (bytes|(micro|nano|milli)?seconds)$/, "$1");
}

/** A value in the unit that its name ends with. */
function valueIn(name, value) {
  const number = toNumber(value);
  if (number === null) return typeof value === "string" ? value : stringify(value ?? null);
  const key = name.toLowerCase();
  if (/byte|memory|size/.test(key)) return bytes(number);
  if (/nanosecond/.test(key)) return nanoseconds(number);
  if (/microsecond/.test(key)) return nanoseconds(number * 1e3);
  if (/millisecond/.test(key)) return nanoseconds(number * 1e6);
  if (/second/.test(key)) return nanoseconds(number * 1e9);
  if (/share|ratio/.test(key)) return percent(number);
  return Number.isInteger(number) ? count(value) : short(number);
}

function rateIn(name, rate) {
  return /nanosecond/.test(name) ? nanoseconds(rate) : short(rate);
}
