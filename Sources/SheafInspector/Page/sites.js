// The names of the devices whose sites are known: the local peer, and those it was connected to.

import { rowsOf } from "./api.js";

const READ_AGAIN_MILLISECONDS = 5000;
const names = new Map();

/** Returns the name of the device with a site, or undefined. */
export function deviceOf(site) {
  return names.get(site);
}

/** Reads the names, and again while the page is open. */
export async function followDevices() {
  try {
    if (!document.hidden) await readDevices();
  } catch {
    // The pages report errors; without names they show the sites.
  }
  setTimeout(followDevices, READ_AGAIN_MILLISECONDS);
}

async function readDevices() {
  const rows = await rowsOf("SELECT site, name FROM system:presence", {}, { limit: 10000 });
  for (const { site, name } of rows) if (site && name) names.set(site, String(name));
}
