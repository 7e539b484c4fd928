// The stream of commits, one for all pages: browsers open few connections to one host.

import { about } from "./api.js";
import { parse } from "./json.js";

const RETRY_MILLISECONDS = 3000;
const listeners = new Set();
let source = null;
let newest = null;
let state = "connecting";

/** Calls a function with each commit, gap and change of the connection, until `signal` aborts. */
export function listen(signal, call) {
  listeners.add(call);
  signal?.addEventListener("abort", () => listeners.delete(call));
}

/** Calls a function with each commit, until `signal` aborts. */
export function onCommit(signal, call) {
  listen(signal, (event) => event.type === "commit" && call(event.commit));
}

/** Starts the stream; a hidden page releases its connection and resumes where it stopped. */
export function start() {
  document.addEventListener("visibilitychange", () => (document.hidden ? stop() : open()));
  open();
}

function open() {
  if (source) return;
  source = new EventSource(newest === null ? "/changes" : `/changes?since=${newest}`);
  source.addEventListener("open", () => setState("live"));
  source.addEventListener("commit", (event) => receive(parse(event.data)));
  source.addEventListener("gap", (event) => announce({ type: "gap", gap: parse(event.data) }));
  source.addEventListener("error", retryIfClosed);
}

function receive(commit) {
  newest = commit.commit;
  announce({ type: "commit", commit });
}

// EventSource reconnects by itself after a lost connection, but not after a refusal.
async function retryIfClosed() {
  const isRefused = source?.readyState === EventSource.CLOSED;
  if (!isRefused) return setState("offline");
  stop();
  // An event has no status, so another request finds out why.
  setState(await about().then(() => "offline", ({ status }) => (status === 401 ? "ended" : "offline")));
  setTimeout(() => !document.hidden && open(), RETRY_MILLISECONDS);
}

function stop() {
  source?.close();
  source = null;
}

function setState(next) {
  if (next === state) return;
  state = next;
  announce({ type: "state", state });
}

/** The state of the connection: connecting, live, offline, or ended if the token is not valid any more. */
export function connectionState() {
  return state;
}

function announce(event) {
  for (const call of [...listeners]) call(event);
}
