// The page Conflicts: values that sites wrote without knowing of each other.

import { query, quoted, quotedPath, rowsOf } from "./api.js";
import { onCommit } from "./changes.js";
import { fill, h, throttle, toast } from "./dom.js";
import { count, counted } from "./format.js";
import { stringify } from "./json.js";
import { agoText, documentLink, empty, errorNote, heading, loading, siteText, timeText, valueText } from "./parts.js";

const MAXIMUM = 200;

export function mount(root, context) {
  const total = h("span.muted", { role: "status" });
  const body = h("div.stack", {}, loading());
  fill(root, heading("Conflicts", total), body);
  const read = async () => {
    try {
      const rows = await rowsOf(`SELECT * FROM system:conflicts LIMIT ${MAXIMUM}`, {}, { signal: context.signal });
      total.textContent = rows.length === 0 ? "" : `${rows.length === MAXIMUM ? "the first " : ""}${counted(rows.length, "conflict")}`;
      update(body, rows, context, read);
    } catch (error) {
      if (error.name !== "AbortError") fill(body, errorNote(error));
    }
  };
  read();
  onCommit(context.signal, throttle(300, read));
  return () => {};
}

/** Draws the conflicts; a card that has not changed keeps its node, and so the focus. */
function update(body, rows, context, read) {
  if (rows.length === 0) return fill(body, empty("No conflicts", "No field has values that two sites wrote concurrently."));
  const old = new Map([...body.querySelectorAll("article")].map((node) => [node.dataset.key, node]));
  const cards = rows.map((row) => old.get(stringify(row)) ?? card(row, context, read));
  const access = context.store.isWritable ? "" : " This inspector is read-only: sheaf inspect --write starts one that can keep a value.";
  const hint = h("p.muted", {}, "All peers show the value with the latest time. Keeping a value writes it once more, in one commit.", access);
  fill(body, hint, h("div.conflicts", {}, cards));
}

function card(row, context, read) {
  const message = h("div");
  const values = (row.values ?? []).map((entry) => valueCard(row, entry, context, { message, read }));
  return h("article.card.conflict", { "data-key": stringify(row) },
    h("h2", {}, documentLink(row.collection, row.document), h("span.muted", {}, " · "), h("code", {}, row.field)),
    h("div.sides", {}, values), message);
}

function valueCard(row, entry, { store }, { message, read }) {
  const keep = async (event) => {
    event.target.disabled = true;
    try {
      const answer = await query(statementFor(row), { value: entry.value, id: row.document });
      toast(`${row.field} of ${row.collection}: kept, commit ${count(answer.commit)}`);
      await read();
    } catch (error) {
      fill(message, errorNote(error, statementFor(row)));
      event.target.disabled = false;
    }
  };
  return h("div.side-value", { class: entry.isShown ? "shown" : "" },
    h("div.side-head", {}, siteText(entry.site), entry.isShown && h("span.chip.good", {}, "shown")),
    h("p.side-text", {}, entry.value === undefined ? h("span.muted", {}, "removed") : valueText(entry.value, 2000)),
    h("p.muted", {}, timeText(entry.time), " · ", agoText(entry.time)),
    store.isWritable && entry.value !== undefined
      ? h("button", { type: "button", onclick: keep, title: statementFor(row) }, "Keep this value")
      : null);
}

function statementFor({ collection, field }) {
  return `UPDATE ${quoted(collection)} SET ${quotedPath(field)} = :value WHERE _id = :id`;
}
