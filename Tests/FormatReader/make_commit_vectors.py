#!/usr/bin/env python3
"""Rewrites format-spec/vectors/commits.txt from the rules of commits.md.

    make_commit_vectors.py [--check]

With --check nothing is written, and the exit code is 1 if the file would change.
"""
import hashlib
import struct
import sys

import vector_text
from sheaf_bytes import xxh3
from document_joins import both
from document_writes import Peer
from sheaf_commits import (
    DELTA, STATE, BOTH, WHOLE, is_clock, is_former_sites, is_pauses, read_import,
    read_document, read_id, read_index, read_origin)
from sheaf_dots import Document, MAP, normalized
from sheaf_encoder import encode
from sheaf_values import Refused, json_of, sort_key, value_of, varint

HEAD = """\
# Commits (commits.md, "Vectors"), made from that page with an encoder of its own:
# Tests/FormatReader/make_commit_vectors.py.
"""
PUT, EXTEND = 1, 3
IDS = [("id-string", "abc"), ("id-empty", ""), ("id-integer", -7), ("id-bool", True),
       ("id-array", [1, "x", []]), ("id-object", {"b": 1, "a": {"c": "d"}})]
BIG = {f"key{number:03}": number for number in range(100)}
INDEXES = [
    ("index-one", "by_color", [(["color"], False)]),
    ("index-several", "caf\u00e9", [(["a", "b", ""], True), (["_id"], False), (["c"], True)]),
    ("index-most", "n" * 1_024, [([""] * 64, False)] + [(["x"], True)] * 15),
]
REFUSED_INDEXES = [
    ("index-empty", "no bytes", b""),
    ("index-kind", "an unknown kind", b"\2\1a\1\0\1b"),
    ("index-unnamed", "a name without bytes", b"\1\0\1\0\1\1b"),
    ("index-long-name", "a name of 1,025 bytes", b"\1\x81\x08" + b"a" * 1_025 + b"\1\0\1\1b"),
    ("index-no-fields", "no fields", b"\1\1a\0"),
    ("index-many-fields", "17 fields", b"\1\1a\x11" + b"\0\1\1b" * 17),
    ("index-direction", "an unknown direction", b"\1\1a\1\2\1\1b"),
    ("index-no-path", "a path without components", b"\1\1a\1\0\0"),
    ("index-long-path", "65 components", b"\1\1a\1\0\x41" + b"\1b" * 65),
    ("index-text", "a component that is not UTF-8", b"\1\1a\1\0\1\1\xff"),
    ("index-name-text", "a name that is not UTF-8", b"\1\1\xff\1\0\1\1b"),
    ("index-cut", "a component that ends beyond its path", b"\1\1a\1\0\1\2b"),
    ("index-more", "bytes after the end", b"\1\1a\1\0\1\1b\0"),
]
CHAINS = [
    ("insert", "a document that was inserted", [(STATE, (10, "set", "", {"a": 1}))]),
    ("told", "the new state determines the changed fields", [
        (STATE, (10, "set", "", {"a": 1, "b": {"x": 1, "y": 2}})),
        (STATE, (20, "set", "b.x", 2)), (STATE, (30, "increment", "n", 5))]),
    ("untold", "the delta names the removed fields", [
        (STATE, (10, "set", "", {"a": 1, "b": {"x": 1, "y": 2}, "c": 1})),
        (BOTH, (20, "unset", "b.x")), (STATE, (30, "set", "a", 2)), (BOTH, (40, "unset", "c"))]),
    ("deltas", "deltas of a state, then a new state", [
        (STATE, (10, "set", "", {"m": BIG})), (DELTA, (20, "set", "m.key050", "x")),
        (DELTA, (30, "unset", "m.key051")), (DELTA, (40, "set", "m.new", 1), (40, "set", "o", 2)),
        (BOTH, (50, "unset", "m.new")), (DELTA, (60, "restart", "n", 3))]),
    ("whole-map", "a map that was removed and then written to", [
        (STATE, (10, "set", "", {"m": {"x": 1, "y": 2}})),
        (BOTH, (20, "unset", "m")), (STATE, (30, "set", "m.z", 3))]),
    ("deleted", "a tombstone, then an inserted document", [
        (STATE, (10, "set", "", {"a": 1})), (WHOLE, (20, "delete")),
        (STATE, (30, "set", "", {"b": 2}))]),
    ("seeds", "INITIAL, and writes that replace seeds", [
        (STATE, (0, "insert_initial", {"a": 1, "b": 2, "o": {"p": 3}})),
        (STATE, (20, "set", "a", 5)), (BOTH, (30, "unset", "o")), (BOTH, (40, "unset", "b"))]),
]


