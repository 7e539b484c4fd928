// The page Time: a slider over the commits of the log, and the store as it was after one of them.

import { rowsOf } from "./api.js";
import { onCommit } from "./changes.js";
import { commitChanges } from "./commit.js";
import { debounce, fill, h, s, throttle } from "./dom.js";
import { bytes, count, counted, fullTime, time } from "./format.js";
import { earlierState } from "./past.js";
import { empty, errorNote, fact, heading, loading, siteText } from "./parts.js";
import { go } from "./router.js";
import { commitStrip } from "./strip.js";

const MAXIMUM_COMMITS = 10000;
const FIRST_COMMITS = 100;
const READ_COMMITS = 1000;
const READ_AFTER_MILLISECONDS = 120;

export function mount(root, context) {
  const page = new TimePage(root, context);
  return (route) => page.follow(route);
}

class TimePage {
  commits = [];
  isComplete = false;
  chosen = null;
  route = { parts: [], values: new URLSearchParams() };

  constructor(root, context) {
    this.context = context;
    this.body = h("div.stack", {}, loading());
    fill(root, heading("Time"), this.body);
    this.readLater = debounce(READ_AFTER_MILLISECONDS, () => this.showParts());
    this.build();
    this.readAll();
    onCommit(context.signal, throttle(500, () => this.readNew()));
  }

  build() {
    this.strip = h("div.strip-frame");
    this.slider = h("input.slider", { type: "range", min: "0", value: "0", step: "1", "aria-label": "Commit", oninput: () => this.choose(Number(this.slider.value)) });
    this.facts = h("dl.facts-row");
    this.changes = h("div");
    this.state = h("div");
    const step = (shape, title, move) => h("button", { type: "button", title, "aria-label": title, onclick: () => this.choose(move(Number(this.slider.value))) },
      s("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, s("path", { d: shape })));
    this.controls = h("div.stepper", {},
      step("M4 3h2v10H4zM13 3v10L7 8z", "Oldest commit", () => 0), step("M11 3v10L5 8z", "Previous commit", (at) => at - 1),
      step("M5 3v10l6-5z", "Next commit", (at) => at + 1), step("M10 3h2v10h-2zM3 3v10l6-5z", "Newest commit", () => this.commits.length - 1));
    this.content = [h("div.card.time-head", {}, this.strip, this.slider, h("div.time-line", {}, this.controls, this.facts)),
      h("div.columns", {}, h("section.card", {}, h("h2", {}, "Changes of this commit"), this.changes),
        h("section.card", {}, h("h2", {}, "The store after this commit"), this.state))];
  }

  /** Reads the newest commits, and then earlier ones: a long log is shown before it is read. */
  async readAll() {
    if (!await this.read("", FIRST_COMMITS)) return;
    while (this.commits.length < MAXIMUM_COMMITS && await this.read(`WHERE commit < ${this.commits[0].commit}`, READ_COMMITS));
    this.isComplete = true;
    if (this.commits.length > 0) this.draw();
    else fill(this.body, empty("The log has no commits", "The first statement that writes makes the first commit."));
  }

  /** Reads commits that later ones have added. */
  readNew() {
    if (this.commits.length > 0) this.read(`WHERE commit > ${this.commits.at(-1).commit}`, MAXIMUM_COMMITS);
    else if (this.isComplete) this.readAll();
  }

  /** Reads commits; returns whether there may be more. */
  async read(condition, limit) {
    try {
      const statement = `SELECT * FROM system:log ${condition} ORDER BY commit DESC LIMIT ${limit}`;
      const rows = await rowsOf(statement, {}, { limit, signal: this.context.signal });
      const known = new Map([...rows, ...this.commits].map((row) => [row.commit, row]));
      this.commits = [...known.values()].sort((a, b) => a.commit - b.commit).slice(-MAXIMUM_COMMITS);
      if (rows.length > 0) this.draw();
      return rows.length === limit;
    } catch (error) {
      if (error.name !== "AbortError") fill(this.body, errorNote(error));
      return false;
    }
  }

  follow(route) {
    this.route = route;
    if (this.commits.length > 0) this.draw();
  }

  /** Whether the commit of the route is among those that are still to be read. */
  get isAwaited() {
    return !this.isComplete && this.route.parts[0] !== undefined && Number(this.route.parts[0]) < this.commits[0].commit;
  }

  /** The index of the commit of the route, or of the newest one. */
  get index() {
    const wanted = this.route.parts[0];
    if (wanted === undefined) return this.commits.length - 1;
    const at = this.commits.findIndex((row) => row.commit >= Number(wanted));
    return at < 0 ? this.commits.length - 1 : at;
  }

  choose(index) {
    const at = Math.max(0, Math.min(this.commits.length - 1, index));
    const parts = at === this.commits.length - 1 ? ["time"] : ["time", String(this.commits[at].commit)];
    this.route = { ...this.route, parts: parts.slice(1) };
    go(parts, Object.fromEntries(this.route.values), { replace: true });
    this.draw();
  }

  draw() {
    if (this.isAwaited) return;
    if (!this.slider.isConnected) fill(this.body, this.content);
    const row = this.commits[this.index];
    this.slider.max = String(this.commits.length - 1);
    this.slider.value = String(this.index);
    this.slider.setAttribute("aria-valuetext", `commit ${row.commit} at ${time(row.time)}, ${bytes(row.bytes)}`);
    fill(this.strip, commitStrip(this.commits, this.index, (index) => this.choose(index)));
    fill(this.facts, commitFacts(row));
    const key = `${row.commit}?${this.route.values}`;
    if (key === this.key) return;
    this.key = key;
    this.chosen = row.commit;
    this.readLater();
  }

  async showParts() {
    const values = this.route.values;
    const keep = (changed) => {
      const next = { ...Object.fromEntries(values), ...changed };
      this.route = { ...this.route, values: new URLSearchParams(next) };
      this.key = `${this.chosen}?${this.route.values}`;
      go(["time", ...this.route.parts], next, { replace: true });
    };
    this.partStop?.abort();
    this.partStop = new AbortController();
    this.context.signal.addEventListener("abort", () => this.partStop.abort());
    const context = { ...this.context, signal: this.partStop.signal };
    commitChanges(this.changes, this.chosen, context);
    earlierState(this.state, this.chosen, { ...context, values, keep });
  }
}

function commitFacts(row) {
  return [
    fact("commit", count(row.commit)), fact("time", time(row.time), fullTime(row.time)), fact("size", bytes(row.bytes)),
    fact("documents", count(row.documents), counted(row.operations, "operation")),
    fact("site", [siteText(row.site), row.isLocal === false ? " received" : ""]),
  ];
}
