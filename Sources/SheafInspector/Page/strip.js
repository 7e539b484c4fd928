// The log as a strip: one bar for each commit, or for several, whose height shows their bytes.

import { s } from "./dom.js";
import { bytes, count } from "./format.js";
import { toNumber } from "./json.js";

const WIDTH = 1000;
const HEIGHT = 72;
const MAXIMUM_BARS = 250;

/** Draws commits; a click on one calls `choose` with its index. */
export function commitStrip(commits, chosen, choose) {
  const group = Math.ceil(commits.length / MAXIMUM_BARS);
  const bars = grouped(commits, group);
  const highest = Math.max(1, ...bars.map(({ size }) => size));
  const width = WIDTH / bars.length;
  const step = Math.min(width, 12);
  const shapes = bars.map((bar, index) => {
    const height = Math.max(2, Math.sqrt(bar.size / highest) * (HEIGHT - 6));
    const isChosen = Math.floor(chosen / group) === index;
    return s("rect", {
      class: `${isChosen ? "chosen" : ""} ${bar.isLocal ? "local" : "received"}`,
      x: index * step, y: HEIGHT - height, width: Math.max(1, step - (step > 3 ? 1 : 0)), height,
    }, s("title", {}, `${bar.title}, ${bytes(bar.size)}`));
  });
  const strip = s("svg.strip", { viewBox: `0 0 ${step * bars.length} ${HEIGHT}`, preserveAspectRatio: "none", "aria-hidden": "true" }, shapes);
  strip.addEventListener("click", (event) => {
    const box = strip.getBoundingClientRect();
    choose(Math.floor(((event.clientX - box.left) / box.width) * bars.length) * group);
  });
  return strip;
}

function grouped(commits, group) {
  const bars = [];
  for (let start = 0; start < commits.length; start += group) {
    const part = commits.slice(start, start + group);
    const numbers = part.length > 1 ? `commits ${count(part[0].commit)} to ${count(part.at(-1).commit)}` : `commit ${count(part[0].commit)}`;
    bars.push({
      title: numbers, size: part.reduce((sum, row) => sum + (toNumber(row.bytes) ?? 0), 0),
      isLocal: part.filter((row) => row.isLocal !== false).length * 2 >= part.length,
    });
  }
  return bars;
}
