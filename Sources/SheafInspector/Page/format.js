// Numbers, times and values as short texts.

import { stringify, toNumber, typeOf } from "./json.js";

const counts = new Intl.NumberFormat("en-US");

/** Returns a number with separators. */
export function count(value) {
  return value == null ? "–" : counts.format(typeof value === "bigint" ? value : Number(value));
}

/** Returns a count with its noun. */
export function counted(value, noun) {
  return `${count(value)} ${noun}${Number(value) === 1 ? "" : "s"}`;
}

/** Returns a size in bytes with three digits. */
export function bytes(value) {
  if (value == null) return "–";
  return scaled(Number(value), 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
}

/** Returns a duration in nanoseconds. */
export function nanoseconds(value) {
  if (value == null) return "–";
  return scaled(Number(value), 1000, ["ns", "µs", "ms", "s"]);
}

function scaled(number, step, units) {
  let unit = 0;
  while (Math.abs(number) >= step && unit < units.length - 1) {
    number /= step;
    unit += 1;
  }
  const digits = unit === 0 || Math.abs(number) >= 100 ? 0 : 1;
  return `${number.toFixed(digits)} ${units[unit]}`;
}

/** Returns a share as a percentage. */
export function percent(share) {
  if (share > 0 && share < 0.001) return "< 0.1 %";
  return `${(share * 100).toFixed(share > 0 && share < 0.1 ? 1 : 0)} %`;
}

/** Returns a number as short as a chart needs it. */
export function short(value) {
  const size = Math.abs(value);
  if (size >= 1e9) return `${trimmed(value / 1e9)}G`;
  if (size >= 1e6) return `${trimmed(value / 1e6)}M`;
  if (size >= 1e4) return `${trimmed(value / 1e3)}k`;
  return trimmed(value);
}

function trimmed(value) {
  return String(Number(value.toPrecision(3)));
}

/** Returns a time as a date, from milliseconds or a text. */
export function moment(value) {
  if (value == null) return null;
  const date = new Date(toNumber(value) ?? String(value));
  return Number.isNaN(date.getTime()) ? null : date;
}

/** Returns a time to the second, and the date if it is another day. */
export function time(value) {
  const date = moment(value);
  if (!date) return "–";
  const clock = date.toLocaleTimeString("en-GB");
  return date.toDateString() === new Date().toDateString() ? clock : `${isoDay(date)} ${clock}`;
}

/** Returns the complete time, for titles. */
export function fullTime(value) {
  return moment(value)?.toISOString() ?? "";
}

/** Returns the day of a time. */
export function day(value) {
  const date = moment(value);
  return date ? isoDay(date) : "–";
}

function isoDay(date) {
  const two = (number) => String(number).padStart(2, "0");
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** Returns how long ago a time was. */
export function ago(value) {
  const date = moment(value);
  if (!date) return "–";
  const seconds = Math.max(0, (Date.now() - date.getTime()) / 1000);
  if (seconds < 2) return "now";
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} d ago`;
}

/** Returns a value on one line, cut after `limit` characters. */
export function preview(value, limit = 160) {
  const type = typeOf(value);
  if (type === "missing") return "";
  if (type === "binary") return cut(`bytes ${value.$bytes}`, limit);
  if (type === "string") return cut(visible(value), limit);
  if (type === "object" || type === "array") return cut(visible(stringify(shallow(value))), limit);
  return String(value);
}

// A preview of a large object does not visit all of it.
function shallow(value) {
  if (Array.isArray(value)) return value.slice(0, 40);
  const part = Object.create(null);
  for (const name of Object.keys(value).slice(0, 40)) part[name] = value[name];
  return part;
}

/** Returns a text with control characters, and those that reverse a line, as escapes. */
export function visible(text) {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, (character) => {
    if (character === "\n") return "↵";
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

export function cut(text, limit) {
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

/** Returns the beginning of a key or site, which suffices to distinguish it from others. */
export function shortKey(key) {
  const text = String(key ?? "");
  return text.length > 12 ? `${text.slice(0, 8)}…` : text;
}

/** Returns an id as a statement would have it. */
export function idText(id) {
  return typeOf(id) === "string" ? id : stringify(id);
}
