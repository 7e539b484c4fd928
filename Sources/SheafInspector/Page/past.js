// A collection, or the result of a statement, as it was after a commit.

import { query, quoted, rowsOf } from "./api.js";
import { documentSource } from "./documents.js";
import { fill, h } from "./dom.js";
import { counted } from "./format.js";
import { empty, errorNote, field, idParameter, loading, loadingAfter } from "./parts.js";
import { tableView } from "./results.js";
import { go } from "./router.js";
import { virtualTable } from "./table.js";

// Strings and quoted names are matched first, so that FROM within them is left alone.
const SOURCES = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\b(?:FROM|JOIN)\s+(?:COLLECTION\s+)?(`(?:[^`]|``)*`|[\w:]+)(?:\s*\([^)]*\))?(?!\s+AS\s+OF\b)/gi;

/** Returns a statement whose collections are read as they were after a commit. */
export function asOf(statement, commit) {
  return statement.replace(SOURCES, (text, name) =>
    name === undefined || /^`?system:/i.test(name) ? text : `${text} AS OF COMMIT ${Number(commit)}`);
}

/** Shows the choice of a collection or statement, and its rows. */
export async function earlierState(node, commit, context) {
  if (!node.form) buildForm(node);
  const { collection, statement, result } = node.form;
  node.context = { ...context, commit };
  const { values, signal } = context;
  if (collection.options.length === 0) await readCollections(collection, signal, result);
  if (signal.aborted) return;
  if (document.activeElement !== statement) statement.value = values.get("statement") ?? "";
  const chosen = values.get("collection");
  if (chosen && [...collection.options].some((option) => option.value === chosen)) collection.value = chosen;
  if (statement.value.trim() !== "") return showStatement(result, statement.value, commit, signal);
  if (collection.value) await showRows(result, collection.value, commit, signal);
}

function buildForm(node) {
  const collection = h("select");
  const statement = h("input", { type: "text", placeholder: "or a SELECT, without AS OF", spellcheck: "false" });
  const result = h("div", {}, loading());
  node.form = { collection, statement, result };
  const choose = (changed) => {
    node.context.keep(changed);
    const values = new URLSearchParams(Object.entries({ ...Object.fromEntries(node.context.values), ...changed }));
    earlierState(node, node.context.commit, { ...node.context, values });
  };
  collection.addEventListener("change", () => { statement.value = ""; choose({ collection: collection.value, statement: "" }); });
  const submit = (event) => { event.preventDefault(); choose({ statement: statement.value }); };
  fill(node, h("form.bar", { onsubmit: submit }, field("collection", collection),
    h("div.grow", {}, field("statement", statement)), h("button", {}, "Show")), result);
}

async function readCollections(select, signal, result) {
  try {
    const rows = await rowsOf("SELECT name FROM system:collections ORDER BY name", {}, { signal, limit: 10000 });
    if (select.options.length === 0) fill(select, rows.map(({ name }) => h("option", { value: name }, name)));
    if (rows.length === 0) fill(result, empty("This store has no collections yet"));
  } catch (error) {
    if (error.name !== "AbortError") fill(result, errorNote(error));
  }
}

async function showStatement(node, statement, commit, signal) {
  const past = asOf(statement, commit);
  try {
    const answer = await loadingAfter(node, `Running on the state after commit ${commit}`, query(past, {}, { signal, limit: 10000 }));
    fill(node, h("pre.statement", {}, past), answer.rows.length > 0 ? tableView(answer, signal) : empty("No rows"));
  } catch (error) {
    if (error.name !== "AbortError") fill(node, errorNote(error, past));
  }
}

async function showRows(node, name, commit, signal) {
  const from = `FROM ${quoted(name)} AS OF COMMIT ${Number(commit)}`;
  try {
    const source = await loadingAfter(node, `Reading the state after commit ${commit}`, documentSource(from, signal));
    if (source.count === 0) return fill(node, empty(`${name} had no documents`, "Its first document was inserted by a later commit."));
    const open = (row) => go(["collections", name, idParameter(row._id)], { commit });
    const table = virtualTable(source, { label: `${name} after commit ${commit}`, open, signal });
    fill(node, h("p.muted.past-count", {}, counted(source.count, "document")), table);
  } catch (error) {
    if (error.name !== "AbortError") fill(node, errorNote(error));
  }
}
