// Small parts that several pages show.

import { deviceOfPeer, deviceOfSite } from "./devices.js";
import { fill, h } from "./dom.js";
import { ago, bytes, count, cut, fullTime, idText, preview, shortKey, time } from "./format.js";
import { stringify, typeOf } from "./json.js";
import { address } from "./router.js";

const INITIAL = "imported, or inserted as an initial document: any other write replaces the values";
// A result that takes less time replaces the former one without a loading text in between.
const SHORT_MILLISECONDS = 250;

/** The heading of a page, with controls on its right. */
export function heading(title, ...controls) {
  return h("div.heading", {}, h("h1", {}, title), h("div.controls", {}, controls));
}

/** A section with a heading. */
export function section(title, ...children) {
  return h("section.card", {}, title && h("h2", {}, title), children);
}

/** A text in place of data that does not exist. */
export function empty(title, text) {
  return h("div.empty", {}, h("p.strong", {}, title), text && h("p", {}, text));
}

/** A text shown while data is loaded. */
export function loading(text = "Loading") {
  return h("p.loading", { role: "status" }, text);
}

/** Waits for a promise; if it takes long, the node shows `text` instead of its former contents. */
export async function loadingAfter(node, text, promise) {
  const timer = setTimeout(() => fill(node, loading(text)), SHORT_MILLISECONDS);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
  }
}

/** The message and hint of an error; with a statement, also its position. */
export function errorNote(error, statement) {
  return h("div.error", { role: "alert" },
    h("p.strong", {}, sentence(error.message)),
    statement && error.line && caret(error, statement),
    error.hint && h("p", {}, sentence(error.hint)));
}

/** A text of the store, which begins in lower case as in a terminal, as a sentence. */
export function sentence(text) {
  const line = String(text);
  return line.charAt(0).toUpperCase() + line.slice(1);
}

/** The line of an error with a mark beneath its part. */
function caret({ line, column, length }, statement) {
  const text = statement.split("\n")[line - 1] ?? "";
  const start = Math.max(0, column - 1 - 60);
  const before = [...text].slice(start, column - 1).join("");
  const part = [...text].slice(column - 1, column - 1 + (length || 1)).join("") || " ";
  const after = [...text].slice(column - 1 + (length || 1)).join("").slice(0, 60);
  return h("pre.caret", {}, before, h("mark", {}, part), after, "\n",
    " ".repeat(before.length), "^".repeat(Math.max(1, part.length)), `  line ${line}, column ${column}`);
}

/** A value on one line, colored by its type. */
export function valueText(value, limit) {
  const type = typeOf(value);
  return h("span.value", { class: `type-${type}`, title: type }, preview(value, limit));
}

/** The device that wrote a change, or else its site, with a color that is the same everywhere. */
export function siteText(site) {
  if (site == null) return h("span.muted", {}, "–");
  if (site === "initial") return h("span.muted", { title: INITIAL }, "initial");
  const name = deviceOfSite(site);
  return h("span.site", { title: name === undefined ? `site ${site}` : `${name}, site ${site}` },
    h("span.swatch", { class: `hue-${hueOf(String(site))}` }), name === undefined ? shortKey(site) : cut(name, 24));
}

/** The name of the device of a peer, or else its key. */
export function peerText(key) {
  const name = deviceOfPeer(key);
  return name === undefined ? h("code", { title: String(key) }, shortKey(key)) : h("span", { title: String(key) }, cut(name, 32));
}

const HUES = 8;
const hues = new Map();

/** One of eight colors for a text; the first eight texts have different ones. */
function hueOf(text) {
  if (hues.has(text)) return hues.get(text);
  let hue = [...text].reduce((sum, character) => (sum * 31 + character.codePointAt(0)) >>> 0, 7) % HUES;
  const used = new Set(hues.values());
  while (used.size < HUES && used.has(hue)) hue = (hue + 1) % HUES;
  hues.set(text, hue);
  return hue;
}

export function commitLink(commit) {
  return h("a", { href: address(["time", String(commit)]) }, `commit ${count(commit)}`);
}

export function timeText(value) {
  return h("time", { title: fullTime(value) }, time(value));
}

export function agoText(value) {
  return h("time.muted", { title: fullTime(value) }, ago(value));
}

export function documentLink(collection, id, values) {
  const route = address(["collections", collection, idParameter(id)], values);
  return h("a.id", { href: route }, `${collection} / ${preview(idText(id), 48)}`);
}

/** An id in the path of a route. */
export function idParameter(id) {
  return stringify(id);
}

/** A table of plain rows: `columns` are `[title, cell, kind]`. */
export function plainTable(columns, rows, label) {
  return h("div.scroll", { tabindex: "0", role: "region", "aria-label": label },
    h("table", {},
      h("thead", {}, h("tr", {}, columns.map(([title, , kind]) => h("th", { scope: "col", class: kind ?? "" }, title)))),
      h("tbody", {}, rows.map((row) =>
        h("tr", {}, columns.map(([, cell, kind]) => h("td", { class: kind ?? "" }, cell(row))))))));
}

/** A number with its name. */
export function fact(name, value, title) {
  return h("div.fact", { title }, h("dt", {}, name), h("dd", {}, value));
}

export function sizeText(value) {
  return h("span", { title: value == null ? "" : `${count(value)} bytes` }, bytes(value));
}

/** A labeled input or select. */
export function field(label, input) {
  return h("label.field", {}, h("span", {}, label), input);
}
