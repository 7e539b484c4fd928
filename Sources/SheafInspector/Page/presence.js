// The rows of system:presence as peers and connections.

import { toNumber } from "./json.js";

/** Returns `{ peers, connections }`: a row is a peer, which may list its connections, or a connection. */
export function readPresence(rows) {
  const peers = rows.filter((row) => row.peer1 === undefined).map(readPeer);
  const listed = rows.filter((row) => row.peer1 !== undefined).map(readConnection);
  const nested = rows.flatMap((row) => (Array.isArray(row.connections) ? row.connections : []).map(readConnection));
  const known = new Map([...listed, ...nested].map((one) => [one.id, one]));
  return { peers, connections: [...known.values()] };
}

function readPeer(row) {
  const key = String(row.key ?? row._id);
  return {
    key, row, name: String(row.deviceName ?? row.device_name ?? key),
    distance: toNumber(row.distance) ?? null,
    isLocal: row.isLocal === true || row.is_local === true || toNumber(row.distance) === 0,
    isServer: row.isServer === true || row.is_server === true,
    isConnected: row.isConnected !== false && row.distance !== null,
    reason: row.reason ?? row.lastCloseReason ?? null,
  };
}

function readConnection(row) {
  const [peer1, peer2] = [String(row.peer1), String(row.peer2)];
  const kind = String(row.kind ?? row.transport ?? "other");
  return {
    id: String(row.id ?? row._id ?? `${peer1}<->${peer2}:${kind}`), peer1, peer2, kind,
    sent: toNumber(row.bytesSent), received: toNumber(row.bytesReceived), lag: toNumber(row.lag),
  };
}

/** Returns peers by key. */
export function peersByKey(peers) {
  return new Map(peers.map((peer) => [peer.key, peer]));
}
