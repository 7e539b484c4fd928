// Requests to the inspector. The page uses nothing but format-spec/inspector.md.

import { parse, stringify } from "./json.js";

/** An error of a statement, of the store or of the connection, with its position in the statement. */
export class RequestError extends Error {
  constructor(status, { message, hint, line, column, length }) {
    super(message);
    Object.assign(this, { status, hint, line, column, length });
  }
}

const ENDED = {
  message: "the session of this page has ended",
  hint: "open the URL that sheaf inspect printed: each start has a new token",
};
const UNREACHABLE = {
  message: "the inspector does not answer",
  hint: "its process may have ended; start sheaf inspect again",
};

/** Runs a statement. */
export function query(statement, values = {}, { limit, signal } = {}) {
  const body = { statement };
  if (Object.keys(values).length > 0) body.arguments = values;
  if (limit) body.limit = limit;
  return post("/query", body, signal);
}

/** Runs a statement and returns its rows. */
export async function rowsOf(statement, values, options) {
  return (await query(statement, values, options)).rows;
}

/** Returns words that complete a statement at the cursor. */
export function complete(before, after, signal) {
  return post("/complete", { before, after }, signal);
}

/** Returns facts about the store. */
export function about() {
  return request("/about");
}

/** Returns the path of a document to a peer, as steps. */
export function explain(collection, id, peer, signal) {
  const parameters = new URLSearchParams({ collection, id: stringify(id), peer });
  return request(`/explain?${parameters}`, { signal });
}

function post(path, body, signal) {
  const headers = { "Content-Type": "application/json" };
  return request(path, { method: "POST", headers, body: stringify(body), signal });
}

async function request(path, options = {}) {
  const response = await fetch(path, { cache: "no-store", ...options }).catch((error) => {
    throw error.name === "AbortError" ? error : new RequestError(0, UNREACHABLE);
  });
  const text = await response.text();
  if (response.ok) return parse(text);
  if (response.status === 401) throw new RequestError(401, ENDED);
  throw new RequestError(response.status, readError(text, response.status));
}

function readError(text, status) {
  try {
    return parse(text).error ?? { message: `the inspector answered ${status}` };
  } catch {
    return { message: `the inspector answered ${status}` };
  }
}

/** Returns a name in the form that is valid wherever a statement takes a name. */
export function quoted(name) {
  return `\`${name.replaceAll("`", "``")}\``;
}

const NAME_IN_PATH = /`((?:[^`]|``)*)`|[^.`]+/g;

/** Returns the names of a path as statements spell it, such as "engine.`top speed`". */
export function pathParts(path) {
  return [...path.matchAll(NAME_IN_PATH)].map(([text, quotedName]) => quotedName?.replaceAll("``", "`") ?? text);
}
