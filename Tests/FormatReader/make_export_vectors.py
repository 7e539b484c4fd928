#!/usr/bin/env python3
"""Rewrites format-spec/vectors/export.txt from the rules of export.md.

    make_export_vectors.py [--check]

With --check nothing is written, and the exit code is 1 if the file would change.
"""
import base64
import ctypes
import sys

import vector_text
from document_writes import Peer
from make_attachment_vectors import id_of, list_of
from sheaf_dots import Document
from sheaf_encoder import encode, varint
from sheaf_values import json_of, json_string, sort_key, value_bytes, value_of

HEAD = """\
# Complete exports (export.md, "Vectors"), made from that page with an encoder of its own:
# Tests/FormatReader/make_export_vectors.py.
"""


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


XXH128 = ctypes.CDLL("libxxhash.so.0").XXH3_128bits_withSeed
XXH128.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
XXH128.restype = Hash128


def checksum(parts):
    """Returns the text of the sum of the hashes of (collection, key, content)."""
    total = 0
    for collection, key, content in parts:
        data = varint(len(collection)) + collection + varint(len(key)) + key + content
        found = XXH128(data, len(data), 0)
        total += found.high << 64 | found.low
    return f"{total % 2**128:032x}"


def line(*fields):
    return "{" + ",".join(f'"{name}":{text}' for name, text in fields) + "}\n"


def quoted(text):
    return json_string(text if isinstance(text, bytes) else text.encode())


def base64_of(data):
    return quoted(base64.b64encode(data))


class Export:
    """The lines of an export, and what its last line states."""

    def __init__(self):
        self.lines = [line(("type", quoted("sheaf-export")), ("version", "1"))]
        self.states, self.values, self.json = [], [], []
        self.counts = dict.fromkeys(("documents", "tombstones", "attachments", "indexes"), 0)

    def index(self, collection, name, *fields):
        self.counts["indexes"] += 1
        made = ",".join(
            '{"descending":' + ("true" if descending else "false") + ',"path":['
            + ",".join(map(quoted, path)) + "]}" for path, descending in fields)
        self.lines.append(line(
            ("type", quoted("index")), ("collection", quoted(collection)), ("name", quoted(name)),
            ("fields", f"[{made}]")))

    def attachment(self, data):
        self.counts["attachments"] += 1
        hashes = list_of(data)
        name = id_of(len(data), hashes).hex()
        self.lines.append(line(
            ("type", quoted("attachment")), ("id", quoted(name)), ("length", len(data)),
            ("hashes", base64_of(b"".join(hashes)))))
        for number in range(len(hashes)):
            self.lines.append(line(
                ("type", quoted("chunk")), ("number", number),
                ("bytes", base64_of(data[262_144 * number:262_144 * (number + 1)]))))
        return name

    def document(self, collection, identity, peer, unproven=()):
        whole = peer.document
        state = encode(Document(whole.vector, {}, whole.deletion, whole.dots, whole.overrides))
        key, shown = sort_key(value_of(identity)), whole.visible()
        self.counts["documents" if shown else "tombstones"] += 1
        self.states.append((collection.encode(), key, state))
        fields = [("type", quoted("document")), ("collection", quoted(collection)),
                  ("key", base64_of(key)), ("state", base64_of(state))]
        if unproven:
            fields.append(("unproven", "[" + ",".join(map(quoted, unproven)) + "]"))
        if shown:
            self.values.append((collection.encode(), key, value_bytes(shown)))
            named = ("object", tuple(sorted(shown[1] + ((b"_id", value_of(identity)),))))
            fields.append(("value", json_of(named)))
            self.json.append(json_of(named))
        self.lines.append(line(*fields))

    def finish(self, output, case, comment):
        self.lines.append(line(
            ("type", quoted("end")), *self.counts.items(),
            ("checksum", quoted(checksum(self.states)))))
        output.begin(case, comment)
        write(output, f"{case}.text", self.lines)
        write(output, f"{case}.json", [text + "\n" for text in self.json])
        output.text(f"{case}.contents", checksum(self.values).encode())
        return self.lines


