// The views of a result: table, JSON and chart.

import { barChart, lineChart } from "./chart.js";
import { fill, h } from "./dom.js";
import { count, idText, moment, preview } from "./format.js";
import { stringify, toNumber, typeOf } from "./json.js";
import { empty, field } from "./parts.js";
import { columnsFor, virtualTable } from "./table.js";

const SHOWN_CHARACTERS = 500_000;
const CHART_PADDING = 28;

/** The names of all columns, in the order of the statement or else of the rows. */
export function columnNames({ columns, rows }) {
  return columns ?? [...new Set(rows.flatMap((row) => Object.keys(row)))];
}

export function tableView(answer, signal) {
  const detail = h("pre.row-detail", { hidden: true, tabindex: "0" });
  const source = {
    count: answer.rows.length, columns: columnsFor(columnNames(answer), answer.rows),
    fetch: async (offset, limit) => answer.rows.slice(offset, offset + limit),
  };
  const open = (row) => {
    detail.hidden = false;
    detail.textContent = stringify(row, 2);
  };
  return [virtualTable(source, { label: "Result", open, signal }), detail];
}

export function jsonRows(rows) {
  let size = 0;
  const texts = [];
  for (const row of rows) {
    if (size > SHOWN_CHARACTERS) break;
    texts.push(stringify(row, 2));
    size += texts.at(-1).length;
  }
  const omitted = rows.length - texts.length;
  return [h("pre.json-rows", { tabindex: "0" }, texts.join("\n")),
    omitted > 0 && h("p.muted", {}, `${count(omitted)} more rows are in the table`)];
}

/** A chart of one column over another, with a choice of both. */
export function chartView(answer) {
  const { rows } = answer;
  const names = columnNames(answer);
  const numeric = names.filter((name) => rows.some((row) => toNumber(row[name]) !== null));
  if (numeric.length === 0) return empty("Nothing to draw", "A chart needs a column of numbers, such as COUNT(*) AS count.");
  const time = names.find((name) => rows.every((row) => timeOf(row[name]) !== null));
  const label = time ?? names.find((name) => rows.some((row) => typeOf(row[name]) === "string")) ?? names[0];
  const value = numeric.find((name) => name !== label) ?? numeric[0];
  const kind = time === undefined ? "bars" : "line";
  const controls = { label: choice(names, label), value: choice(numeric, value), kind: choice(["bars", "line"], kind) };
  const picture = h("div.chart", {});
  const draw = () => fill(picture, drawn(rows, controls, picture.clientWidth - CHART_PADDING));
  for (const control of Object.values(controls)) control.addEventListener("change", draw);
  // The width is known once the picture is in the page, and changes with the window.
  new ResizeObserver(draw).observe(picture);
  return [h("div.bar", {}, field("label", controls.label), field("value", controls.value), field("form", controls.kind)), picture];
}

function choice(names, chosen) {
  return h("select", {}, names.map((name) => h("option", { value: name, selected: name === chosen }, name)));
}

function drawn(rows, { label, value, kind }, width) {
  const points = rows.map((row, index) => ({
    label: labelText(row[label.value]), x: timeOf(row[label.value]) ?? toNumber(row[label.value]) ?? index,
    y: toNumber(row[value.value]),
  })).filter((point) => point.y !== null);
  if (kind.value === "bars") return barChart(points, value.value);
  const isTime = rows.every((row) => timeOf(row[label.value]) !== null);
  return lineChart([{ name: value.value, points: points.toSorted((a, b) => a.x - b.x) }], { isTime, width });
}

function labelText(value) {
  return typeOf(value) === "missing" ? "missing" : typeOf(value) === "string" ? preview(value, 60) : preview(idText(value), 60);
}

/** A text such as 2026-11-20, or milliseconds since 1970 after 2000, as milliseconds. */
function timeOf(value) {
  if (typeOf(value) === "string") return /^\d{4}-\d\d(-\d\d|$)/.test(value) ? (moment(value)?.getTime() ?? null) : null;
  const number = toNumber(value);
  return number !== null && number > 946684800000 && number < 4102444800000 ? number : null;
}
