// The names of devices, by the key of each known peer, and by the site of each that was connected.

import { rowsOf } from "./api.js";

const READ_AGAIN_MILLISECONDS = 5000;
const bySite = new Map();
const byPeer = new Map();

/** Returns the name of the device with a site, or undefined. */
export function deviceOfSite(site) {
  return bySite.get(site);
}

/** Returns the name of the device with the key of a peer, or undefined. */
export function deviceOfPeer(key) {
  return byPeer.get(key);
}

/** Reads the names, and again while the page is open. */
export async function followDevices() {
  try {
    if (!document.hidden) await readDevices();
  } catch {
    // The pages report errors; without names they show sites and keys.
  }
  setTimeout(followDevices, READ_AGAIN_MILLISECONDS);
}

async function readDevices() {
  const rows = await rowsOf("SELECT peer, site, name FROM system:presence", {}, { limit: 10000 });
  for (const { peer, site, name } of rows) {
    if (!name) continue;
    if (site) bySite.set(site, String(name));
    if (peer) byPeer.set(peer, String(name));
  }
}
