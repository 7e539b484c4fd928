// The path of a document to a peer, with the step that blocks it.

import { h } from "./dom.js";
import { shortKey } from "./format.js";
import { sentence } from "./parts.js";

const STATES = {
  ok: { title: "there", advice: "" },
  noSubscription: { title: "no subscription", advice: "Register a subscription on that peer whose condition the document meets." },
  noRight: { title: "no right", advice: "Sign a grant that covers the document: sheaf grant." },
  evicted: { title: "evicted", advice: "A subscription that selects the document fetches it again." },
  notConnected: { title: "not connected", advice: "Check that both peers run and reach each other." },
  lagging: { title: "on its way", advice: "" },
  deleted: { title: "deleted", advice: "" },
  unknown: { title: "unknown", advice: "The inspector of a peer that has the document shows more." },
};

// What the inspected peer has of the document.
const FIRST_PEER = {
  present: { has: true, text: "has the document" }, deleted: { has: false, text: "has deleted it" },
  evicted: { has: false, text: "has evicted it" }, missing: { has: false, text: "does not have it" },
};

/** The words for a state. */
export function stateWords(state) {
  return STATES[state] ?? { title: String(state), advice: "" };
}

/** The steps of an explanation, each with a kind: passed, blocking, or after the blocking one. */
export function stepsWithKinds({ steps, blocking }) {
  const end = blocking == null ? steps.length : Number(blocking);
  return steps.map((step, index) => ({ ...step, kind: index < end ? "passed" : index === end ? "blocking" : "after" }));
}

/** Draws the steps from the inspected peer to another one; `target` is the key of that one. */
export function pathPicture(explanation, target, peers) {
  const { document, blocking } = explanation;
  const steps = stepsWithKinds(explanation);
  const nodes = [peerBox(steps[0]?.from ?? target, peers, FIRST_PEER[document] ?? FIRST_PEER.present)];
  for (const step of steps) {
    nodes.push(stepLine(step), peerBox(step.to, peers, step.kind === "passed" ? FIRST_PEER.present : lacks(step.state)));
  }
  return h("div.path-part", {},
    h("ol.path", { "aria-label": "Path of the document" }, nodes),
    blocking == null ? h("p.note.good", {}, "The document is on the peer.") : blockingNote(steps[Number(blocking)]));
}

function lacks(state) {
  return { has: false, text: state === "unknown" ? "may have it" : "does not have it" };
}

function peerBox(key, peers, { has, text }) {
  const name = key === null ? "some peer" : peers.get(String(key))?.name ?? shortKey(key);
  return h("li.path-peer", { class: has ? "has" : "lacks" }, h("span.strong", {}, name),
    h("span.muted", { title: String(key) }, text));
}

function stepLine({ kind, state }) {
  return h("li.path-step", { class: kind }, h("span.arrow", { "aria-hidden": "true" }),
    h("span.chip", { class: kind === "blocking" ? "bad" : kind === "passed" ? "good" : "" }, state === "ok" ? "passed" : stateWords(state).title));
}

function blockingNote(step) {
  const { title, advice } = stateWords(step.state);
  return h("div.note.bad.blocking-note", {}, h("p.strong", {}, sentence(title)),
    step.reason && h("p", {}, sentence(step.reason)), advice && h("p", {}, advice));
}
