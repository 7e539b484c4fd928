#!/usr/bin/env python3
"""Rewrites format-spec/vectors/attachments.txt from the rules of attachments.md.

    make_attachment_vectors.py [--check]

With --check nothing is written, and the exit code is 1 if the file would change.
"""
import hashlib
import struct
import sys

import vector_text
from sheaf_bytes import xxh3

HEAD = """\
# Attachments (attachments.md, "Vectors"), made from that page with Python's own hash:
# Tests/FormatReader/make_attachment_vectors.py.
"""
CHUNK = 262_144


def sha(data):
    return hashlib.sha256(data).digest()


def contents(length, seed):
    return bytes((((seed + i) * 2_654_435_761) >> 24) & 0xFF for i in range(length))


def list_of(data):
    return [sha(b"\0" + data[at:at + CHUNK]) for at in range(0, len(data), CHUNK)]


def id_of(length, hashes):
    return sha(b"\1" + struct.pack("<Q", length) + b"".join(hashes))


def head(length, name, hashes, here, since=0):
    bits = bytearray((len(hashes) + 7) // 8)
    for chunk in here:
        bits[chunk // 8] |= 1 << chunk % 8
    mark = struct.pack("<Q", since)
    data = (b"SHEAFATT" + struct.pack("<IIQ", 1, 0, length) + name + mark
            + struct.pack("<Q", xxh3(mark, 0)) + bytes(24) + b"".join(hashes) + bytes(bits))
    return data + bytes(-len(data) % 4_096)


def token(length, name):
    """Encodes an object of two spelled fields as in documents.md."""
    digits = name.hex().encode()
    for size, tag in ((1, 4), (2, 5), (4, 6), (8, 7)):
        if -(1 << 8 * size - 1) <= length < 1 << 8 * size - 1:
            number = bytes([tag]) + length.to_bytes(size, "little", signed=True)
            break
    fields = [b"\2id" + b"\x09" + digits, b"\3len" + number]
    ends = [len(fields[0]), len(fields[0]) + len(fields[1])]
    assert ends[1] <= 255
    return bytes([12]) + b"".join(fields) + bytes(ends) + bytes([2, 0, 8])


def hashes(output):
    cases = [("empty", b""), ("abc", b"abc"),
             ("two-blocks", b"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
             ("four-blocks", b"abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
              b"hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu")]
    for length in (55, 56, 57, 63, 64, 65, 119, 120, 128):
        cases.append((f"length-{length}", contents(length, length)))
    for case, data in cases:
        output.begin(case, f"SHA-256 of {len(data)} bytes")
        output.text(f"{case}.input", data)
        output.bytes(f"{case}.hash", sha(data))
    output.begin("million", "SHA-256 of a million times one letter")
    output.text("million.repeated", b"a")
    output.lines.append("million.count = 1000000")
    output.bytes("million.hash", sha(b"a" * 1_000_000))


def files(output):
    for case, length, here, since in (
            ("nothing", 0, [], 0), ("byte", 1, [], 5), ("small", 1_000, [], 0),
            ("chunk", CHUNK, [0], 1_780_000_000_000), ("longer", CHUNK + 1, [1], 1),
            ("many", 9 * CHUNK + 4_711, [0, 3, 7, 8], (1 << 64) - 1)):
        data = contents(length, len(case))
        hashes = list_of(data)
        name = id_of(length, hashes)
        output.begin(case, f"a file of {length} bytes")
        output.lines += [f"{case}.length = {length}", f"{case}.seed = {len(case)}"]
        output.bytes(f"{case}.list", b"".join(hashes))
        output.bytes(f"{case}.id", name)
        output.bytes(f"{case}.whole", head(length, name, hashes, range(len(hashes))))
        output.bytes(f"{case}.part", head(length, name, hashes, here, since))
        output.bytes(f"{case}.here", bytes(here))
        output.lines.append(f"{case}.since = {since}")
        output.bytes(f"{case}.token", token(length, name))


def refusals(output):
    length = CHUNK + 10
    hashes = list_of(contents(length, 1))
    name = id_of(length, hashes)
    right = head(length, name, hashes, range(2))

    def changed(at, value):
        return right[:at] + value + right[at + len(value):]

    for case, comment, data in (
            ("magic", "another magic", changed(0, b"sheafatt")),
            ("version", "an unknown version", changed(8, b"\2")),
            ("reserved", "a nonzero reserved byte", changed(12, b"\1")),
            ("length", "another length with the same number of chunks", changed(16, b"\x0b")),
            ("huge", "a length above the limit", changed(16, struct.pack("<Q", (1 << 36) + 1))),
            ("id", "the id of another file", changed(24, bytes(32))),
            ("list", "another hash", changed(96 + 32, bytes(32))),
            ("swapped", "the hashes in another order", changed(96, hashes[1] + hashes[0])),
            ("bits", "the bit of the last chunk is not set", changed(96 + 64, b"\1")),
            ("surplus", "a bit set beyond the last chunk", changed(96 + 64, b"\7")),
            ("cut", "a truncated head", right[:4_095])):
        output.begin(f"head-{case}", comment)
        output.bytes(f"head-{case}.refused", data)
        output.bytes(f"head-{case}.name", name)


if __name__ == "__main__":
    sys.exit(vector_text.main("attachments.txt", HEAD, hashes, files, refusals))
