// The numbers of system:health and system:metrics: their names for readers, and their units.

import { bytes, count, nanoseconds, percent, short } from "./format.js";
import { stringify, toNumber } from "./json.js";

const NAMES = {
  commit: "newest commit", oldest_state: "oldest kept state", log_files: "files of the log",
  base_files: "compacted files", log_bytes: "log", live_bytes: "live part of the log", live_share: "live share",
  keys: "keys", tree_entries: "entries of the tree", process_memory_bytes: "memory of the process",
  flushes: "flushes", flush_bytes: "flushed", flush_nanoseconds: "time in flushes",
  flush_last_nanoseconds: "last flush", flush_longest_nanoseconds: "longest flush", is_writable: "writable",
  requests: "statements", requests_active: "running statements", requests_failed: "failed statements",
  request_nanoseconds: "time in statements", rows_returned: "rows returned", statements_parsed: "statements parsed",
  observers_failed: "failed observers", documents_mutated: "documents changed",
};

// These only grow, so their change per second is of interest.
const COUNTERS = new Set([
  "commit", "flushes", "flush_bytes", "flush_nanoseconds", "requests", "requests_failed", "request_nanoseconds",
  "rows_returned", "statements_parsed", "observers_failed", "documents_mutated",
]);

/** The charts, each of measures with the same unit. */
export const CHARTS = [
  { title: "Log", names: ["log_bytes", "live_bytes"], text: bytes, base: 1024 },
  { title: "Flushes", names: ["flush_last_nanoseconds", "flush_longest_nanoseconds"], text: nanoseconds },
  { title: "Memory", names: ["process_memory_bytes"], text: bytes, base: 1024 },
];

/** Adds the measures that are computed from others. */
export function derived(rows) {
  const values = new Map(rows.map(({ name, value }) => [name, toNumber(value)]));
  const [live, log] = [values.get("live_bytes"), values.get("log_bytes")];
  if (live == null || !(log > 0)) return rows;
  const at = rows.findIndex(({ name }) => name === "live_bytes") + 1;
  return rows.toSpliced(at, 0, { name: "live_share", value: Math.min(1, live / log) });
}

/** Whether a measure only grows. */
export function isCounter(name) {
  return COUNTERS.has(name);
}

/** The name of a measure for readers. */
export function nameOf(name) {
  return NAMES[name] ?? String(name).replaceAll("_", " ").replace(/ (bytes|nanoseconds)$/, "");
}

/** The value of a measure in the unit that its name ends with. */
export function textOf(name, value) {
  const number = toNumber(value);
  if (number === null) return typeof value === "string" ? value : stringify(value ?? null);
  if (name.endsWith("bytes")) return bytes(number);
  if (name.endsWith("nanoseconds")) return nanoseconds(number);
  if (name.endsWith("share")) return percent(number);
  if (name.startsWith("is_")) return number === 0 ? "no" : "yes";
  return Number.isInteger(number) ? count(value) : short(number);
}
