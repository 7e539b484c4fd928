// The documents that a commit changed, each with its fields before and after.

import { quoted, rowsOf } from "./api.js";
import { fill, h } from "./dom.js";
import { count, idText, preview } from "./format.js";
import { isEqual } from "./json.js";
import { empty, errorNote, idParameter, loading, valueText } from "./parts.js";
import { address } from "./router.js";

const MAXIMUM_ROWS = 200;

/** Lists the changes of a commit. */
export async function commitChanges(node, commit, { signal }) {
  try {
    const rows = await rowsOf(
      `SELECT * FROM system:history WHERE commit = ${Number(commit)} LIMIT ${MAXIMUM_ROWS}`, {}, { signal });
    fill(node, rows.length > 0 ? changeList(rows, signal)
      : empty("No documents changed", "The commit changed the catalog or metadata, or compaction has removed its changes."));
  } catch (error) {
    if (error.name !== "AbortError") fill(node, errorNote(error));
  }
}

function changeList(rows, signal) {
  return [h("ul.changes", {}, rows.map((row) => changeItem(row, signal))),
    rows.length === MAXIMUM_ROWS && h("p.muted", {}, `the first ${count(MAXIMUM_ROWS)} documents`)];
}

function changeItem(row, signal) {
  const detail = h("div.details-body", {}, loading());
  const open = async (event) => {
    if (event.target.open) fill(detail, await difference(row, signal));
  };
  return h("li", {}, h("details", { ontoggle: open },
    h("summary", {},
      h("span.chip", { class: `action-${row.action}` }, row.action), " ",
      h("span.id", {}, `${row.collection} / ${preview(idText(row.document), 60)}`), " ",
      h("span.muted", {}, (row.fields ?? []).join(", "))),
    detail));
}

async function difference({ collection, document, commit }, signal) {
  const read = (number) => rowsOf(
    `SELECT * FROM ${quoted(collection)} AS OF COMMIT ${number} WHERE _id = :id`, { id: document }, { signal });
  const link = h("a", { href: address(["collections", collection, idParameter(document)], { commit }) }, "The document after this commit");
  try {
    const [[before], [after]] = await Promise.all([read(Math.max(0, Number(commit) - 1)), read(Number(commit))]);
    return [differenceTable(before, after), link];
  } catch (error) {
    return error.name === "AbortError" ? null : [errorNote(error), link];
  }
}

function differenceTable(before, after) {
  const names = [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])]
    .filter((name) => !isEqual(before?.[name], after?.[name]));
  if (names.length === 0) return h("p.muted", {}, "The values are the same before and after.");
  return h("table.difference", {},
    h("thead", {}, h("tr", {}, ["field", "before", "after"].map((title) => h("th", { scope: "col" }, title)))),
    h("tbody", {}, names.map((name) => h("tr", {},
      h("th", { scope: "row" }, name), h("td.before", {}, cell(before?.[name])), h("td.after", {}, cell(after?.[name]))))));
}

function cell(value) {
  return value === undefined ? h("span.muted", {}, "missing") : valueText(value, 300);
}
