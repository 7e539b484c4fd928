// The mesh as a picture: this peer in the center, others on rings by their distance.

import { s } from "./dom.js";
import { bytes, counted, cut } from "./format.js";

const NARROWEST = 320;
const WIDEST = 680;
const HEIGHT = 380;
// Few peers beside each other need less height.
const FLAT_HEIGHT = 290;
const FEW_PEERS = 4;
// Peers without a connection stand in a row beneath the others.
const AWAY_HEIGHT = 70;
// The first peer stands at the upper right, so that two of them use the height as well.
const FIRST_ANGLE = -Math.PI / 7;
const FIRST_ANGLE_NARROW = -Math.PI / 2.3;
const NARROW = 480;
// A peer after a neighbor stands beside their line, so that its name does not cover the connection.
const BEND = 0.5;

/**
 * Draws peers and connections for an area of `space` pixels; a chosen peer is passed to `choose`.
 * `route` has the steps of a document, each with `from`, `to` and the `kind` that path.js gives it.
 */
export function meshPicture({ peers, connections }, states, space, route, choose) {
  const width = Math.max(NARROWEST, Math.min(WIDEST, space));
  const away = peers.filter((peer) => !peer.isLocal && isAway(peer));
  const rings = width > NARROW && peers.length <= FEW_PEERS ? FLAT_HEIGHT : HEIGHT;
  const height = rings + (away.length > 0 ? AWAY_HEIGHT : 0);
  const at = positions(peers, away, connections, width, rings);
  const kinds = new Map(route.map(({ from, to, kind }) => [pair({ peer1: from, peer2: to }), kind]));
  const drawn = [...connections, ...absent(route, connections)].filter((one) => at.has(one.peer1) && at.has(one.peer2));
  return s("svg.mesh", { viewBox: `0 0 ${width} ${height}`, role: "group", "aria-label": `${peers.length} peers and ${connections.length} connections` },
    drawn.map((one, index, all) => connectionLine(one, at, siblings(one, all), kinds.get(pair(one)) ?? "")),
    peers.map((peer) => peerNode(peer, at.get(peer.key), states.get(peer.key), choose)));
}

/** The steps of a route that no connection carries. */
function absent(route, connections) {
  const known = new Set(connections.map(pair));
  return route.map(({ from, to }) => ({ peer1: from, peer2: to, kind: null })).filter((one) => !known.has(pair(one)));
}

/** Connections between the same two peers are drawn beside each other. */
function siblings(one, all) {
  const same = all.filter((other) => pair(other) === pair(one));
  return same.indexOf(one) - (same.length - 1) / 2;
}

function pair({ peer1, peer2 }) {
  return [peer1, peer2].sort().join();
}

function positions(peers, away, connections, width, height) {
  const rings = new Map();
  for (const peer of peers.filter((one) => !away.includes(one))) {
    const ring = peer.isLocal ? 0 : Math.min(3, peer.distance);
    rings.set(ring, [...(rings.get(ring) ?? []), peer]);
  }
  const outer = Math.max(1, ...rings.keys());
  const at = new Map();
  for (const ring of [...rings.keys()].sort()) placeRing(rings.get(ring), ring === 0 ? 0 : (ring + 0.6) / (outer + 0.6), { width, height }, at, connections);
  away.forEach((peer, index) => at.set(peer.key, { x: 54 + index * 110, y: height + AWAY_HEIGHT - 56, radius: 1, angle: 0 }));
  return at;
}

function isAway(peer) {
  return peer.distance === null || !peer.isConnected;
}

/** Places the peers of a ring in the order of their neighbors, so that few lines cross. */
function placeRing(ring, radius, { width, height }, at, connections) {
  const angles = new Map(ring.map((peer) => [peer.key, neighborAngle(peer, at, connections)]));
  const sorted = ring.toSorted((a, b) => (angles.get(a.key) ?? 9) - (angles.get(b.key) ?? 9) || (a.key < b.key ? -1 : 1));
  const start = angles.get(sorted[0].key) ?? (width < NARROW ? FIRST_ANGLE_NARROW : FIRST_ANGLE);
  sorted.forEach((peer, index) => {
    const angle = start + (index / sorted.length) * 2 * Math.PI;
    at.set(peer.key, { angle, radius, x: width / 2 + Math.cos(angle) * radius * (width / 2 - 66), y: height / 2 - 16 + Math.sin(angle) * radius * (height / 2 - 46) });
  });
}

function neighborAngle(peer, at, connections) {
  const neighbor = connections.map((one) => (one.peer1 === peer.key ? one.peer2 : one.peer2 === peer.key ? one.peer1 : null))
    .find((key) => key !== null && at.get(key)?.radius > 0);
  return neighbor === undefined ? null : at.get(neighbor).angle + BEND;
}

function connectionLine(one, at, offset, kind) {
  const [a, b] = [at.get(one.peer1), at.get(one.peer2)];
  const length = Math.hypot(b.x - a.x, b.y - a.y) || 1;
  const [dx, dy] = [(-(b.y - a.y) / length) * offset * 26, ((b.x - a.x) / length) * offset * 26];
  const middle = { x: (a.x + b.x) / 2 + dx, y: (a.y + b.y) / 2 + dy };
  const control = { x: (a.x + b.x) / 2 + dx * 2, y: (a.y + b.y) / 2 + dy * 2 };
  const total = (one.sent ?? 0) + (one.received ?? 0);
  const width = 1.5 + Math.min(5, Math.log10(1 + total / 1000));
  const label = [one.kind, total > 0 ? bytes(total) : null, lagWords(one.lag)].filter(Boolean).join(" · ");
  return s("g.connection", { class: kind },
    s("path", { d: `M${a.x} ${a.y}Q${control.x} ${control.y} ${b.x} ${b.y}`, "stroke-width": width }, s("title", {}, label)),
    s("text.halo", { x: middle.x, y: middle.y + 4, "text-anchor": "middle" }, label));
}

/** The lag of a connection, if there is one. */
function lagWords(lag) {
  return lag > 0 ? `${counted(lag, "commit")} late` : null;
}

function peerNode(peer, { x, y }, state, choose) {
  const kind = peer.isLocal ? "local" : isAway(peer) ? "away" : state?.lag > 0 ? "lagging" : "current";
  const pick = (event) => (event.type === "click" || event.key === "Enter") && !peer.isLocal && choose(peer.key);
  const lag = peer.isLocal ? "this peer" : kind === "away" ? "not connected" : lagWords(state?.lag) ?? (state?.lag === 0 ? "up to date" : "");
  return s("g.peer", {
    class: kind, transform: `translate(${x} ${y})`, onclick: pick, onkeydown: pick,
    tabindex: peer.isLocal ? null : "0", role: peer.isLocal ? "img" : "button", "aria-label": `${peer.name}, ${lag}`,
  },
    peer.isServer ? s("rect", { x: -14, y: -14, width: 28, height: 28, rx: 5 }) : s("circle", { r: 14 }),
    s("text.halo.peer-name", { y: 31, "text-anchor": "middle" }, cut(peer.name, 22)),
    s("text.halo.peer-lag", { y: 46, "text-anchor": "middle" }, lag),
    s("title", {}, `${peer.name}\n${peer.key}`));
}
