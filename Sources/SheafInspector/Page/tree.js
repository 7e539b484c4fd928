// A value as a tree: arrow keys move, and only open branches are in the document.

import { fill, h } from "./dom.js";
import { count, cut, visible } from "./format.js";
import { typeOf } from "./json.js";

const CHUNK = 100;
const SHORT_TEXT = 240;
// A larger branch is closed at first.
const OPENED_ENTRIES = 30;

/** Creates the tree of a document; `note(path)` returns the node on the right of a field. */
export function valueTree(value, { label, note, open = 2 }) {
  const tree = h("ul.tree", { role: "tree", "aria-label": label, onkeydown: (event) => moveInTree(event, tree) });
  const names = typeOf(value) === "object" ? idFirst(Object.keys(value)) : null;
  appendItems(tree, entries(value, names), { path: [], note, open: open - 1 });
  const first = tree.querySelector("[role=treeitem]");
  if (first) first.tabIndex = 0;
  return tree;
}

function idFirst(names) {
  return names.includes("_id") ? ["_id", ...names.filter((name) => name !== "_id")] : names;
}

function entries(value, names) {
  if (Array.isArray(value)) return value.map((element, index) => [String(index), element]);
  return (names ?? Object.keys(value)).map((name) => [name, value[name]]);
}

/** Appends items in chunks, so that an array of a million elements opens without delay. */
function appendItems(list, items, context, from = 0) {
  const end = Math.min(items.length, from + CHUNK);
  for (const [name, value] of items.slice(from, end)) list.append(treeItem(name, value, context));
  if (end === items.length) return;
  const more = h("li", { role: "treeitem", tabindex: "-1", onclick: (event) => { event.stopPropagation(); showMore(); } },
    h("div.node.more", {}, `show ${count(Math.min(CHUNK, items.length - end))} of ${count(items.length - end)} more`));
  const showMore = () => {
    appendItems(list, items, context, end);
    more.nextElementSibling?.focus();
    more.remove();
  };
  more.toggle = showMore;
  list.append(more);
}

function treeItem(name, value, context) {
  const path = [...context.path, name];
  const type = typeOf(value);
  const isBranch = (type === "object" || type === "array") && Object.keys(value).length > 0;
  const item = h("li", { role: "treeitem", tabindex: "-1" });
  item.append(h("div.node", { onclick: () => focusItem(item) },
    h("span.twist", { "aria-hidden": "true" }),
    h("span.name", {}, visible(name)), leaf(value, type),
    h("span.type", {}, type), context.note?.(path, value)));
  if (isBranch) makeBranch(item, value, { ...context, path, open: context.open - 1 });
  return item;
}

function leaf(value, type) {
  if (type === "object") return h("span.value.muted", {}, `{ ${count(Object.keys(value).length)} }`);
  if (type === "array") return h("span.value.muted", {}, `[ ${count(value.length)} ]`);
  if (type === "binary") return h("span.value.type-binary", {}, cut(value.$bytes, SHORT_TEXT));
  if (type !== "string") return h("span.value", { class: `type-${type}` }, String(value));
  return longText(value);
}

function longText(text) {
  const node = h("span.value.type-string", {}, cut(visible(text), SHORT_TEXT));
  if (text.length <= SHORT_TEXT) return node;
  const all = () => fill(node, visible(text));
  node.append(h("button.quiet", { type: "button", tabindex: "-1", onclick: (event) => { event.stopPropagation(); all(); } },
    `all ${count(text.length)} characters`));
  return node;
}

function makeBranch(item, value, context) {
  const group = h("ul", { role: "group" });
  const set = (isOpen) => {
    item.setAttribute("aria-expanded", isOpen);
    if (isOpen && group.childElementCount === 0) appendItems(group, entries(value), context);
    group.hidden = !isOpen;
  };
  item.toggle = (isOpen = item.getAttribute("aria-expanded") !== "true") => set(isOpen);
  item.firstChild.addEventListener("click", () => item.toggle());
  item.append(group);
  set(context.open >= 0 && Object.keys(value).length <= OPENED_ENTRIES);
}

function focusItem(item) {
  const tree = item.closest("[role=tree]");
  tree.querySelectorAll("[tabindex='0'][role=treeitem]").forEach((other) => (other.tabIndex = -1));
  item.tabIndex = 0;
  item.focus({ preventScroll: false });
}

function moveInTree(event, tree) {
  const item = event.target.closest("[role=treeitem]");
  if (!item) return;
  const shown = [...tree.querySelectorAll("[role=treeitem]")].filter((other) => other.offsetParent !== null);
  const target = moved(event.key, item, shown, shown.indexOf(item));
  if (target === undefined) return;
  event.preventDefault();
  if (target) focusItem(target);
}

/** Returns the item to which a key moves, null to remain, and undefined for other keys. */
function moved(key, item, shown, at) {
  const isOpen = item.getAttribute("aria-expanded");
  switch (key) {
    case "ArrowDown": return shown[at + 1] ?? null;
    case "ArrowUp": return shown[at - 1] ?? null;
    case "Home": return shown[0];
    case "End": return shown.at(-1);
    case "ArrowRight":
      if (isOpen === "true") return shown[at + 1] ?? null;
      item.toggle?.(true);
      return null;
    case "ArrowLeft":
      if (isOpen !== "true") return item.parentElement.closest("[role=treeitem]");
      item.toggle(false);
      return null;
    case "Enter": case " ":
      item.toggle?.();
      return null;
    default: return undefined;
  }
}
