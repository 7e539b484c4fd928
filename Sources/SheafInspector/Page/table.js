// A table of which only the visible rows are in the document, so that a million rows scroll.

import { fill, freshID, h } from "./dom.js";
import { count } from "./format.js";
import { toNumber } from "./json.js";
import { valueText } from "./parts.js";

const ROW_PIXELS = 30;
const OVERSCAN_ROWS = 6;
const PAGE_ROWS = 100;
const KEPT_PAGES = 40;
const FETCH_DELAY_MILLISECONDS = 40;
// Browsers limit the height of an element; a longer table scrolls by more rows per pixel.
const MAXIMUM_PIXELS = 12_000_000;

/**
 * Creates a table over `source`: `count` rows, `columns` by name, and `fetch(offset, limit)`.
 * `open(row, index)` is called for a row that is clicked or entered.
 */
export function virtualTable(source, { label, open, signal }) {
  return new VirtualTable(source, label, open, signal).node;
}

class VirtualTable {
  pages = new Map();
  waiting = new Set();
  selected = 0;
  firstRow = 0;
  generation = 0;

  constructor(source, label, open, signal) {
    Object.assign(this, { source, open, signal, id: freshID("table") });
    this.head = h("div.vhead", { role: "row" });
    this.body = h("div.vbody", { role: "rowgroup" });
    this.note = h("p.vnote", { role: "status" });
    this.view = h("div.vtable", {
      role: "grid", tabindex: "0", "aria-label": label, "aria-rowcount": String(source.count),
      onscroll: () => this.draw(), onkeydown: (event) => this.key(event),
    }, this.head, this.body);
    this.node = h("div.vframe", {}, this.view, this.note);
    this.node.refresh = (next) => this.refresh(next);
    this.resize = new ResizeObserver(() => this.draw());
    this.resize.observe(this.view);
    signal?.addEventListener("abort", () => this.resize.disconnect());
    this.layout();
  }

  /** Reads the visible rows again; the others are read when they become visible. */
  refresh(next) {
    Object.assign(this.source, next);
    this.generation += 1;
    this.stale = this.pages;
    this.pages = new Map();
    this.view.setAttribute("aria-rowcount", String(this.source.count));
    this.layout();
  }

  layout() {
    const pixels = Math.min(this.source.count * ROW_PIXELS, MAXIMUM_PIXELS);
    this.body.style.height = `${pixels}px`;
    const widths = this.source.columns.map(({ width }) => `${width ?? 140}px`).join(" ");
    this.view.style.setProperty("--columns", widths);
    this.view.style.setProperty("--rows", Math.min(this.source.count, 1000));
    fill(this.head, this.source.columns.map(({ name, kind }) =>
      h("div.vcell", { role: "columnheader", class: kind, title: name }, name)));
    this.draw();
  }

  get visibleRows() {
    return Math.max(1, Math.floor((this.view.clientHeight - ROW_PIXELS) / ROW_PIXELS));
  }

  /** Returns the number of the first visible row, with its fraction. */
  topRow() {
    const range = this.body.offsetHeight - (this.view.clientHeight - ROW_PIXELS);
    const last = Math.max(0, this.source.count - (this.view.clientHeight - ROW_PIXELS) / ROW_PIXELS);
    return range > 0 ? (this.view.scrollTop / range) * last : 0;
  }

  draw() {
    // The bar for scrolling sideways needs space beneath the last row.
    this.view.style.setProperty("--bar", this.view.scrollWidth > this.view.clientWidth ? "16px" : "1px");
    const top = this.topRow();
    const first = Math.max(0, Math.floor(top) - OVERSCAN_ROWS);
    const end = Math.min(this.source.count, Math.ceil(top) + this.visibleRows + OVERSCAN_ROWS);
    const rows = [];
    for (let index = first; index < end; index += 1) {
      rows.push(this.rowNode(index, this.view.scrollTop + (index - top) * ROW_PIXELS));
    }
    fill(this.body, rows);
    this.mark();
    this.request(Math.floor(top), Math.min(this.source.count, Math.ceil(top) + this.visibleRows));
    this.report(top);
  }

  rowNode(index, y) {
    const row = this.rowAt(index);
    const attributes = {
      role: "row", id: `${this.id}-${index}`, "aria-rowindex": String(index + 1), "data-index": String(index),
      style: { transform: `translateY(${y}px)` },
      onclick: () => { this.selected = index; this.mark(); if (row) this.open?.(row, index); },
    };
    if (!row) return h("div.vrow.absent", attributes, h("div.vcell", { role: "gridcell" }, "…"));
    return h("div.vrow", attributes, this.source.columns.map(({ name, cell, kind }) =>
      h("div.vcell", { role: "gridcell", class: kind }, cell ? cell(row, index) : valueText(row[name]))));
  }

