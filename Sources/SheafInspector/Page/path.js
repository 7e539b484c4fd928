// The way of a document to a peer, with the step that stops it.

import { h } from "./dom.js";
import { shortKey } from "./format.js";
import { empty } from "./parts.js";

const STATES = {
  ok: { title: "there", advice: "" },
  noSubscription: { title: "no subscription", advice: "No subscription of the receiving peer selects the document. Register one whose condition it meets." },
  noRight: { title: "no right", advice: "The grant of one side does not cover the document. Sign a grant with sheaf grant." },
  evicted: { title: "evicted", advice: "The peer removed the document from its device. A subscription that selects it fetches it again." },
  notConnected: { title: "not connected", advice: "No connection carries this step. Check that both peers run and reach each other." },
  lagging: { title: "on its way", advice: "The peer has not confirmed the commit yet. It receives it with its next segments." },
  deleted: { title: "deleted", advice: "The document was deleted, and the deletion has reached the peer." },
  unknown: { title: "unknown", advice: "This peer cannot see the rest of the way. Ask the inspector of the next peer." },
};

/** The words for a state. */
export function stateWords(state) {
  return STATES[state] ?? { title: String(state), advice: "" };
}

/** Draws the steps from peer to peer. */
export function pathPicture({ steps, blocking }, peers) {
  if (steps.length === 0) return empty("There is no way to this peer", "No chain of connections leads to it.");
  const isBlocked = blocking != null;
  const nodes = [peerBox(steps[0].from, peers, true)];
  steps.forEach((step, index) => {
    const isAfter = isBlocked && index > Number(blocking);
    const kind = isBlocked && index === Number(blocking) ? "blocking" : isAfter ? "after" : step.state === "ok" ? "passed" : "open";
    nodes.push(stepLine(step, kind), peerBox(step.to, peers, !isBlocked || index < Number(blocking)));
  });
  return h("div.path-part", {},
    h("ol.path", { "aria-label": "Way of the document" }, nodes),
    isBlocked ? blockingNote(steps[Number(blocking)]) : h("p.note.good", {}, "The document is on the peer."));
}

function peerBox(key, peers, hasDocument) {
  const name = peers.get(String(key))?.name ?? shortKey(key);
  return h("li.path-peer", { class: hasDocument ? "has" : "lacks" }, h("span.strong", {}, name),
    h("span.muted", { title: String(key) }, hasDocument ? "has the document" : "does not have it"));
}

function stepLine(step, kind) {
  return h("li.path-step", { class: kind }, h("span.arrow", { "aria-hidden": "true" }),
    h("span.chip", { class: kind === "blocking" ? "bad" : kind === "passed" ? "good" : "" }, step.state === "ok" ? "passed" : stateWords(step.state).title));
}

function blockingNote(step) {
  const { title, advice } = stateWords(step.state);
  return h("div.note.bad.blocking-note", {}, h("p.strong", {}, title.charAt(0).toUpperCase() + title.slice(1)),
    step.reason && h("p", {}, step.reason), advice && h("p", {}, advice));
}
