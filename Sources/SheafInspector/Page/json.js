// JSON without loss: integers beyond 2^53 are BigInt, and floats such as 2.0 stay floats.

/** A float whose text JavaScript would show as an integer. */
export class Float {
  constructor(text) {
    this.text = text;
  }
  valueOf() {
    return Number(this.text);
  }
  toString() {
    return this.text;
  }
}

const NUMBER = /-?\d+(\.\d+)?([eE][-+]?\d+)?/y;
const SPACE = /[ \t\r\n]*/y;
// Everything up to the quote that ends a string.
const STRING = /"(?:[^"\\]|\\.)*"/sy;

/** Parses a JSON text. Objects have no prototype, so `__proto__` is a name like any other. */
export function parse(text) {
  const reader = { text, at: 0 };
  const value = readValue(reader);
  match(reader, SPACE);
  if (reader.at < text.length) throw malformed(reader);
  return value;
}

function match(reader, pattern) {
  pattern.lastIndex = reader.at;
  const found = pattern.exec(reader.text);
  if (!found) throw malformed(reader);
  reader.at = pattern.lastIndex;
  return found[0];
}

function malformed(reader) {
  return new SyntaxError(`malformed JSON at character ${reader.at + 1}`);
}

function readValue(reader) {
  match(reader, SPACE);
  switch (reader.text[reader.at]) {
    case "{": return readObject(reader);
    case "[": return readArray(reader);
    case '"': return JSON.parse(match(reader, STRING));
    case "t": return word(reader, "true", true);
    case "f": return word(reader, "false", false);
    case "n": return word(reader, "null", null);
    default: return number(match(reader, NUMBER));
  }
}

function word(reader, text, value) {
  if (!reader.text.startsWith(text, reader.at)) throw malformed(reader);
  reader.at += text.length;
  return value;
}

function number(text) {
  const value = Number(text);
  if (/[.eE]/.test(text)) return Number.isInteger(value) ? new Float(text) : value;
  return Number.isSafeInteger(value) ? value : BigInt(text);
}

/** Reads elements between brackets; `one` reads one of them. */
function readList(reader, end, one) {
  reader.at += 1;
  match(reader, SPACE);
  if (reader.text[reader.at] === end) return void (reader.at += 1);
  for (;;) {
    one();
    match(reader, SPACE);
    const mark = reader.text[reader.at];
    if (mark !== "," && mark !== end) throw malformed(reader);
    reader.at += 1;
    if (mark === end) return;
  }
}

function readArray(reader) {
  const array = [];
  readList(reader, "]", () => array.push(readValue(reader)));
  return array;
}

function readObject(reader) {
  const object = Object.create(null);
  readList(reader, "}", () => {
    match(reader, SPACE);
    const name = JSON.parse(match(reader, STRING));
    match(reader, SPACE);
    if (reader.text[reader.at] !== ":") throw malformed(reader);
    reader.at += 1;
    object[name] = readValue(reader);
  });
  return object;
}

/** Returns the JSON text of a value that `parse` returned; `indent` is the number of spaces. */
export function stringify(value, indent = 0, depth = 0) {
  if (typeof value === "bigint" || value instanceof Float) return value.toString();
  if (value === null || typeof value !== "object") return JSON.stringify(value) ?? "null";
  const isArray = Array.isArray(value);
  const parts = isArray
    ? value.map((element) => stringify(element, indent, depth + 1))
    : Object.keys(value).map((name) => {
        const text = stringify(value[name], indent, depth + 1);
        return `${JSON.stringify(name)}:${indent ? " " : ""}${text}`;
      });
  const [open, close] = isArray ? "[]" : "{}";
  if (parts.length === 0) return open + close;
  if (indent === 0) return open + parts.join(",") + close;
  const line = `\n${" ".repeat(indent * (depth + 1))}`;
  return `${open}${line}${parts.join(`,${line}`)}\n${" ".repeat(indent * depth)}${close}`;
}

/** Returns the type of a value, as the query language names it. */
export function typeOf(value) {
  if (value === undefined) return "missing";
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "bigint") return "integer";
  if (value instanceof Float) return "float";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "float";
  if (typeof value === "string" || typeof value === "boolean") return typeof value;
  return isBinary(value) ? "binary" : "object";
}

/** Returns whether a value stands for bytes, as `{"$bytes": BASE64}`. */
function isBinary(value) {
  const names = Object.keys(value);
  return names.length === 1 && names[0] === "$bytes";
}

/** Returns a value as a number, or null if it is none. */
export function toNumber(value) {
  const type = typeOf(value);
  return type === "integer" || type === "float" ? Number(value) : null;
}

/** Returns whether two values are equal. */
export function isEqual(a, b) {
  if (a === undefined || b === undefined) return a === b;
  return sorted(a) === sorted(b);
}

function sorted(value) {
  if (value === null || typeof value !== "object" || value instanceof Float) return stringify(value);
  if (Array.isArray(value)) return `[${value.map(sorted).join(",")}]`;
  const names = Object.keys(value).sort();
  return `{${names.map((name) => `${JSON.stringify(name)}:${sorted(value[name])}`).join(",")}}`;
}

/** Parses the text of an id: JSON, or else a string, as `sheaf explain-sync` reads it. */
export function parseID(text) {
  try {
    return parse(text);
  } catch {
    return text;
  }
}
