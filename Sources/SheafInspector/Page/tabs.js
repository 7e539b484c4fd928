// Tabs that arrow keys move between; one of them is in the tab order.

import { fill, h } from "./dom.js";

const STEPS = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

/** Lets arrow keys, Home and End choose among the elements of a list. */
export function moveByArrows(list, selector, choose) {
  list.addEventListener("keydown", (event) => {
    const items = [...list.querySelectorAll(selector)];
    const at = items.indexOf(event.target.closest(selector));
    if (at < 0) return;
    const target = event.key === "Home" ? items[0]
      : event.key === "End" ? items.at(-1)
      : items[(at + (STEPS[event.key] ?? NaN) + items.length) % items.length];
    if (!target) return;
    event.preventDefault();
    target.focus();
    choose(target);
  });
}

/** Creates a row of tabs; `choose` is called with the name of each chosen one. */
export function tabRow(label, names, chosen, choose) {
  const row = h("div.choices", { role: "tablist", "aria-label": label });
  const select = (name) => {
    for (const tab of row.children) {
      tab.setAttribute("aria-selected", tab.dataset.name === name);
      tab.tabIndex = tab.dataset.name === name ? 0 : -1;
    }
  };
  fill(row, names.map((name) =>
    h("button", { type: "button", role: "tab", "data-name": name, onclick: () => { select(name); choose(name); } }, name)));
  moveByArrows(row, "button", (tab) => tab.click());
  select(chosen);
  row.select = select;
  return row;
}
