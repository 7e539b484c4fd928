// Routes in the hash of the address, so that links, reload and the back button work:
// #/page/part/part?name=value

/** Returns the route of the address. */
export function currentRoute() {
  const [path, search] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const [page, ...parts] = path.split("/").map(decode);
  return { page, parts, values: new URLSearchParams(search ?? "") };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns the address of a route; values that are null are left out. */
export function address(parts, values = {}) {
  const search = new URLSearchParams(Object.entries(values).filter(([, value]) => value != null && value !== ""));
  const path = `#/${parts.map(encodeURIComponent).join("/")}`;
  return search.size > 0 ? `${path}?${search}` : path;
}

/** Goes to a route. `replace` leaves no entry in the history, for steps of a slider. */
export function go(parts, values, { replace = false } = {}) {
  const target = address(parts, values);
  if (target === location.hash) return;
  if (!replace) return void (location.hash = target);
  history.replaceState(null, "", target);
}
