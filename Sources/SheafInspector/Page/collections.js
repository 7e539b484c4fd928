// Collections: the list, one collection as a table, and one document beside it.

import { quoted, rowsOf } from "./api.js";
import { onCommit } from "./changes.js";
import { showDocument } from "./document.js";
import { countOf, documentSource } from "./documents.js";
import { fill, h, throttle } from "./dom.js";
import { bytes, count, counted } from "./format.js";
import { parseID, toNumber } from "./json.js";
import { empty, errorNote, field, heading, idParameter, loading, plainTable, sizeText } from "./parts.js";
import { address, go } from "./router.js";
import { virtualTable } from "./table.js";

const REFRESH_MILLISECONDS = 250;

export function mount(root, context) {
  let shown = null;
  return (route) => {
    const [name, id] = route.parts;
    const where = route.values.get("where") ?? "";
    const key = JSON.stringify([name, where]);
    if (shown?.key !== key) {
      shown?.stop.abort();
      shown = { key, stop: new AbortController() };
      context.signal.addEventListener("abort", () => shown.stop.abort());
      const part = { ...context, signal: shown.stop.signal };
      shown.show = name === undefined ? showList(root, part) : showCollection(root, part, name, where);
    }
    shown.show?.(id === undefined ? undefined : parseID(id), route.values);
  };
}

function showList(root, { signal, store }) {
  const body = h("div", {}, loading());
  const total = h("span.muted", { role: "status" });
  fill(root, heading("Collections", total), body);
  const read = async () => {
    try {
      const [collections, fields, indexes] = await Promise.all([
        rowsOf("SELECT * FROM system:collections ORDER BY name", {}, { signal, limit: 10000 }),
        rowsOf("SELECT collection, COUNT(*) AS n FROM system:fields GROUP BY collection", {}, { signal, limit: 10000 }),
        rowsOf("SELECT * FROM system:indexes", {}, { signal, limit: 10000 }),
      ]);
      total.textContent = collections.length > 0 ? totalText(collections) : "";
      fill(body, collections.length > 0 ? listTable(collections, fields, indexes) : noCollections(store));
    } catch (error) {
      if (error.name !== "AbortError") fill(body, errorNote(error));
    }
  };
  read();
  onCommit(signal, throttle(2000, read));
  return null;
}

function totalText(rows) {
  const sum = (name) => rows.reduce((total, row) => total + (toNumber(row[name]) ?? 0), 0);
  return `${counted(sum("documents"), "document")}, ${bytes(sum("bytes"))}`;
}

function noCollections({ isWritable }) {
  return empty("This store has no collections yet",
    isWritable ? "Insert a document on the page Query: INSERT INTO cars DOCUMENTS ({ 'color': 'blue' })"
      : "A collection exists once a document is in it.");
}

function listTable(collections, fields, indexes) {
  const largest = Math.max(1, ...collections.map((row) => toNumber(row.bytes) ?? 0));
  const fieldCount = (name) => fields.find((row) => row.collection === name)?.n ?? 0;
  const indexCount = (name) => indexes.filter((row) => row.collection === name).length;
  return plainTable([
    ["collection", ({ name }) => h("a.strong", { href: address(["collections", name]) }, name)],
    ["documents", (row) => count(row.documents), "number"],
    ["size", (row) => sizeText(row.bytes), "number"],
    ["share", (row) => meter((toNumber(row.bytes) ?? 0) / largest, "size compared with the largest collection"), "wide"],
    ["fields", (row) => count(fieldCount(row.name)), "number"],
    ["indexes", (row) => count(indexCount(row.name)), "number"],
  ], collections, "Collections");
}

function meter(share, title) {
  const fillNode = h("span.meter-fill", { style: { width: `${Math.max(0.5, share * 100)}%` } });
  return h("span.meter", { title }, fillNode);
}

function showCollection(root, context, name, where) {
  const table = h("div.table-part", {}, loading());
  const panel = h("aside.panel", { hidden: true, "aria-label": "Document" });
  const split = h("div.split", {}, table, panel);
  const total = h("span.muted");
  const title = h("h1", {}, h("a", { href: "#/collections" }, "Collections"), h("span.muted", {}, " / "), name);
  fill(root, h("div.heading", {}, title, total), findBar(name, where), fieldsPart(name, context), split);
  showTable(table, total, name, where, context);
  return (id, values) => {
    const isOpen = id !== undefined;
    const isClosing = !isOpen && !panel.hidden;
    panel.hidden = !isOpen;
    split.classList.toggle("open", isOpen);
    // The focus within the panel would be lost.
    if (isClosing) table.querySelector(".vtable")?.focus();
    const close = () => go(["collections", name], { where });
    if (isOpen) showDocument(panel, { ...context, collection: name, id, commit: values.get("commit"), close });
  };
}

