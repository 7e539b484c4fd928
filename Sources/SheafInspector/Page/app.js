// The layout of the page: side bar, routes, theme and the state of the connection.

import { about } from "./api.js";
import * as changes from "./changes.js";
import { followDevices } from "./devices.js";
import { fill, h, s, toast } from "./dom.js";
import { count } from "./format.js";
import { currentRoute, go } from "./router.js";
import { errorNote } from "./parts.js";
import { moveByArrows } from "./tabs.js";
import { nextTheme, restoreTheme } from "./theme.js";
import * as activity from "./activity.js";
import * as collections from "./collections.js";
import * as conflicts from "./conflicts.js";
import * as health from "./health.js";
import * as mesh from "./mesh.js";
import * as query from "./query.js";
import * as time from "./time.js";

const PAGES = [
  { name: "collections", title: "Collections", module: collections, icon: "M4 6c0-3 16-3 16 0v12c0 3-16 3-16 0zM4 6c0 3 16 3 16 0M4 12c0 3 16 3 16 0" },
  { name: "query", title: "Query", module: query, icon: "M4 5l6 6-6 6M12 18h8" },
  { name: "time", title: "Time", module: time, icon: "M12 3a9 9 0 1 0 .01 0M12 7v5l3.5 2" },
  { name: "conflicts", title: "Conflicts", module: conflicts, icon: "M6 3v4c0 5 6 4 6 9v5M18 3v4c0 5-6 4-6 9" },
  { name: "mesh", title: "Mesh", module: mesh, icon: "M12 4a2 2 0 1 0 .01 0M5 16a2 2 0 1 0 .01 0M19 16a2 2 0 1 0 .01 0M11 8l-5 8M13 8l5 8M7 18h10" },
  { name: "activity", title: "Activity", module: activity, icon: "M3 12h4l3-8 4 16 3-8h4" },
  { name: "health", title: "Health", module: health, icon: "M12 20C2 13 3 6 7.5 5.5 10 5.3 12 8 12 8s2-2.7 4.5-2.5C21 6 22 13 12 20" },
];

const CONNECTION_TITLES = {
  live: "commits appear as they happen", offline: "the process of the inspector may have ended",
  ended: "the inspector was started again: open the URL that it printed",
  failed: "a commit cannot be read; a reload follows the commits after it",
};

const main = document.getElementById("main");
const tabs = document.getElementById("tabs");
const store = { path: "", commit: null, isWritable: false, hasPeer: false, version: "" };
let shown = null;

function drawTabs() {
  tabs.setAttribute("role", "tablist");
  tabs.setAttribute("aria-orientation", "vertical");
  fill(tabs, PAGES.map(({ name, title, icon }) =>
    h("a.tab", { role: "tab", href: `#/${name}`, id: `tab-${name}`, "aria-controls": "main" },
      s("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: icon })),
      h("span", {}, title))));
  moveByArrows(tabs, "a", (tab) => tab.click());
}

function markTab(page) {
  for (const tab of tabs.children) {
    const isShown = tab.id === `tab-${page.name}`;
    tab.setAttribute("aria-selected", isShown);
    tab.tabIndex = isShown ? 0 : -1;
    if (isShown) tab.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  main.setAttribute("role", "tabpanel");
  main.setAttribute("aria-labelledby", `tab-${page.name}`);
}

/** Shows the page of the address, and only updates it if it is shown already. */
function followRoute() {
  const route = currentRoute();
  const page = PAGES.find(({ name }) => name === route.page);
  if (!page) return go(["collections"], {}, { replace: true }) ?? followRoute();
  if (shown?.page === page) return shown.update(route);
  shown?.stop.abort();
  const stop = new AbortController();
  markTab(page);
  document.title = `${page.title} – Sheaf inspector`;
  main.scrollTop = 0;
  const root = h("div.page", { class: `page-${page.name}` });
  fill(main, root);
  const update = page.module.mount(root, { signal: stop.signal, store, title: page.title });
  shown = { page, stop, update };
  update(route);
}

function drawStatus() {
  const state = changes.connectionState();
  const words = { live: "live", connecting: "connecting", offline: "no connection", ended: "session ended", failed: "commits ended" };
  const name = store.path.split("/").filter(Boolean).pop() ?? "";
  fill(document.getElementById("status"),
    h("span.store", { title: store.path }, name),
    h("span.connection", { class: state, title: CONNECTION_TITLES[state] }, h("span.dot"), words[state]),
    h("span.commit", { title: "the newest commit" }, store.commit === null ? "" : `commit ${count(store.commit)}`),
    h("span.access", {}, store.isWritable ? "writable" : "read-only"),
    h("button.quiet.theme", { type: "button", onclick: switchTheme, title: "light, dark or as the system" }, themeLabel()));
}

function themeLabel() {
  const shape = "M12 3a9 9 0 1 0 .01 0M12 3v18a9 9 0 0 0 0-18";
  return [s("svg", { viewBox: "0 0 24 24", "aria-hidden": "true" }, s("path", { d: shape })), h("span", {}, `theme: ${restoreTheme()}`)];
}

function switchTheme() {
  nextTheme();
  drawStatus();
  document.querySelector("button.theme").focus();
}

function followChanges() {
  changes.listen(null, (event) => {
    if (event.type === "commit") store.commit = event.commit.commit;
    if (event.type === "gap") toast(`commits up to ${event.gap.oldest} are no longer in the log`);
    if (event.type === "failure") showFailure(event.error);
    drawStatus();
  });
  changes.start();
}

/** Shows why no further commits arrive, on all pages, until the reader closes the note. */
function showFailure(error) {
  const note = errorNote(error);
  note.append(
    h("p", {}, "No further commits are shown until this page is loaded again."),
    h("button", { type: "button", onclick: () => note.remove() }, "Close"));
  document.getElementById("toasts").append(note);
}

/** Escape leaves an input, or else goes back to the tab of the page. */
function leaveByEscape(event) {
  if (event.key !== "Escape" || event.defaultPrevented) return;
  tabs.querySelector("[aria-selected=true]")?.focus();
}

// A hash is a route here, so the browser's own jump would leave the page.
function skipToMain(event) {
  event.preventDefault();
  main.focus();
}

async function begin() {
  drawTabs();
  drawStatus();
  document.querySelector(".skip").addEventListener("click", skipToMain);
  document.addEventListener("keydown", leaveByEscape);
  try {
    Object.assign(store, await about());
  } catch (error) {
    fill(main, h("div.page", {}, errorNote(error)));
    return;
  }
  drawStatus();
  addEventListener("hashchange", followRoute);
  followDevices();
  followRoute();
  followChanges();
}

begin();