def state_of(peer, base):
    whole = peer.document
    return Document(whole.vector, base, whole.deletion, whole.dots, whole.overrides)


def changes(peer, base, touched):
    """Returns the delta of the touched parts, with their current contents."""
    whole = peer.document
    if ((), MAP) in touched:
        return state_of(peer, {})
    delta = Document(whole.vector, base, whole.deletion, named=touched)
    delta.dots = {position: content for position, content in whole.dots.items()
                  if delta.names_dot(position)}
    delta.overrides = {pair for pair in whole.overrides if delta.names(*pair)}
    return normalized(delta)


def write_chain(output, case, comment, steps):
    peer, payloads, stages, operations = Peer(1), [], [], b""
    for kind, *writes in steps:
        peer.begin()
        for time, name, *arguments in writes:
            if time:
                both((time, name, *arguments))(peer)
            else:
                getattr(peer, name)(*arguments)
        base, touched = dict(peer.base), set(peer.touched)
        delta = encode(changes(peer, base, touched))
        state = encode(state_of(peer, base if payloads else {}))
        payload = {STATE: bytes([STATE]) + state, WHOLE: bytes([WHOLE]) + state, DELTA: bytes([DELTA]) + delta,
                   BOTH: bytes([BOTH]) + varint(len(state)) + state + delta}[kind]
        if kind != DELTA:
            payloads = []
        payloads.append(payload)
        assert encode(read_document(payloads, ()).__class__(
            peer.document.vector, {}, peer.document.deletion, peer.document.dots,
            peer.document.overrides)) == encode(state_of(peer, {})), case
        operations += bytes([EXTEND if kind == DELTA else PUT]) + varint(len(payload)) + payload
        stages.append((dict(peer.document.vector), touched))
    output.begin(case, comment)
    output.bytes(f"{case}.operations", operations)
    output.bytes(f"{case}.state", encode(state_of(peer, {})))
    for index in range(1, len(stages)):
        touched = set().union(*(touched for _, touched in stages[index:]))
        output.bytes(f"{case}.since{index}", encode(changes(peer, stages[index - 1][0], touched)))
    shown = peer.document.visible()
    if shown is not None:
        output.text(f"{case}.json", json_of(shown).encode())


def index_payload(name, fields):
    def text(plain):
        return varint(len(plain.encode())) + plain.encode()
    return b"\1" + text(name) + varint(len(fields)) + b"".join(
        bytes([is_descending]) + varint(len(path)) + b"".join(map(text, path))
        for path, is_descending in fields)


def write_indexes(output):
    for case, name, fields in INDEXES:
        payload = index_payload(name, fields)
        found = read_index(payload)
        assert found.name == name.encode() and len(found.fields) == len(fields)
        output.begin(case, "the definition of an index")
        output.bytes(f"{case}.index", payload)
        output.text(f"{case}.name", name.encode())
        output.text(f"{case}.json", json_of(value_of(
            [{"path": path, "desc": is_descending} for path, is_descending in fields])).encode())
    for case, comment, payload in REFUSED_INDEXES:
        try:
            read_index(payload)
            raise AssertionError(f"{case} is not refused")
        except Refused:
            output.begin(case, comment)
            output.bytes(f"{case}.refused", payload)


SITES = [("site-plain", None, []), ("site-ahead", 1_700_000_000_000 << 16, []),
         ("site-paused", None, [(1 << 40, 2 << 40), (3 << 40, (3 << 40) + 2)]),
         ("site-both", 1_700_000_000_000 << 16, [(0, 2)])]


