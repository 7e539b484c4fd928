// The page Activity: observers, running statements, replication, and the commits as they happen.

import { rowsOf } from "./api.js";
import { listen } from "./changes.js";
import { fill, h } from "./dom.js";
import { count, cut, nanoseconds } from "./format.js";
import { toNumber } from "./json.js";
import { agoText, commitLink, documentLink, empty, errorNote, heading, loading, peerText, plainTable, section, siteText, timeText } from "./parts.js";
import { address } from "./router.js";

const POLL_MILLISECONDS = 1500;
const SHOWN_COMMITS = 100;
const SHOWN_CHANGES = 8;

const KINDS = {
  incremental: "updated from the changed documents", run: "the statement ran again",
};

export function mount(root, context) {
  const stream = commitStream(context);
  const parts = [
    { title: "Observers", statement: "SELECT * FROM system:observers ORDER BY microseconds DESC", draw: observerTable },
    { title: "Subscriptions", statement: "SELECT * FROM system:subscriptions", draw: subscriptionTable },
    { title: "Running statements", statement: "SELECT * FROM system:active_requests", draw: requestTable },
    { title: "Replication", statement: "SELECT * FROM system:data_sync_info", draw: syncTable },
    { title: "Refused writes", statement: "SELECT * FROM system:refused_writes", draw: refusedTable },
  ].map((part) => ({ ...part, body: h("div.fixed-part", {}, loading()) }));
  fill(root, heading("Activity"), h("div.columns.activity-columns", {},
    h("div.stack", {}, parts.map(({ title, body }) => section(title, body))), stream));
  poll(parts, context.signal);
  return () => {};
}

async function poll(parts, signal) {
  if (!document.hidden) await Promise.all(parts.map((part) => readPart(part, signal)));
  if (!signal.aborted) setTimeout(() => poll(parts, signal), POLL_MILLISECONDS);
}

async function readPart(part, signal) {
  try {
    const rows = await rowsOf(part.statement, {}, { signal });
    fill(part.body, part.draw(rows));
  } catch (error) {
    if (error.name !== "AbortError") fill(part.body, errorNote(error));
  }
}

function statementLink(text) {
  return h("a.statement-link", { href: address(["query"], { statement: text }), title: text }, cut(String(text), 120));
}

function observerTable(rows) {
  if (rows.length === 0) return empty("No observers", "The observers of the inspected process are listed here, with the time that each of them takes.");
  const time = (microseconds) => nanoseconds(microseconds == null ? null : toNumber(microseconds) * 1000);
  return plainTable([
    ["statement", (row) => [statementLink(row.statement), row.error && h("p.failure", {}, row.error)]],
    ["last result", (row) => h("span.chip", { class: row.kind === "incremental" ? "good" : "", title: KINDS[row.kind] }, row.kind)],
    ["runs", (row) => count(row.runs), "number"], ["updates", (row) => count(row.updates), "number"],
    ["last", (row) => time(row.lastMicroseconds), "number"], ["total", (row) => time(row.microseconds), "number"],
    ["rows", (row) => count(row.rows), "number"],
  ], rows, "Observers");
}

function subscriptionTable(rows) {
  if (rows.length === 0) return empty("No subscriptions", "The peer of the inspected process receives no documents.");
  return plainTable([["statement", (row) => statementLink(row.statement)]], rows, "Subscriptions");
}

function requestTable(rows) {
  // The statement that reads this list is in it as well.
  const others = rows.filter((row) => !String(row.text).includes("system:active_requests"));
  if (others.length === 0) return empty("No running statements");
  return plainTable([
    ["statement", (row) => statementLink(row.text)], ["state", (row) => row.state],
    ["time", (row) => nanoseconds(row.elapsedNanoseconds), "number"], ["rows", (row) => count(row.resultCount), "number"],
  ], others, "Running statements");
}

function syncTable(rows) {
  if (rows.length === 0) return empty("No peers", "No peer was connected since the store was opened.");
  const part = (row) => row.documents ?? {};
  return plainTable([
    ["peer", (row) => peerText(row._id)],
    ["state", (row) => h("span.chip", { class: part(row).sync_session_status === "Connected" ? "good" : "", title: part(row).last_close_reason }, part(row).sync_session_status ?? "–")],
    ["confirmed", (row) => count(part(row).synced_up_to_local_commit_id), "number"],
    ["delivered", (row) => count(part(row).delivered_up_to_local_commit_id), "number"],
    ["last change", (row) => agoText(part(row).last_update_received_time)],
  ], rows, "Replication");
}

function refusedTable(rows) {
  if (rows.length === 0) return empty("No refused writes");
  return plainTable([
    ["document", (row) => documentLink(row.collection, row.document_id)], ["peer", (row) => peerText(row.peer)],
    ["reason", (row) => h("span", { title: row.message }, row.reason)], ["time", (row) => agoText(row.refused_at)],
  ], rows, "Refused writes");
}

/** The commits as they happen; a pause keeps the count of those that arrive meanwhile. */
function commitStream({ signal }) {
  const list = h("ol.stream", { "aria-label": "Commits, the newest first" });
  const state = { isPaused: false, waiting: [] };
  const hint = empty("No commit since the page was opened", "Each commit of this process, of other processes and of peers appears here immediately.");
  const button = h("button", { type: "button", "aria-pressed": "false" }, "Pause");
  button.addEventListener("click", () => {
    state.isPaused = !state.isPaused;
    button.setAttribute("aria-pressed", state.isPaused);
    state.waiting.splice(0).forEach((commit) => prepend(list, commit));
    label(button, state);
  });
  listen(signal, (event) => {
    if (event.type !== "commit") return;
    hint.remove();
    if (!state.isPaused) return prepend(list, event.commit);
    state.waiting = [...state.waiting, event.commit].slice(-SHOWN_COMMITS);
    label(button, state);
  });
  return h("section.card.stream-part", {}, h("div.card-head", {}, h("h2", {}, "Commits"), button), hint, list);
}

function label(button, { isPaused, waiting }) {
  const size = waiting.length === SHOWN_COMMITS ? `${SHOWN_COMMITS}+` : waiting.length;
  button.textContent = !isPaused ? "Pause" : waiting.length > 0 ? `Continue (${size})` : "Continue";
}

function prepend(list, commit) {
  list.prepend(commitItem(commit));
  while (list.childElementCount > SHOWN_COMMITS) list.lastChild.remove();
}

function commitItem({ commit, time, site, changes = [], isTruncated }) {
  const more = changes.length - SHOWN_CHANGES;
  return h("li", { "data-commit": String(commit) },
    h("div.stream-head", {}, commitLink(commit), timeText(time), siteText(site)),
    h("ul", {}, changes.slice(0, SHOWN_CHANGES).map((change) => h("li", {},
      h("span.chip", { class: `action-${change.action}` }, change.action), " ", documentLink(change.collection, change.document), " ",
      h("span.muted", {}, (change.fields ?? []).join(", "))))),
    more > 0 || isTruncated ? h("p.muted", {}, isTruncated ? "and more documents" : `and ${count(more)} more documents`) : null);
}
