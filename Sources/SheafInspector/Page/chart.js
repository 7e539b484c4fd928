// Charts as SVG: bars by label, and lines over time.

import { h, s } from "./dom.js";
import { count, cut, day, short, time } from "./format.js";

const NARROWEST = 300;
const DAY_MILLISECONDS = 86_400_000;
const MAXIMUM_BARS = 60;

/** Bars with their labels on the left, so that long labels are readable. */
export function barChart(points, name) {
  const shown = points.slice(0, MAXIMUM_BARS);
  const low = Math.min(0, ...shown.map(({ y }) => y));
  const span = Math.max(0, ...shown.map(({ y }) => y)) - low || 1;
  const rows = shown.map(({ label, y }) => {
    const bar = s("svg.bar-picture", { viewBox: "0 0 1000 20", preserveAspectRatio: "none", "aria-hidden": "true" },
      s("rect", { x: ((Math.min(0, y) - low) / span) * 1000, y: 2, width: Math.max(1, (Math.abs(y) / span) * 1000), height: 16, rx: 2 }));
    return [h("dt", { title: label }, cut(label, 60)), h("dd", {}, bar, h("span.number", {}, Number.isInteger(y) ? count(y) : short(y)))];
  });
  return h("figure", {}, h("figcaption", {}, name), h("dl.bars", {}, rows),
    points.length > shown.length && h("p.muted", {}, `the first ${MAXIMUM_BARS} of ${count(points.length)} rows`));
}

/** Lines over a common axis; `series` are `{ name, points: [{ x, y }] }`. */
export function lineChart(series, { isTime = false, width = 720, height = 260, zero = true, text = short, base = 10 } = {}) {
  const points = series.flatMap((one) => one.points);
  const box = { left: 62, top: 10, bottom: 26, height, end: Math.max(NARROWEST, width) - 12 };
  const scaleX = scale(points.map(({ x }) => x), box.left, box.end, false);
  const scaleY = scale(points.map(({ y }) => y), height - box.bottom, box.top, zero);
  return h("figure", {},
    series.length > 1 || series[0].name ? h("figcaption", {}, series.map((one, index) =>
      h("span.legend", { class: `line-${index}` }, h("span.dot"), one.name))) : null,
    s("svg.lines", { viewBox: `0 0 ${box.end + 12} ${height}`, role: "img", "aria-label": describe(series) },
      axisY(scaleY, box, text, base), axisX(scaleX, box, isTime), series.map((one, index) => line(one.points, scaleX, scaleY, index, text))));
}

function describe(series) {
  return series.map(({ name, points }) => {
    const last = points.at(-1);
    return `${name}: ${points.length} points${last ? `, the last is ${short(last.y)}` : ""}`;
  }).join("; ");
}

function scale(values, from, to, includesZero) {
  let low = values.reduce((a, b) => Math.min(a, b), includesZero ? 0 : Infinity);
  let high = values.reduce((a, b) => Math.max(a, b), includesZero ? 0 : -Infinity);
  if (!Number.isFinite(low)) [low, high] = [0, 1];
  if (low === high) high = low + 1;
  const at = (value) => from + ((value - low) / (high - low)) * (to - from);
  return { low, high, at };
}

/** Round steps that divide a range into at most `parts`; with the base 1,024, round in their unit. */
function steps({ low, high }, parts, base = 10) {
  const unit = base === 10 ? 1 : base ** Math.max(0, Math.floor(Math.log(high) / Math.log(base)));
  const rough = (high - low) / parts;
  const power = unit * 10 ** Math.floor(Math.log10(rough / unit));
  const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const all = [];
  for (let value = Math.ceil(low / step) * step; value <= high + step / 1e6; value += step) all.push(value);
  return all;
}

function axisY(scaleY, box, text, base) {
  return steps(scaleY, Math.max(2, Math.round(box.height / 60)), base).map((value) => s("g", {},
    s("line.grid", { x1: box.left, x2: box.end, y1: scaleY.at(value), y2: scaleY.at(value) }),
    s("text", { x: box.left - 6, y: scaleY.at(value) + 4, "text-anchor": "end" }, text(value))));
}

function axisX(scaleX, box, isTime) {
  const parts = Math.max(1, Math.min(5, Math.floor(box.end / 150)));
  const values = isTime ? Array.from({ length: parts + 1 }, (_, part) => scaleX.low + ((scaleX.high - scaleX.low) * part) / parts)
    : steps(scaleX, parts + 1);
  const text = (value) => (!isTime ? short(value) : scaleX.high - scaleX.low > 3 * DAY_MILLISECONDS ? day(value) : time(value));
  return values.map((value, index) => s("text", {
    x: scaleX.at(value), y: box.height - 6,
    "text-anchor": index === 0 ? "start" : index === values.length - 1 ? "end" : "middle",
  }, text(value)));
}

function line(points, scaleX, scaleY, index, text) {
  const at = ({ x, y }) => `${scaleX.at(x).toFixed(1)},${scaleY.at(y).toFixed(1)}`;
  const dots = points.length <= 60 ? points.map((point) => {
    const [cx, cy] = at(point).split(",");
    return s("circle", { cx, cy, r: 2.5 }, s("title", {}, `${point.label ?? short(point.x)}: ${text(point.y)}`));
  }) : [];
  return s("g.series", { class: `line-${index}` }, s("polyline", { points: points.map(at).join(" ") }), dots);
}

/** A small line without axes. */
export function sparkline(values, name) {
  const scaleX = scale([0, Math.max(1, values.length - 1)], 2, 198, false);
  const scaleY = scale(values, 42, 4, true);
  const path = values.map((value, index) => `${scaleX.at(index).toFixed(1)},${scaleY.at(value).toFixed(1)}`);
  const area = [`2,42`, ...path, `${scaleX.at(Math.max(0, values.length - 1)).toFixed(1)},42`];
  return s("svg.spark", { viewBox: "0 0 200 46", preserveAspectRatio: "none", role: "img", "aria-label": `${name}, ${values.length} samples` },
    s("polygon", { points: area.join(" ") }), s("polyline", { points: path.join(" ") }));
}
