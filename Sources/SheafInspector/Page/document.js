// One document: its fields as a tree, the commit of each field, and its history.

import { quoted, rowsOf } from "./api.js";
import { onCommit } from "./changes.js";
import { fill, h, throttle, toast } from "./dom.js";
import { count, idText, preview, time } from "./format.js";
import { isEqual, stringify, toNumber } from "./json.js";
import { pathParts } from "./api.js";
import { agoText, commitLink, empty, errorNote, idParameter, loading, siteText } from "./parts.js";
import { address } from "./router.js";
import { tabRow } from "./tabs.js";
import { valueTree } from "./tree.js";

const HISTORY_ROWS = 500;

/** Shows a document in a panel, and again after each commit that changes it. */
export function showDocument(panel, context) {
  panel.stop?.abort();
  const stop = new AbortController();
  panel.stop = stop;
  context.signal.addEventListener("abort", () => stop.abort());
  const part = { ...context, signal: stop.signal };
  const body = h("div.panel-body", {}, loading());
  fill(panel, panelHead(part), body);
  panel.onkeydown = (event) => {
    if (event.key !== "Escape") return;
    event.preventDefault();
    context.close();
  };
  const read = () => readDocument(body, part);
  read();
  const refresh = throttle(150, read);
  if (!context.commit) onCommit(stop.signal, (commit) => changes(commit, context) && refresh());
}

function changes(commit, { collection, id }) {
  return commit.isTruncated || (commit.changes ?? []).some((change) =>
    change.collection === collection && isEqual(change.document, id));
}

function panelHead({ collection, id, commit, close, store }) {
  return h("div.panel-head", {},
    h("div", {},
      h("h2", { title: idText(id) }, preview(idText(id), 80)),
      h("p.muted", {}, `in ${collection}`, commit && `, as it was after commit ${commit}`)),
    h("div.controls", {},
      commit && h("a.button.quiet", { href: address(["collections", collection, idParameter(id)]) }, "Newest"),
      store.hasPeer && h("a.button", { href: address(["mesh"], { collection, id: stringify(id) }) }, "On which peers?"),
      h("button.quiet", { type: "button", onclick: close, "aria-label": "Close" }, "✕")));
}

async function readDocument(body, { collection, id, commit, signal }) {
  const asOf = commit ? ` AS OF COMMIT ${Number(commit)}` : "";
  const bound = commit ? ` AND commit <= ${Number(commit)}` : "";
  try {
    const [documents, history] = await Promise.all([
      rowsOf(`SELECT * FROM ${quoted(collection)}${asOf} WHERE _id = :id`, { id }, { signal }),
      rowsOf(`SELECT * FROM system:history WHERE collection = :collection AND document = :id${bound}`
        + ` ORDER BY commit DESC LIMIT ${HISTORY_ROWS}`, { collection, id }, { signal }).catch(ignoreRefusal),
    ]);
    fill(body, documents.length > 0 ? documentTabs(body, documents[0], history, { collection, id })
      : [absent(history), historyList(history, { collection, id })]);
  } catch (error) {
    if (error.name !== "AbortError") fill(body, errorNote(error));
  }
}

// The document is shown even if its history cannot be read.
function ignoreRefusal(error) {
  if (error.name === "AbortError") throw error;
  return [];
}

function absent(history) {
  const last = history[0];
  if (!last) return empty("There is no such document", "Check the type of the _id: 7 is an integer, and \"7\" a string.");
  return empty("The document is not in the store",
    `Its last change is the action ${last.action} in commit ${count(last.commit)}.`);
}

function documentTabs(body, document, history, key) {
  const part = h("div", {});
  const views = {
    Fields: () => valueTree(document, { label: "Fields", note: history.length > 0 ? (path) => blameText(path, history) : null }),
    JSON: () => jsonView(document),
    History: () => historyList(history, key),
  };
  // A refresh keeps the chosen tab.
  const chosen = body.chosen ?? "Fields";
  const choose = (name) => {
    body.chosen = name;
    fill(part, views[name]());
  };
  const row = tabRow("Views of the document", Object.keys(views), chosen, choose);
  fill(part, views[chosen]());
  return [row, part];
}

/** The commit that wrote the value of a field, or a part of it. */
function blameText(path, history) {
  const rows = history.filter((entry) => (entry.fields ?? []).some((name) => covers(pathParts(String(name)), path)));
  // A later commit may have received an earlier write, whose value is not shown.
  const row = rows.reduce((latest, entry) => (latest && toNumber(latest.writtenAt) >= toNumber(entry.writtenAt) ? latest : entry), null);
  if (!row) return h("span.blame.muted", {}, "");
  return h("a.blame", {
    href: address(["time", String(row.commit)]), tabindex: "-1",
    title: `written by commit ${count(row.commit)} at ${time(row.time)}`,
  }, h("span", {}, count(row.commit)), siteText(row.site));
}

// A change of a.b concerns the rows a, a.b and a.b.c.
function covers(changed, path) {
  const length = Math.min(changed.length, path.length);
  return changed.slice(0, length).every((name, index) => name === path[index]);
}

function jsonView(document) {
  const text = stringify(document, 2);
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    toast("copied");
  };
  return h("div.json", {},
    h("button.quiet.copy", { type: "button", onclick: copy }, "Copy"),
    h("pre", { tabindex: "0" }, text.length > 200000 ? `${text.slice(0, 200000)}…` : text));
}

function historyList(history, { collection, id }) {
  if (history.length === 0) return empty("No history", "The log has no commit of this document any more.");
  return h("ol.history", {}, history.map((row) => h("li", {},
    h("div", {}, commitLink(row.commit), " ", h("span.chip", {}, row.action), " ", agoText(row.time)),
    h("div.muted", {}, siteText(row.site), " ", (row.fields ?? []).join(", ")),
    h("a.button.quiet", { href: address(["collections", collection, idParameter(id)], { commit: row.commit }) }, "As it was"))));
}
