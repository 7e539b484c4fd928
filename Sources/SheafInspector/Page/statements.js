// The statements that ran in this browser, the newest first.

const KEY = "sheaf-inspector-statements";
const MAXIMUM = 100;
const MAXIMUM_CHARACTERS = 10000;

export function readHistory() {
  try {
    const rows = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(rows) ? rows : [];
  } catch {
    return [];
  }
}

/** Puts a statement at the beginning, and removes an older entry of the same text. */
export function remember(statement, rows) {
  if (statement.length > MAXIMUM_CHARACTERS) return;
  const others = readHistory().filter((entry) => entry.statement !== statement);
  localStorage.setItem(KEY, JSON.stringify([{ statement, rows, at: Date.now() }, ...others].slice(0, MAXIMUM)));
}

export function clearHistory() {
  localStorage.removeItem(KEY);
}
