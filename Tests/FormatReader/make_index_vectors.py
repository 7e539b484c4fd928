#!/usr/bin/env python3
"""Rewrites format-spec/vectors/indexes.txt from the rules of indexes.md.

    make_index_vectors.py [--check]

With --check nothing is written, and the exit code is 1 if the file would change.
"""
import struct
import sys

import vector_text
from sheaf_values import components, json_of, sort_key, value_of

HEAD = """\
# Index entries, also those of tombstones (indexes.md, "Vectors"), generated from that page with an
# encoder of its own: Tests/FormatReader/make_index_vectors.py.
"""
LONGEST, CUT = 1_032, 256
CASES = [
    ("text", "a", ["blue"], "abc"),
    ("integer", "a", [-7], 12),
    ("float", "a", [1.5], 12),
    ("negative-zero", "a", [-0.0], [1, {"x": True}]),
    ("beyond-floats", "a", [2**53 + 1], "a"),
    ("float-beyond", "a", [2.0**53], "a"),
    ("null", "a", [None], "a"),
    ("missing", "a", [], "a"),
    ("descending", "d", ["blue"], "abc"),
    ("several", "ada", ["x", 2.5, {"a": [1, 2.0, -0.0]}], 3),
    ("several-missing", "add", ["x"], 3),
    ("five-floats", "aaaaa", [1.0, 2, 3.0, 4, 5.0], "a"),
    ("zeros-in-texts", "ad", ["\0\1", "\1\0"], "\0"),
    ("longest", "a", ["x" * (LONGEST - 6 - 2 - 3)], "a"),
    ("longest-float", "aa", ["x" * (LONGEST - 6 - 2 - 9 - 1 - 3), 0.5], "a"),
    ("cut", "a", ["x" * (LONGEST - 6 - 1 - 3)], "aa"),
    ("cut-by-trailer", "aa", ["x" * (LONGEST - 6 - 2 - 9 - 3), 0.5], "a"),
    ("cut-descending", "da", ["x" * 2_000, 1], "a"),
    ("cut-longest-id", "a", ["x" * 255], "y" * (LONGEST - 6 - CUT - 2)),
    ("bare", "a", ["x" * 255], "y" * (LONGEST - 6 - CUT - 1)),
    ("bare-short-values", "aa", ["x" * 20], "y" * 1_019),
    ("longest-id", "a", [True], "y" * 1_019),
]


def entry(directions, values, identity):
    header = b"\xff" + struct.pack(">HH", 258, 5)
    key, forms = b"", []
    for index, direction in enumerate(directions):
        part, more = components(value_of(values[index])) if index < len(values) else (b"\x80", [])
        key += bytes(255 - byte for byte in part) if direction == "d" else part
        forms += more
    packed = sum(form << 2 * index for index, form in enumerate(forms))
    trailer = packed.to_bytes(len(forms) // 4 + 1, "little").rstrip(b"\0")
    document = sort_key(value_of(identity))
    whole = header + b"\0" + key + document + trailer
    if len(whole) <= LONGEST:
        return whole
    cut = header + b"\1" + key[:CUT] + document
    if len(key) >= CUT and len(cut) <= LONGEST:
        return cut
    return header + b"\2" + document


TOMBSTONES = [
    ("tombstone", "abc"), ("tombstone-integer", -1), ("tombstone-longest-id", "y" * 1_019)]


def tombstone(identity):
    return b"\xff" + struct.pack(">HH", 258, 65_535) + sort_key(value_of(identity))


def write_all(output):
    for case, directions, values, identity in CASES:
        made = entry(directions, values, identity)
        output.begin(case, ("complete", "truncated", "id only")[made[5]])
        output.text(f"{case}.json", json_of(value_of(values)).encode())
        output.text(f"{case}.directions", directions.encode())
        output.text(f"{case}.id", json_of(value_of(identity)).encode())
        output.bytes(f"{case}.entry", made)
    for case, identity in TOMBSTONES:
        output.begin(case, "a tombstone")
        output.text(f"{case}.id", json_of(value_of(identity)).encode())
        output.bytes(f"{case}.tombstone", tombstone(identity))


if __name__ == "__main__":
    sys.exit(vector_text.main("indexes.txt", HEAD, write_all))
