// What the reader should know first, derived from the values of the page Health.

import { counted, percent, shortKey } from "./format.js";
import { toNumber } from "./json.js";

const LOW_LIVE_SHARE = 0.25;
const SLOW_FLUSH_MICROSECONDS = 100_000;

/** Returns warnings, each with a title and a text. */
export function warningsOf({ health, sync, refused }, samples) {
  const values = new Map(health.map(({ name, value }) => [String(name), value]));
  return [
    ...ownWarnings(values), ...liveShare(values), ...slowFlush(values),
    ...failures(samples.get("requests_failed") ?? [], "requests_failed"),
    ...failures(samples.get("observers_failed") ?? [], "observers_failed"),
    ...sync.flatMap(peerWarnings), ...refusals(refused),
  ];
}

/** Warnings that the store itself reports. */
function ownWarnings(values) {
  const texts = values.get("warnings") ?? [];
  return (Array.isArray(texts) ? texts : [texts]).map((text) => ({ title: "The store warns", text: String(text) }));
}

function liveShare(values) {
  const share = toNumber(values.get("liveShare") ?? values.get("live_share"));
  if (share === null || share >= LOW_LIVE_SHARE) return [];
  return [{ title: `${percent(share)} of the log is live`, text: "The rest is history. Compaction discards it; sheaf compact starts one now." }];
}

function slowFlush(values) {
  const names = [...values.keys()].filter((name) => /flush.*micro/i.test(name) && (toNumber(values.get(name)) ?? 0) > SLOW_FLUSH_MICROSECONDS);
  return names.map((name) => ({ title: "Flushes are slow", text: `${name} is ${toNumber(values.get(name))}. Each durable commit waits for one.` }));
}

function failures(counts, name) {
  const added = counts.length > 1 ? counts.at(-1) - counts[0] : 0;
  if (added <= 0) return [];
  const noun = name === "requests_failed" ? "statement" : "observer";
  return [{ title: `${counted(added, noun)} failed while this page was open`, text: "system:request_history has their errors." }];
}

function peerWarnings(row) {
  const { sync_session_status: status, last_close_reason: reason } = row.documents ?? {};
  const clocks = Array.isArray(row.clock?.warnings) ? row.clock.warnings : [];
  const peer = `Peer ${shortKey(row._id)}`;
  const away = status === "Not Connected" && reason ? [{ title: `${peer} is not connected`, text: String(reason) }] : [];
  return [...away, ...clocks.map((text) => ({ title: `The clock of ${peer.toLowerCase()}`, text: String(text) }))];
}

function refusals(refused) {
  return refused > 0 ? [{ title: `Peers refused ${counted(refused, "write")}`, text: "The page Activity lists them with their reasons." }] : [];
}