def write(output, name, lines):
    output.lines.append(name + ":")
    for text in lines:
        words = list(vector_text.text(text.encode()))
        output.lines += vector_text.lines("    ", words, "   ")


def rich():
    export = Export()
    export.index("cars", "by n", (("n",), True), (("m", "y"), False))
    export.index("later", "i", (("x",), False))
    export.document("cars", "a", Peer(7).at(10).set("", {"m": {"x": 1}, "n": 1.0, "e": {}})
                    .at(20).increment("hits", 5).at(30).unset("m.x").increment_older("old", -3))
    export.document("cars", "b", Peer(7).at(11).set("", {"n": 2}).at(40).restart("hits", 2)
                    .at(41).increment("hits", 1))
    export.document("cars", "c", Peer(7).at(12).set("", {"n": None}).at(50).delete())
    data = bytes(262_144) + b"the last chunk"
    name = export.attachment(data)
    other = export.attachment(b"")
    export.document("files", 1, Peer(9).at(5).set("", {})
                    .attach("p", {"id": name, "len": len(data)})
                    .attach("q", {"id": other, "len": 0, "metadata": {"k": "größe"}}),
                    unproven=[other])
    export.document("seeds", [1, "x"], Peer(9).insert_initial({"v": None}))
    return export


def valid(output):
    Export().finish(output, "empty", "no documents")
    rich().finish(output, "rich", "counters, a tombstone, attachments, a seed, indexes")


def refused(output):
    export = Export()
    export.index("c", "i", (("x",), False))
    export.attachment(b"abc")
    export.document("c", "a", Peer(7).at(10).set("", {"n": 1}))
    right = Export.finish(export, vector_text.Output(""), "x", "")

    def case(name, comment, number, lines):
        output.begin(f"refused-{name}", comment)
        write(output, f"refused-{name}.refused", lines)
        output.lines.append(f"refused-{name}.line = {number}")

    def changed(index, old, new):
        assert old in right[index], (old, right[index])
        return right[:index] + [right[index].replace(old, new, 1)] + right[index + 1:]

    case("version", "an unknown version", 1, changed(0, ":1}", ":2}"))
    case("second", "a second first line", 2, right[:1] + right)
    case("type", "an unknown type", 2, changed(1, '"index"', '"indices"'))
    case("descending", "a number as a Boolean", 2, changed(1, "false", "0"))
    case("length", "another length of an attachment", 3, changed(2, '"length":3', '"length":4'))
    case("chunk", "a byte of a chunk differs", 4, changed(3, '"bytes":"YWJj"', '"bytes":"YWJk"'))
    case("base64", "bits after the last byte", 5, changed(4, '"key":"QGEA"', '"key":"QGE"'))
    case("key", "a key that is not canonical", 5, changed(4, '"key":"QGEA"', '"key":"QGE="'))
    case("state", "a state cut by a byte", 5, [
        *right[:4], right[4].replace(
            base64_of(export.states[0][2]), base64_of(export.states[0][2][:-1])), right[5]])
    case("value", "a value that is not that of the state", 5, changed(4, '"n":1', '"n":1.0'))
    case("collection", "an empty name", 5, changed(4, '"collection":"c"', '"collection":""'))
    case("missing-chunk", "an attachment without its chunk", 4, right[:3] + right[4:])
    case("after-end", "a line after the last one", 7, right + right[4:5])
    case("checksum", "another checksum", 0, right[:5] + [right[5].replace(
        checksum(export.states), checksum(export.values))])
    case("missing", "a missing document", 0, right[:4] + right[5:])
    case("end", "no last line", 0, right[:5])
    case("cut", "the last line feed is missing", 0, right[:5] + [right[5][:-1]])


if __name__ == "__main__":
    sys.exit(vector_text.main("export.txt", HEAD, valid, refused))
