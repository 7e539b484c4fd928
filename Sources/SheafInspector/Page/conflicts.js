// The page Conflicts: fields with concurrent values of several sites.

import { query, quoted, rowsOf } from "./api.js";
import { onCommit } from "./changes.js";
import { fill, h, throttle, toast } from "./dom.js";
import { count, counted } from "./format.js";
import { stringify } from "./json.js";
import { agoText, documentLink, empty, errorNote, heading, loading, siteText, timeText, valueText } from "./parts.js";

const MAXIMUM = 200;
// After a commit with more documents, all conflicts are read again.
const MAXIMUM_REREAD = 20;
const READ_AGAIN_MILLISECONDS = 300;
const READ_ALL_MILLISECONDS = 10_000;

export function mount(root, context) {
  const page = new ConflictsPage(root, context);
  page.readAll();
  return () => {};
}

class ConflictsPage {
  /** The conflicts by id. */
  rows = new Map();
  /** The documents that commits changed since they were read, by collection and id. */
  changed = new Map();

  constructor(root, context) {
    this.context = context;
    this.total = h("span.muted", { role: "status" });
    this.body = h("div.stack", {}, loading("Reading all documents"));
    fill(root, heading("Conflicts", this.total), this.body);
    // All documents have to be read to find all conflicts, so only the changed ones are read again.
    const readChanged = throttle(READ_AGAIN_MILLISECONDS, () => this.readChanged());
    const readAll = throttle(READ_ALL_MILLISECONDS, () => this.readAll());
    onCommit(context.signal, ({ changes = [], isTruncated }) => {
      if (isTruncated || changes.length > MAXIMUM_REREAD) return readAll();
      for (const change of changes) this.changed.set(stringify([change.collection, change.document]), change);
      readChanged();
    });
  }

  async readAll() {
    await this.read(`SELECT * FROM system:conflicts LIMIT ${MAXIMUM}`, {}, () => this.rows.clear());
  }

  async readChanged() {
    const changes = [...this.changed.values()];
    this.changed.clear();
    for (const { collection, document } of changes) {
      await this.read("SELECT * FROM system:conflicts WHERE collection = :collection AND document = :document",
        { collection, document }, () => this.forget(collection, document));
    }
  }

  /** Reads conflicts; `forget` removes the former ones, which they replace. */
  async read(statement, values, forget) {
    try {
      const rows = await rowsOf(statement, values, { signal: this.context.signal });
      forget();
      for (const row of rows) this.rows.set(String(row._id), row);
      this.draw();
    } catch (error) {
      if (error.name !== "AbortError") fill(this.body, errorNote(error));
    }
  }

  forget(collection, document) {
    const key = stringify([collection, document]);
    for (const [id, row] of this.rows) if (stringify([row.collection, row.document]) === key) this.rows.delete(id);
  }

  /** Draws the conflicts; a card that has not changed keeps its node, and so the focus. */
  draw() {
    const rows = [...this.rows.values()];
    this.total.textContent = rows.length === 0 ? "" : `${rows.length >= MAXIMUM ? "the first " : ""}${counted(rows.length, "conflict")}`;
    if (rows.length === 0) return fill(this.body, empty("No conflicts", "No field has values that two sites wrote without seeing the value of the other."));
    const old = new Map([...this.body.querySelectorAll("article")].map((node) => [node.dataset.key, node]));
    const cards = rows.map((row) => old.get(stringify(row)) ?? this.card(row));
    const access = this.context.store.isWritable ? "" : " This inspector is read-only: sheaf inspect --write starts one that can keep a value.";
    const hint = h("p.muted", {}, "All peers show the latest value. Keeping a value writes it again, which replaces all of them.", access);
    fill(this.body, hint, h("div.conflicts", {}, cards));
  }

  card(row) {
    const message = h("div");
    const sides = (row.values ?? []).map((entry) => this.side(row, entry, message));
    return h("article.card.conflict", { "data-key": stringify(row) },
      h("h2", {}, documentLink(row.collection, row.document), h("span.muted", {}, " · "), h("code", {}, row.field)),
      h("p.muted", {}, writers(row)), h("div.sides", {}, sides), message);
  }

  side(row, entry, message) {
    const keep = async (event) => {
      event.target.disabled = true;
      try {
        const answer = await query(statementFor(row), { value: entry.value, id: row.document });
        toast(`${row.field} of ${row.collection}: kept, commit ${count(answer.commit)}`);
        this.changed.set(stringify([row.collection, row.document]), row);
        await this.readChanged();
      } catch (error) {
        fill(message, errorNote(error, statementFor(row)));
        event.target.disabled = false;
      }
    };
    return h("div.side-value", { class: entry.isShown ? "shown" : "" },
      h("div.side-head", {}, siteText(entry.site), entry.isShown && h("span.chip.good", {}, "shown")),
      h("p.side-text", {}, valueText(entry.value, 2000)),
      h("p.muted", {}, timeText(entry.time), " · ", agoText(entry.time)),
      this.context.store.isWritable
        ? h("button", { type: "button", onclick: keep, title: statementFor(row) }, "Keep this value")
        : null);
  }
}

/** The sites of the values, as a sentence. */
function writers({ values = [] }) {
  const names = values.flatMap(({ site }, index) => [index === 0 ? null : index === values.length - 1 ? " and " : ", ", siteText(site)]);
  return [...names, values.length === 2 ? " wrote without seeing the value of the other." : " wrote without seeing the values of the others."];
}

// The field is a path as statements spell it.
function statementFor({ collection, field }) {
  return `UPDATE ${quoted(collection)} SET ${field} = :value WHERE _id = :id`;
}