function findBar(name, where) {
  const id = h("input", { type: "text", placeholder: "text or JSON", spellcheck: "false", autocapitalize: "off" });
  const condition = h("input", { type: "text", value: where, placeholder: "color = 'blue' AND mileage > 1000", spellcheck: "false", autocapitalize: "off" });
  const find = (event) => {
    event.preventDefault();
    if (id.value.trim() !== "") go(["collections", name, idParameter(parseID(id.value.trim()))], { where });
  };
  const filter = (event) => {
    event.preventDefault();
    go(["collections", name], { where: condition.value.trim() });
  };
  return h("div.bar", {},
    h("form.find", { onsubmit: find }, field("_id", id), h("button", {}, "Open")),
    h("form.filter", { onsubmit: filter }, field("condition", condition), h("button", {}, "Filter"),
      where && h("a.button.quiet", { href: address(["collections", name]) }, "Clear")));
}

/** Fields and indexes, read once they are opened: they read documents. */
function fieldsPart(name, { signal }) {
  const body = h("div.details-body", {}, loading());
  const read = async () => {
    try {
      const values = { name };
      const [fields, indexes] = await Promise.all([
        rowsOf("SELECT * FROM system:fields WHERE collection = :name", values, { signal, limit: 2000 }),
        rowsOf("SELECT * FROM system:indexes WHERE collection = :name", values, { signal }),
      ]);
      fill(body, fieldsTable(fields), indexList(indexes));
    } catch (error) {
      if (error.name !== "AbortError") fill(body, errorNote(error));
    }
  };
  return h("details.fields", { ontoggle: (event) => event.target.open && read() },
    h("summary", {}, "Fields and indexes"), body);
}

function fieldsTable(rows) {
  if (rows.length === 0) return empty("No fields", "The collection has no documents.");
  const largest = Math.max(...rows.map((row) => toNumber(row.count) ?? 0));
  return plainTable([
    ["field", (row) => h("code", {}, row.field)],
    ["types", (row) => Object.keys(row.types ?? {}).map((type) =>
      h("span.chip", { class: `type-${type}`, title: counted(row.types[type], "document") }, type))],
    ["frequency", (row) => [meter((toNumber(row.count) ?? 0) / largest), ` ${count(row.count)}`], "wide"],
  ], rows, "Fields, of up to 1,000 documents");
}

function indexList(rows) {
  if (rows.length === 0) return h("p.muted", {}, "No indexes.");
  return h("ul.indexes", {}, rows.map((row) => h("li", {},
    h("code", {}, String(row._id ?? "").split(".").pop()), h("span.muted", {}, " on "), indexFields(row.fields))));
}

function indexFields(fields) {
  return (fields ?? []).map((part) =>
    typeof part === "string" ? part : `${(part.key ?? []).join(".")}${part.direction === "desc" ? " DESC" : ""}`).join(", ");
}

/** Shows the documents, and again after each commit that changes some of them. */
function showTable(node, total, name, where, { signal }) {
  const from = `FROM ${quoted(name)}${where ? ` WHERE ${where}` : ""}`;
  const setTotal = (size) => (total.textContent = counted(size, where ? "matching document" : "document"));
  let table = null;
  const read = async () => {
    const source = await documentSource(from, signal);
    setTotal(source.count);
    if (source.count === 0) return fill(node, noRows(name, where));
    const open = (row) => go(["collections", name, idParameter(row._id)], { where });
    table = virtualTable(source, { label: `Documents of ${name}`, open, signal });
    fill(node, table);
  };
  const refresh = async () => {
    const size = await countOf(from, signal);
    setTotal(size);
    table.refresh({ count: size });
  };
  const update = throttle(REFRESH_MILLISECONDS, () => (table ? refresh() : read()).catch((error) => {
    if (error.name !== "AbortError") fill(node, errorNote(error, `SELECT COUNT(*) AS count ${from}`));
  }));
  update();
  onCommit(signal, (commit) => concerns(commit, name) && update());
}

function noRows(name, where) {
  return where ? empty("No document meets the condition", "A condition on a field that is absent is never true.")
    : empty(`There are no documents in ${name}`, "Documents appear here as soon as a commit inserts them.");
}

function concerns(commit, name) {
  return commit.isTruncated || (commit.changes ?? []).some((change) => change.collection === name);
}
