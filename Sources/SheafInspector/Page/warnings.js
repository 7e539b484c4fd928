// Warnings at the top of the page Health, derived from its values.

import { deviceOfPeer } from "./devices.js";
import { counted, nanoseconds, percent, shortKey } from "./format.js";
import { toNumber } from "./json.js";
import { sentence } from "./parts.js";

const LOW_LIVE_SHARE = 0.25;
// A small log is not worth a compaction.
const SMALL_LOG_BYTES = 1 << 20;
const SLOW_FLUSH_NANOSECONDS = 100_000_000;

/** Returns warnings, each with a title and a text. */
export function warningsOf({ health, sync, refused }, valuesOf) {
  const values = new Map(health.map(({ name, value }) => [name, toNumber(value)]));
  return [
    ...readOnly(values), ...liveShare(values), ...slowFlush(values),
    ...failures(valuesOf("requests_failed"), "statement"), ...failures(valuesOf("observers_failed"), "observer"),
    ...sync.flatMap(peerWarnings), ...refusals(refused),
  ];
}

function readOnly(values) {
  if (values.get("is_writable") !== 0) return [];
  return [{ title: "The store refuses writes", text: "A write to the disk failed. The store accepts writes again after it is opened again." }];
}

function liveShare(values) {
  const share = values.get("live_share");
  if (share == null || values.get("log_bytes") < SMALL_LOG_BYTES || share >= LOW_LIVE_SHARE) return [];
  return [{ title: `${percent(share)} of the log is live`, text: "The rest is history. Compaction discards it; sheaf compact starts one now." }];
}

function slowFlush(values) {
  const last = values.get("flush_last_nanoseconds") ?? 0;
  if (last <= SLOW_FLUSH_NANOSECONDS) return [];
  return [{ title: "Flushes are slow", text: `The last one took ${nanoseconds(last)}. Each durable commit waits for one.` }];
}

function failures(counts, noun) {
  const added = counts.length > 1 ? counts.at(-1) - counts[0] : 0;
  if (added <= 0) return [];
  return [{ title: `${counted(added, noun)} failed while this page was open`, text: "system:request_history has their errors." }];
}

function peerWarnings(row) {
  const { sync_session_status: status, last_close_reason: reason } = row.documents ?? {};
  const clocks = Array.isArray(row.clock?.warnings) ? row.clock.warnings : [];
  const peer = `Peer ${deviceOfPeer(row._id) ?? shortKey(row._id)}`;
  const away = status === "Not Connected" && reason ? [{ title: `${peer} is not connected`, text: sentence(reason) }] : [];
  return [...away, ...clocks.map((text) => ({ title: `The clock of ${peer.replace("Peer", "peer")}`, text: sentence(text) }))];
}

function refusals(refused) {
  return refused > 0 ? [{ title: `Peers refused ${counted(refused, "write")}`, text: "The page Activity lists them with their reasons." }] : [];
}