  rowAt(index) {
    const page = Math.floor(index / PAGE_ROWS);
    return (this.pages.get(page) ?? this.stale?.get(page))?.[index % PAGE_ROWS];
  }

  /** Reads the pages of the visible rows, once scrolling has paused. */
  request(first, end) {
    const wanted = new Set();
    for (let row = first; row < end; row += 1) wanted.add(Math.floor(row / PAGE_ROWS));
    const absent = [...wanted].filter((page) => !this.pages.has(page));
    clearTimeout(this.timer);
    if (absent.length === 0) return;
    const delay = this.pages.size === 0 ? 0 : FETCH_DELAY_MILLISECONDS;
    this.timer = setTimeout(() => absent.forEach((page) => this.load(page)), delay);
  }

  async load(page) {
    const key = `${this.generation}/${page}`;
    if (this.waiting.has(key) || this.signal?.aborted) return;
    this.waiting.add(key);
    const generation = this.generation;
    try {
      const rows = await this.source.fetch(page * PAGE_ROWS, PAGE_ROWS);
      if (generation === this.generation) this.keep(page, rows);
    } catch (error) {
      if (error.name !== "AbortError") this.failure = error.message;
    } finally {
      this.waiting.delete(key);
    }
    if (!this.signal?.aborted && generation === this.generation) this.draw();
  }

  keep(page, rows) {
    this.failure = null;
    this.pages.set(page, rows);
    const [oldest] = this.pages.keys();
    if (this.pages.size > KEPT_PAGES) this.pages.delete(oldest);
  }

  report(top) {
    const { count: total } = this.source;
    const last = Math.min(total, Math.floor(top) + this.visibleRows);
    const range = total === 0 ? "no rows" : `rows ${count(Math.floor(top) + 1)} to ${count(last)} of ${count(total)}`;
    this.note.textContent = this.failure ? `Error: ${this.failure}` : range;
  }

  key(event) {
    const steps = {
      ArrowDown: 1, ArrowUp: -1, PageDown: this.visibleRows, PageUp: -this.visibleRows,
      Home: -this.source.count, End: this.source.count,
    };
    if (event.key === "Enter") return this.enter();
    if (!(event.key in steps) || event.ctrlKey || event.altKey) return;
    event.preventDefault();
    this.select(this.selected + steps[event.key]);
  }

  enter() {
    const row = this.rowAt(this.selected);
    if (row) this.open?.(row, this.selected);
  }

  select(index) {
    this.selected = Math.max(0, Math.min(this.source.count - 1, index));
    const top = this.topRow();
    const isVisible = this.selected >= top && this.selected + 1 <= top + this.visibleRows;
    if (!isVisible) this.scrollTo(this.selected < top ? this.selected : this.selected - this.visibleRows + 1);
    this.mark();
  }

  scrollTo(row) {
    const range = this.body.offsetHeight - (this.view.clientHeight - ROW_PIXELS);
    const last = Math.max(1, this.source.count - (this.view.clientHeight - ROW_PIXELS) / ROW_PIXELS);
    this.view.scrollTop = Math.ceil((Math.min(row, last) / last) * range);
    this.draw();
  }

  mark() {
    for (const row of this.body.children) {
      row.setAttribute("aria-selected", Number(row.dataset.index) === this.selected);
    }
    this.view.setAttribute("aria-activedescendant", `${this.id}-${this.selected}`);
  }
}

/** Returns widths of columns that fit the first rows. */
export function columnsFor(names, rows, cells = {}) {
  const lengths = (name) => rows.slice(0, 30).map((row) => valueText(row[name], 40).textContent.length);
  return names.map((name) => ({
    // A field may be named `constructor`.
    name, cell: Object.hasOwn(cells, name) ? cells[name] : null,
    kind: isNumeric(rows, name) ? "number" : "",
    width: Math.round(Math.min(300, Math.max(72, 25 + 7.7 * Math.max(name.length, ...lengths(name))))),
  }));
}

function isNumeric(rows, name) {
  const values = rows.map((row) => row[name]).filter((value) => value !== undefined && value !== null);
  return values.length > 0 && values.every((value) => toNumber(value) !== null);
}