def site_record(clock, pauses):
    """Encodes the payload of the key 04."""
    data = struct.pack("<QQ", 0x0102030405060708, 0x1112131415161718)
    if clock or pauses:
        data += struct.pack("<Q", clock or 0)
    return data + b"".join(struct.pack("<QQ", *pause) for pause in pauses)


def write_former_sites(output):
    sites = [struct.pack("<Q", number) for number in range(1, 66)]
    for case, comment, count in (("former-one", "one former site", 1),
                                 ("former-all", "as many former sites as the limit", 64)):
        data = b"".join(sites[:count])
        assert is_former_sites(data)
        output.begin(case, comment)
        output.bytes(f"{case}.formerSites", data)
    for case, comment, data in (
            ("former-none", "no former sites", b""),
            ("former-zero", "a former site that is zero", sites[0] + bytes(8)),
            ("former-end", "a truncated former site", sites[0] + sites[1][:7]),
            ("former-again", "a former site twice", sites[0] + sites[1] + sites[0]),
            ("former-many", "more former sites than the limit", b"".join(sites))):
        assert not is_former_sites(data)
        output.begin(case, comment)
        output.bytes(f"{case}.refusedFormerSites", data)


def write_clocks(output):
    time = struct.pack("<Q", 1_700_000_000_000 << 16 | 3)
    assert is_clock(time)
    output.begin("clock", "the latest time of a clock")
    output.bytes("clock.clock", time)
    output.lines.append(f"clock.time = {1_700_000_000_000 << 16 | 3}")
    for case, comment, data in (
            ("clock-counter", "a time without a counter", bytes(2) + time[2:]),
            ("clock-end", "a truncated time", time[:7]),
            ("clock-more", "bytes after the time", time + bytes(1))):
        assert not is_clock(data)
        output.begin(case, comment)
        output.bytes(f"{case}.refusedClock", data)


def forgotten_site(site, *times):
    """Returns the derived site of writes that a site has lost in a pause."""
    for seed, time in enumerate(times, 2):
        site = xxh3(struct.pack("<QQ", site, time), seed)
        assert site not in (0, 2**64 - 1)
    return site


def removal_site(site, is_older, *path):
    """Returns the site that removes the sums of a derived site from a counter."""
    names = [name.encode() for name in path]
    assert all(len(name) < 128 for name in names)
    counter = bytes([is_older]) + b"".join(bytes([len(name)]) + name for name in names)
    site = xxh3(struct.pack("<Q", site) + counter, 4)
    assert site not in (0, 2**64 - 1)
    return site


def write_pauses(output):
    pauses = [(1 << 40, 2 << 40), (3 << 40, (3 << 40) + 2)]
    data = b"".join(struct.pack("<QQ", *pause) for pause in pauses)
    assert is_pauses(data)
    output.begin("pauses", "the write pauses of the site of another store")
    output.bytes("pauses.pauses", data)
    for number, (after, before) in enumerate(pauses, 1):
        output.lines += [f"pauses.after{number} = {after}", f"pauses.before{number} = {before}",
                         f"pauses.derived{number} = {forgotten_site(0xABC, after, before)}",
                         f"pauses.removal{number} = "
                         f"{removal_site(forgotten_site(0xABC, after, before), number == 2, 'n', 'größe')}"]
    for case, comment, data in (
            ("pauses-none", "no write pauses", b""),
            ("pauses-end", "a truncated write pause", data[:-1]),
            ("pauses-time", "a write pause that contains no time", struct.pack("<QQ", 5, 6)),
            ("pauses-many", "more write pauses than the limit", struct.pack("<QQ", 1, 3) * 17)):
        assert not is_pauses(data)
        output.begin(case, comment)
        output.bytes(f"{case}.refusedPauses", data)


