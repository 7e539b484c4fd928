// The plan of a statement as a picture of its operators.

import { h } from "./dom.js";
import { count, nanoseconds, percent, preview } from "./format.js";
import { toNumber } from "./json.js";

// These are shown apart from the other facts of an operator.
const SHOWN = new Set(["#operator", "children", "documentsIn", "documentsOut", "nanoseconds", "rows"]);

/** Separates the row that EXPLAIN or PROFILE returns from the other rows. */
export function separatePlan(rows) {
  const last = rows.at(-1);
  const profile = last?.["~request_profile"];
  if (profile) return { rows: rows.slice(0, -1), plan: profile.plan, nanoseconds: toNumber(profile.nanoseconds) };
  const isPlan = rows.length === 1 && last.plan?.["#operator"];
  return isPlan ? { rows: [], plan: last.plan, nanoseconds: null } : { rows, plan: null, nanoseconds: null };
}

/** The operators from the result, at the top, to the scans, at the bottom. */
export function planPicture(plan, total) {
  const sum = total ?? operatorsOf(plan).reduce((time, operator) => time + (toNumber(operator.nanoseconds) ?? 0), 0);
  const slowest = operatorsOf(plan).reduce((a, b) => (timeOf(b) > timeOf(a) ? b : a));
  return h("div.plan", { role: "region", "aria-label": "Plan", tabindex: "0" },
    total !== null && h("p.muted", {}, `${nanoseconds(total)} in total`),
    h("ul.operators", {}, operatorNode(plan, sum, slowest)));
}

function timeOf(operator) {
  return toNumber(operator.nanoseconds) ?? -1;
}

function operatorsOf(operator) {
  return [operator, ...(operator.children ?? []).flatMap(operatorsOf)];
}

function operatorNode(operator, total, slowest) {
  const children = operator.children ?? [];
  const isSlowest = operator === slowest && timeOf(operator) >= 0;
  return h("li", {},
    h("div.operator", { class: isSlowest ? "slowest" : "" },
      h("div.operator-head", {}, h("strong", {}, operator["#operator"]), h("span.muted", {}, subject(operator))),
      rowsText(operator), timeShare(operator, total), factList(operator)),
    children.length > 0 && h("ul", { class: children.length > 1 ? "operators fork" : "operators" },
      children.map((child) => operatorNode(child, total, slowest))));
}

function subject({ collection, alias, index }) {
  return [collection, alias && alias !== collection ? `as ${alias}` : null, index && `by ${preview(index)}`].filter(Boolean).join(" ");
}

function rowsText({ documentsIn, documentsOut, rows }) {
  if (documentsOut != null) {
    const read = documentsIn != null && documentsIn !== documentsOut ? `${count(documentsIn)} → ` : "";
    return h("p.operator-rows", {}, `${read}${count(documentsOut)} rows`);
  }
  return rows == null ? null : h("p.operator-rows", {}, `about ${count(rows)} rows`);
}

function timeShare(operator, total) {
  const time = toNumber(operator.nanoseconds);
  if (time === null || !total) return null;
  const share = time / total;
  return h("div.operator-time", {},
    h("span.meter", {}, h("span.meter-fill", { style: { width: `${Math.max(0.5, share * 100)}%` } })),
    h("span.number", {}, `${nanoseconds(time)} · ${percent(share)}`));
}

function factList(operator) {
  const names = Object.keys(operator).filter((name) => !SHOWN.has(name) && !["collection", "alias", "index"].includes(name));
  return names.length === 0 ? null : h("dl.operator-facts", {}, names.map((name) =>
    [h("dt", {}, name), h("dd", { title: preview(operator[name], 2000) }, factText(operator[name]))]));
}

function factText(value) {
  return Array.isArray(value) ? value.map((part) => preview(part, 120)).join(", ") : preview(value, 120);
}
