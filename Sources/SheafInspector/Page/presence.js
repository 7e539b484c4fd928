// The rows of system:presence as peers and connections.

import { shortKey } from "./format.js";
import { toNumber } from "./json.js";

/** Returns `{ peers, connections }` of the mesh; peers without a connection are the last. */
export function readPresence(rows) {
  const reachable = rows.filter(({ kind }) => kind !== "disconnected");
  const known = new Set(reachable.map(({ peer }) => peer));
  // A peer without a connection to this one may still be reached through others.
  const away = rows.filter(({ kind, peer }) => kind === "disconnected" && !known.has(peer));
  return { peers: [...reachable, ...away].map(readPeer), connections: readConnections(reachable) };
}

function readPeer(row) {
  const key = String(row.peer ?? row._id);
  return {
    key, isKnown: row.peer != null, name: String(row.name || row.address || shortKey(key)), isLocal: row.kind === "local",
    isServer: row.isServer === true, isConnected: row.kind !== "disconnected",
    distance: toNumber(row.distance), reason: row.reason ?? null, since: row.since ?? null,
  };
}

/** Both ends list a connection; only the local end knows its bytes and lag. */
function readConnections(rows) {
  const known = new Map();
  for (const row of rows) {
    for (const { peer, transport, ...numbers } of row.connections ?? []) {
      const [peer1, peer2] = [String(row.peer), String(peer)].sort();
      const id = `${peer1} ${peer2} ${transport}`;
      if (known.has(id) && row.kind !== "local") continue;
      known.set(id, {
        id, peer1, peer2, kind: String(transport), sent: toNumber(numbers.bytesSent),
        received: toNumber(numbers.bytesReceived), lag: toNumber(numbers.lag),
      });
    }
  }
  return [...known.values()];
}

/** Returns peers by key. */
export function peersByKey(peers) {
  return new Map(peers.map((peer) => [peer.key, peer]));
}