def write_imports(output):
    numbers = struct.pack("<QQQQQ", 1 << 40, 70_001, 0x0123456789ABCDEF, 70_000, 3)
    data = b"\4cars\x0c" + "cafés.jsonl".encode() + numbers
    found = read_import(data)
    output.begin("import", "the progress of an import")
    output.bytes("import.import", data)
    output.lines += [f"import.{name} = {value}" for name, value in found.items()]
    for case, comment, data in (
            ("import-cut", "a truncated progress of an import", data[:-1]),
            ("import-more", "bytes after the progress of an import", data + b"\0"),
            ("import-text", "a name of a source that is not UTF-8", b"\1a\1\xff" + numbers),
            ("import-long", "a name of a source of 256 bytes",
             b"\1a\x80\2" + b"b" * 256 + numbers)):
        try:
            read_import(data)
            raise AssertionError(f"{case} is not refused")
        except Refused:
            output.begin(case, comment)
            output.bytes(f"{case}.refusedImport", data)


def write_all(output):
    for case, plain in IDS:
        value = value_of(plain)
        key = b"\x10" + struct.pack(">H", 258) + sort_key(value)
        assert read_id(key) == value
        output.begin(case, "the key of a document in the collection with the number 258")
        output.text(f"{case}.id", json_of(value).encode())
        output.bytes(f"{case}.key", key)
    for case, key in (("key-origin", b"\x01"), ("key-name", b"\x02\x00\x07"),
                      ("key-collection", b"\x03\x01\x02"), ("key-site", b"\x04"),
                      ("key-former-sites", b"\x07"), ("key-clock", b"\x08"),
                      ("key-pauses", b"\x09" + bytes(range(1, 9))),
                      ("key-import", b"\x0a" + bytes(range(1, 9))),
                      ("key-stored-shard", b"\x0b\x01\x02")):
        output.begin(case, "a key that is not that of a document")
        output.bytes(f"{case}.key", key)
        if len(key) == 3:
            output.lines.append(f"{case}.number = {int.from_bytes(key[1:], 'big')}")
    output.begin("key-unproven", "the key of an unproven token: an attachment, and the document that names it")
    output.bytes("key-unproven.key", b"\x06" + bytes(range(32)) + hashlib.sha256(b"\x10\x01\x02\x40a\0").digest())
    output.bytes("key-unproven.attachment", bytes(range(32)))
    output.bytes("key-unproven.document", b"\x10\x01\x02\x40a\0")
    output.begin("key-index", "the key of an index of the collection with the number 258")
    output.bytes("key-index.key", b"\x05\x01\x02\x00\x07")
    output.lines += ["key-index.number = 258", "key-index.index-number = 7"]
    origin = struct.pack("<QQQ", 0x8BADF00DDEADBEEF, 1_700_000_000_000 << 16 | 3, 7) + varint(300)
    found = read_origin(origin)
    output.begin("origin", "the origin of a commit")
    output.bytes("origin.origin", origin)
    output.lines += [f"origin.{name} = {value}" for name, value in found._asdict().items()]
    for case, clock, pauses in SITES:
        output.begin(case, "the site of a store")
        output.bytes(f"{case}.siteRecord", site_record(clock, pauses))
        output.lines.append(f"{case}.clock = {clock or 0}")
        for number, (after, before) in enumerate(pauses, 1):
            output.lines += [f"{case}.after{number} = {after}", f"{case}.before{number} = {before}"]
    for case, comment, data in (
            ("site-zero", "a site that is zero", bytes(16)),
            ("site-clock", "a clock that is zero", site_record(None, []) + bytes(8)),
            ("site-end", "a truncated write pause", site_record(5, [(1, 3)])[:-1]),
            ("site-pause", "a write pause that contains no time", site_record(5, [(5, 6)])),
            ("site-pauses", "more write pauses than the limit", site_record(5, [(1, 3)] * 17))):
        output.begin(case, comment)
        output.bytes(f"{case}.refusedSiteRecord", data)
    write_former_sites(output)
    write_clocks(output)
    write_pauses(output)
    write_imports(output)
    write_indexes(output)
    for chain in CHAINS:
        write_chain(output, *chain)


if __name__ == "__main__":
    sys.exit(vector_text.main("commits.txt", HEAD, write_all))
