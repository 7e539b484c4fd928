// The stream of commits, one for all pages: browsers open few connections to one host.

import { about } from "./api.js";
import { parse } from "./json.js";

const RETRY_MILLISECONDS = 3000;
const listeners = new Set();
let source = null;
let newest = null;
let state = "connecting";

/** Calls a function with each commit, gap, failure and change of the connection, until `signal` aborts. */
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
  if (source || state === "failed") return;
  source = new EventSource(newest === null ? "/changes" : `/changes?since=${newest}`);
  source.addEventListener("open", () => setState("live"));
  source.addEventListener("commit", (event) => receive(parse(event.data)));
  source.addEventListener("gap", (event) => announce({ type: "gap", gap: parse(event.data) }));
  source.addEventListener("failure", (event) => fail(parse(event.data).error));
  source.addEventListener("error", retryIfClosed);
}

function receive(commit) {
  newest = commit.commit;
  announce({ type: "commit", commit });
}

// The next connection would begin with the same commit and fail again, so there is none.
function fail(error) {
  stop();
  setState("failed");
  announce({ type: "failure", error });
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
  if (next === state || state === "failed") return;
  state = next;
  announce({ type: "state", state });
}

/** The state: connecting, live, offline, ended if the token is not valid any more, or failed if a commit cannot be read. */
export function connectionState() {
  return state;
}

function announce(event) {
  for (const call of [...listeners]) call(event);
}
