// The documents of a collection, now or as of a commit, as the source of a table.

import { query, rowsOf } from "./api.js";
import { h } from "./dom.js";
import { idText, preview } from "./format.js";
import { columnsFor } from "./table.js";

const MAXIMUM_COLUMNS = 24;
const SAMPLED_ROWS = 50;

/** Counts the documents of a FROM clause. */
export async function countOf(from, signal) {
  const [{ count }] = await rowsOf(`SELECT COUNT(*) AS count ${from}`, {}, { signal });
  return Number(count);
}

/** Returns the documents of a FROM clause as the source of a table; its columns are those of the first ones. */
export async function documentSource(from, signal) {
  const [count, sample] = await Promise.all([
    countOf(from, signal), rowsOf(`SELECT * ${from} LIMIT ${SAMPLED_ROWS}`, {}, { signal }),
  ]);
  const names = [...new Set(["_id", ...sample.flatMap((row) => Object.keys(row))])].slice(0, MAXIMUM_COLUMNS);
  const source = { count, columns: columnsFor(names, sample, { _id: (row) => h("span.id", {}, preview(idText(row._id), 60)) }) };
  source.fetch = (offset, limit) => readRows(from, offset, Math.min(limit, source.count - offset), source.count, signal);
  return source;
}

/** Reads a window of rows; in the second half of a collection from its end, which is nearer. */
async function readRows(from, offset, limit, total, signal) {
  const isNearEnd = offset > total / 2;
  const direction = isNearEnd ? "DESC" : "ASC";
  const rows = [];
  // An answer has at most 8 MiB, so a window of large documents takes several.
  while (rows.length < limit) {
    const skipped = (isNearEnd ? total - offset - limit : offset) + rows.length;
    const answer = await query(
      `SELECT * ${from} ORDER BY _id ${direction} LIMIT ${limit - rows.length} OFFSET ${skipped}`, {}, { signal });
    rows.push(...answer.rows);
    if (answer.rows.length === 0 || !answer.isTruncated) break;
  }
  return isNearEnd ? rows.reverse() : rows;
}
