#!/usr/bin/env python3
"""Rewrites format-spec/vectors/marks.txt from table 8 of log.md.

    make_mark_vectors.py [--check]

With --check nothing is written, and the exit code is 1 if the file would change.
"""
import struct
import sys

import vector_text
from sheaf_bytes import xxh3

HEAD = """\
# Marks for readers beside a writer (log.md, table 8), made from that page:
# Tests/FormatReader/make_mark_vectors.py.
"""
STORE = (0x0807060504030201, 0x100F0E0D0C0B0A09)


def mark(position, commit, replacements, directory=7, system=9, version=1):
    head = b"SHEAFSYN" + struct.pack("<IIQQQQ", version, 0, *STORE, directory, system)
    checksum = xxh3(head, 0)
    state = struct.pack("<QQQ", position, commit, replacements)
    return (head + struct.pack("<Q", checksum) + bytes(8) + state
            + struct.pack("<Q", xxh3(state, checksum)))


def marks(output):
    for case, comment, fields in (
            ("empty", "a store without commits", (0, 0, 0)),
            ("small", "a position in the first segment", (1 << 32 | 360, 3, 0)),
            ("large", "great numbers", ((1 << 64) - 1, (1 << 64) - 1, 1 << 40))):
        output.begin(case, comment)
        for name, value in zip(("position", "commit", "replacements"), fields):
            output.lines.append(f"{case}.{name} = {value}")
        output.lines += [f"{case}.directory = 7", f"{case}.system = 9"]
        output.bytes(f"{case}.mark", mark(*fields))


def refusals(output):
    right = mark(1 << 32 | 360, 3, 1)
    other = mark(1 << 32 | 360, 3, 1, directory=8)

    def changed(at):
        return right[:at] + bytes([right[at] ^ 1]) + right[at + 1:]

    for case, comment, data in (
            ("magic", "another magic", changed(0)),
            ("version", "an unknown version", mark(1, 1, 1, version=2)),
            ("store", "a changed store", changed(16)),
            ("checksum", "a changed checksum", changed(48)),
            ("position", "a changed position", changed(64)),
            ("state", "a changed checksum of the state", changed(88)),
            ("mixture", "the state of another owner", right[:64] + other[64:]),
            ("cut", "a truncated mark", right[:95])):
        output.begin(case, comment)
        output.bytes(f"{case}.refused", data)


if __name__ == "__main__":
    sys.exit(vector_text.main("marks.txt", HEAD, marks, refusals))
