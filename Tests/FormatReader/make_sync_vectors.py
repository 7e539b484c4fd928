#!/usr/bin/env python3
"""Rewrites format-spec/vectors/sync.txt from the rules of sync.md.

    make_sync_vectors.py [--check]

With --check nothing is written, and the exit code is 1 if the file would change.
"""
import ctypes
import os
import struct
import sys

import vector_text
from document_writes import Peer
from sheaf_bytes import xxh3
from sheaf_encoder import encode, varint

HEAD = """\
# What peers say (sync.md, "Vectors"), made from that page with an encoder of its own:
# Tests/FormatReader/make_sync_vectors.py.
"""


class Hash128(ctypes.Structure):
    _fields_ = [("low", ctypes.c_uint64), ("high", ctypes.c_uint64)]


XXH128 = ctypes.CDLL("libxxhash.so.0").XXH3_128bits_withSeed
XXH128.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64]
XXH128.restype = Hash128


def frame(number, kind, body):
    rest = bytes([kind]) + body
    return struct.pack("<II", len(rest), xxh3(rest, number) & 0xFFFFFFFF) + rest


def frames(output):
    said = [(9, b""), (6, bytes([0])), (11, b"farewell"), (10, bytes(range(256)))]
    output.begin("frames", "four frames, the first of a direction")
    output.bytes("frames.frames", b"".join(
        frame(number, kind, body) for number, (kind, body) in enumerate(said)))
    for number, (kind, body) in enumerate(said, 1):
        output.lines.append(f"frames.type{number} = {kind}")
        output.bytes(f"frames.body{number}", body)
    wrong = [
        ("empty", "a frame without a type", struct.pack("<II", 0, 0)),
        ("long", "a frame that is longer than it may be", struct.pack("<I", 4_097)),
        ("checksum", "a changed byte", frame(0, 9, b"abc")[:-1] + b"d"),
        ("number", "the second frame in the place of the first", frame(1, 9, b"")),
        ("type", "a type that there is not", frame(0, 200, b"")),
    ]
    for name, comment, data in wrong:
        output.begin(f"frame-{name}", comment)
        output.bytes(f"frame-{name}.refused", data)


def segments(output):
    # Literals only; then twelve bytes of the previous segment, and twelve literals.
    first, last = b"{\"color\":\"blue\"}", b"and so it is"
    blocks = [bytes([0xF0, len(first) - 15]) + first,
              bytes([0x08]) + struct.pack("<H", len(first)) + bytes([len(last) << 4]) + last]
    raws = [first, first[:12] + last]
    output.begin("segments", "a segment that repeats what the one before it says")
    made = b""
    for raw, block in zip(raws, blocks):
        segment = varint(len(raw)) + block
        made += varint(len(segment)) + segment
    output.bytes("segments.segments", made)
    for number, raw in enumerate(raws, 1):
        output.text(f"segments.raw{number}", raw)


def text(data):
    return varint(len(data)) + data


PAUSES = [(1 << 40, 2 << 40), (3 << 40, (3 << 40) + 2)]


def hello(versions=(2, 2), site=0x0102030405060708, flags=1, name="Anna’s phone".encode(),
          pauses=PAUSES, count=None):
    return (varint(versions[0]) + varint(versions[1]) + bytes(range(16)) + bytes(range(32))
            + struct.pack("<Q", site) + bytes(range(100, 116)) + struct.pack("<QQ", 7, 1700000000123)
            + bytes([len(pauses) if count is None else count])
            + b"".join(struct.pack("<QQ", *pause) for pause in pauses)
            + bytes([flags]) + text(name))


def greetings(output):
    output.begin("hello", "what a peer says first")
    output.bytes("hello.hello", hello())
    output.lines += ["hello.lowest = 2", "hello.highest = 2", "hello.server = 1"]
    output.lines.append(f"hello.site = {0x0102030405060708}")
    output.lines.append("hello.clock = 1700000000123")
    output.bytes("hello.key", bytes(range(32)))
    for number, (after, before) in enumerate(PAUSES, 1):
        output.lines += [f"hello.after{number} = {after}", f"hello.before{number} = {before}"]
    output.text("hello.name", "Anna’s phone".encode())
    wrong = [
        ("versions", "versions that are not in their order", hello(versions=(3, 2))),
        ("version", "the version 0", hello(versions=(0, 2))),
        ("site", "no site", hello(site=0)),
        ("pause", "a pause without a time in it", hello(pauses=[(5, 6)])),
        ("pauses", "more pauses than are told", hello(pauses=[(1, 3)] * 17)),
        ("pause-end", "a pause that is cut off", hello(name=b"", count=3)),
        ("flags", "flags that there are not", hello(flags=2)),
        ("name", "a name that is no text", hello(name=b"\xff")),
        ("long", "a name that is too long", hello(name=b"a" * 257)),
        ("more", "something behind the name", hello() + b"\0"),
        ("end", "a name that is cut off", hello()[:-1]),
    ]
    for name, comment, data in wrong:
        output.begin(f"hello-{name}", comment)
        output.bytes(f"hello-{name}.refusedHello", data)
    output.begin("close", "the end of a connection")
    output.bytes("close.close", bytes([3]) + text(b"another database"))
    output.lines.append("close.code = 3")
    output.text("close.text", b"another database")
    for name, comment, data in [("code", "a code that there is not", bytes([10]) + text(b"")),
                                ("more", "something behind the text", bytes([0, 0, 0]))]:
        output.begin(f"close-{name}", comment)
        output.bytes(f"close-{name}.refusedClose", data)


def commits(output):
    names = varint(2) + text(b"color") + text("größe".encode())
    first = (bytes([1]) + varint(300) + struct.pack("<QQ", 5, 6 << 16)
             + bytes([2]) + text(b"cars") + text(b"\x40a\0") + text(b"a state")
             + bytes([5]) + text(b"\x40b\0") + text(b"a delta") + bytes([0]))
    # The same letters in two Unicode forms are two collections.
    second = (bytes([0]) + varint(301)
              + bytes([2]) + text("\u00e9".encode()) + text(b"\x40a\0") + text(b"one")
              + bytes([2]) + text("e\u0301".encode()) + text(b"\x40a\0") + text(b"two")
              + bytes([0]))
    third = bytes([0]) + varint(302) + bytes([1])
    fourth = bytes([2]) + varint(302) + bytes([0])
    fifth = bytes([6]) + varint(302) + bytes([0])
    output.begin("commits", "names, two commits with two documents each, a part of one without any, its end, "
                 "where it is cut, and the end of a part of the wanted documents")
    output.bytes("commits.commits", names + first + second + third + fourth + fifth)
    ids = [bytes([number] * 32) for number in (0, 7)]
    output.begin("unproven", "a commit with a document of which two tokens are unproven, and one without")
    output.bytes("unproven.commits", varint(0) + bytes([0]) + varint(303)
                 + bytes([10]) + text(b"cars") + text(b"\x40a\0") + text(b"a state")
                 + varint(2) + ids[0] + ids[1]
                 + bytes([5]) + text(b"\x40b\0") + text(b"a delta") + bytes([0]))
    head = varint(0) + bytes([0]) + varint(1)
    listed = head + bytes([10]) + text(b"c") + text(b"a") + text(b"")
    wrong = [
        ("none", "no unproven tokens in their list", listed + varint(0) + bytes([0])),
        ("many", "more unproven tokens than are listed",
         listed + varint(1025) + ids[0] + bytes([0])),
        ("order", "unproven tokens that are not in their order", listed + varint(2) + ids[1] + ids[0] + bytes([0])),
        ("again", "an unproven token twice", listed + varint(2) + ids[1] + ids[1] + bytes([0])),
        ("flags", "flags that there are not", varint(0) + bytes([8]) + varint(1) + bytes([0])),
        ("part", "the end of a wanted part where the step is not cut",
         varint(0) + bytes([4]) + varint(1) + bytes([0])),
        ("cut", "a step that goes on and is cut", varint(0) + bytes([2]) + varint(1) + bytes([1])),
        ("kind", "a document of another kind",
         head + bytes([6]) + text(b"c") + text(b"a") + text(b"") + bytes([0])),
        ("collection", "a first document without its collection",
         head + bytes([3]) + text(b"a") + text(b"") + bytes([0])),
        ("id", "an id without bytes",
         head + bytes([2]) + text(b"c") + text(b"") + text(b"") + bytes([0])),
        ("end", "a commit without its end", head + bytes([2]) + text(b"c") + text(b"a") + text(b"")),
        ("names", "more names than there are bytes", varint(9) + text(b"color")),
        ("most", "more names than a connection has", varint(4097) + text(b"color")),
        ("twice", "a name that is told twice", varint(2) + text(b"color") + text(b"color")),
        ("long", "a name that is too long", varint(1) + text(b"n" * 65)),
        ("letters", "a name that is no text", varint(1) + text(b"\xff")),
    ]
    for name, comment, data in wrong:
        output.begin(f"commits-{name}", comment)
        output.bytes(f"commits-{name}.refusedCommits", data)


def steps(output):
    """Writes segments; only their contents matter, not the division into commits."""
    peer = Peer(5).at(6 << 16)
    older = encode(peer.set("", {"color": "red"}).document)
    newer = encode(peer.at(7 << 16).set("color", "blue").document)

    def commit(number, documents, continued=0):
        made = bytes([0]) + varint(number)
        for name, content in documents:
            made += bytes([2]) + text(b"cars") + text(name) + text(content)
        return made + bytes([continued])

    first, second = b"\x40a\0", b"\x40b\0"
    none = varint(0)
    output.begin("steps", "a document in each of two steps, and another one in a part of the first")
    output.bytes("steps.steps", none + commit(300, [(second, older)], 1) + commit(300, [(first, older)])
                 + commit(301, [(first, newer)]))
    for name, comment, data in [
            ("twice", "a document twice in a commit",
             commit(300, [(first, older), (second, older), (first, older)])),
            ("newer", "a document, and behind it a newer state of it",
             commit(300, [(first, older), (first, newer)])),
            ("parts", "a document in two parts of a step",
             commit(300, [(first, older)], 1) + commit(300, [(second, older)], 1)
             + commit(300, [(first, newer)]))]:
        output.begin(f"steps-{name}", comment)
        output.bytes(f"steps-{name}.refusedSteps", none + data)


def addresses(documents):
    made, last = varint(len(documents)), None
    for collection, identity in documents:
        made += b"\x01" if collection == last else b"\x00" + text(collection)
        made += text(identity)
        last = collection
    return made


def subscribe(cursor=b"\0", generation=3, queries=None, flag=b"\0", end=varint(77)):
    if queries is None:
        queries = [(b"SELECT * FROM cars WHERE color = :c", b"arguments"), (b"SELECT * FROM b", b"")]
    return (varint(generation) + flag + varint(len(queries))
            + b"".join(text(query) + text(arguments) for query, arguments in queries)
            + end + cursor)


def wishes(output):
    named = [(b"cars", b"\x40a\0"), (b"cars", b"\x40b\0"), (b"boats", b"\x40a\0")]
    cursor = b"\1" + bytes(range(16)) + varint(500)
    output.begin("subscribe", "queries, and a cursor with documents that are needed whole")
    output.bytes("subscribe.subscribe", subscribe(cursor + addresses(named)))
    output.lines += ["subscribe.generation = 3", "subscribe.commit = 77", "subscribe.cursor = 500"]
    output.text("subscribe.query", b"SELECT * FROM cars WHERE color = :c")
    output.begin("subscribe-anew", "queries without a cursor")
    output.bytes("subscribe-anew.subscribe", subscribe())
    output.lines += ["subscribe-anew.generation = 3", "subscribe-anew.commit = 77"]
    output.text("subscribe-anew.query", b"SELECT * FROM cars WHERE color = :c")
    output.begin("subscribe-part", "queries whose rest follows in the next frame")
    output.bytes("subscribe-part.subscribe", subscribe(b"", flag=b"\1", end=b""))
    output.lines += ["subscribe-part.generation = 3"]
    output.text("subscribe-part.query", b"SELECT * FROM cars WHERE color = :c")
    twice = varint(2) + b"\0" + text(b"c") + text(b"a") + b"\0" + text(b"c") + text(b"b")
    wrong = [
        ("flag", "Subscribe", "neither a cursor nor none", subscribe(b"\2")),
        ("more", "Subscribe", "bytes after the last field", subscribe() + b"\0"),
        ("many", "Subscribe", "too many queries", subscribe(queries=[(b"", b"")] * 4_097)),
        ("long", "Subscribe", "a query that is too long", subscribe(queries=[(b"a" * 65_537, b"")])),
        ("wide", "Subscribe", "arguments that are too long",
         subscribe(queries=[(b"a", b"a" * 262_145)])),
        ("continued", "Subscribe", "neither the last part nor one before it", subscribe(flag=b"\2")),
        ("empty", "Subscribe", "a part that is continued, without queries",
         subscribe(b"", queries=[], flag=b"\1", end=b"")),
        ("ended", "Subscribe", "a part that is continued, with a commit", subscribe(flag=b"\1")),
        ("twice", "Subscribe", "a collection that is spelled twice", subscribe(cursor + twice)),
        ("first", "Subscribe", "a first document without its collection",
         subscribe(cursor + varint(1) + b"\1" + text(b"a"))),
        ("id", "Want", "an id without bytes", varint(3) + b"\0" + addresses([(b"c", b"")])),
        ("end", "Want", "more documents than there are", varint(3) + b"\0" + varint(9)),
        ("kind", "Want", "what there is not", varint(3) + b"\3"),
        ("all", "Want", "all, and something behind it", varint(3) + b"\2\0"),
        ("clock", "SetAside", "a clock that is cut off", varint(3) + bytes(15)),
        ("after", "SetAside", "something behind the clock", varint(3) + bytes(17)),
        ("site", "Forgotten", "a site alone", bytes(8)),
        ("time", "Forgotten", "bytes after the time", bytes(17)),
        ("site-zero", "Site", "a site that is zero", bytes(8)),
        ("site-more", "Site", "bytes after the site", bytes([1]) * 9),
        ("pauses-zero", "SitePauses", "the pauses of a site that is zero",
         struct.pack("<QQQ", 0, 1, 3)),
        ("pauses-none", "SitePauses", "a site without pauses", struct.pack("<Q", 1)),
        ("pauses-end", "SitePauses", "a pause that is cut off", struct.pack("<QQ", 1, 1)),
        ("pauses-time", "SitePauses", "a pause without a time in it",
         struct.pack("<QQQ", 1, 5, 6)),
        ("reason", "Refused", "a reason that there is not", refusal(reason=2)),
        ("nothing", "Refused", "no documents", refusal(named=[])),
        ("crowd", "Refused", "too many documents",
         refusal(named=[(b"cars", b"\x40a\0")] * 257)),
        ("tail", "Refused", "bytes after the last field", refusal() + b"\0"),
        ("behind", "Acknowledge", "something behind the commit", varint(3) + varint(500) + b"\0"),
    ]
    for name, kind, comment, data in wrong:
        output.begin(f"wish-{name}", comment)
        output.bytes(f"wish-{name}.refused{kind}", data)
    for name, flag in [("want", b"\0"), ("want-more", b"\1"), ("want-part", b"\3")]:
        output.begin(name, "documents that are wanted")
        output.bytes(f"{name}.want", varint(3) + flag + addresses(named))
        output.lines += [f"{name}.generation = 3", f"{name}.count = 3"]
    output.begin("want-all", "all documents are wanted")
    output.bytes("want-all.want", varint(3) + b"\2")
    output.lines += ["want-all.generation = 3"]
    output.begin("acknowledge", "everything up to a commit is on the disk")
    output.bytes("acknowledge.acknowledge", varint(3) + varint(500))
    output.lines += ["acknowledge.generation = 3", "acknowledge.commit = 500"]
    output.begin("set-aside", "documents that are stamped too far ahead of the clock")
    output.bytes("set-aside.setAside",
                 varint(300) + struct.pack("<QQ", 1900000000000, 1700000000123))
    output.lines += ["set-aside.count = 300", "set-aside.latest = 1900000000000",
                     "set-aside.clock = 1700000000123"]
    output.begin("forgotten", "a write that its site does not have any more")
    output.bytes("forgotten.forgotten", struct.pack("<QQ", 0x0102030405060708, 3 << 40))
    output.lines += [f"forgotten.site = {0x0102030405060708}", f"forgotten.time = {3 << 40}"]
    output.begin("site", "the site that a peer writes with from now on")
    output.bytes("site.newSite", struct.pack("<Q", 0x0102030405060708))
    output.begin("pauses", "the pauses of a site")
    output.bytes("pauses.sitePauses", struct.pack("<QQQQQ", 0x0102030405060708, 1, 3, 5, 9))
    output.lines += [f"pauses.site = {0x0102030405060708}", "pauses.after1 = 1", "pauses.before1 = 3",
                     "pauses.after2 = 5", "pauses.before2 = 9"]
    output.begin("refused", "documents that the other side may not write")
    output.bytes("refused.refused", refusal())
    output.lines += ["refused.generation = 3", "refused.commit = 500", "refused.reason = 1",
                     "refused.omitted = 0", "refused.count = 2"]
    output.begin("refused-more", "documents that are not named")
    output.bytes("refused-more.refused", refusal(reason=0, omitted=70_000, named=[]))
    output.lines += ["refused-more.generation = 3", "refused-more.commit = 500",
                     "refused-more.reason = 0", "refused-more.omitted = 70000",
                     "refused-more.count = 0"]


def refusal(reason=1, omitted=0, named=((b"cars", b"\x40a\0"), (b"cars", b"\x40b\0"))):
    return (varint(3) + varint(500) + bytes([reason]) + varint(omitted) + addresses(list(named)))


def announcements(output):
    named = [(b"cars", b"\x40a\0"), (b"cars", b"\x40b\0")]
    seen = varint(2) + struct.pack("<QQQQ", 5, 6 << 16, 7, 8 << 16) + varint(0)
    output.begin("announce", "what two documents have seen")
    output.bytes("announce.announce", varint(3) + varint(500) + addresses(named) + seen)
    output.lines += ["announce.commit = 500", "announce.site = 7"]
    unsorted = varint(2) + struct.pack("<QQQQ", 7, 6 << 16, 5, 8 << 16) + varint(0)
    for name, comment, data in [("sites", "sites that are not in their order", unsorted),
                                ("end", "a vector that is cut off", seen[:-9]),
                                ("more", "something behind the last vector", seen + b"\0")]:
        output.begin(f"announce-{name}", comment)
        output.bytes(f"announce-{name}.refusedAnnounce", varint(3) + varint(500) + addresses(named) + data)


def attachments(output):
    identity = bytes(range(32))
    part = identity + b"\1" + varint(262_143)
    longest = 2**36
    output.begin("seek", "a file is wanted, of everybody over eight connections")
    output.bytes("seek.seek", identity + b"\10")
    output.lines += ["seek.hops = 8"]
    output.begin("seek-no-more", "a file is wanted no more")
    output.bytes("seek-no-more.seek", identity + b"\0")
    output.lines += ["seek-no-more.hops = 0"]
    output.begin("offer", "the longest file is here")
    output.bytes("offer.offer", identity + varint(longest))
    output.lines += [f"offer.length = {longest}"]
    output.begin("chunk", "the last chunk that a file can have")
    output.bytes("chunk.part", part)
    output.lines += ["chunk.kind = 1", "chunk.number = 262143"]
    output.begin("hashes", "the first hashes of a file")
    output.bytes("hashes.part", identity + b"\0\0")
    output.lines += ["hashes.kind = 0", "hashes.number = 0"]
    output.begin("bytes", "the bytes of a chunk")
    output.bytes("bytes.partBytes", part + b"some bytes")
    output.bytes("bytes.content", b"some bytes")
    output.begin("token", "the token of a file in a document")
    output.bytes("token.token", identity + text(b"cars") + b"\x40a\0")
    output.text("token.collection", b"cars")
    output.bytes("token.id", b"\x40a\0")
    for name, what, comment, data in [
            ("short", "Token", "an id that is cut off", identity[1:]),
            ("none", "Token", "a document without an id", identity + text(b"cars")),
            ("name", "Token", "a collection that is no text", identity + text(b"\xff") + b"\x40a\0"),
            ("long", "Token", "an id that is too long", identity + text(b"cars") + bytes(4_097)),
            ("short", "Seek", "an id that is cut off", identity[1:]),
            ("far", "Seek", "a wish that goes over nine connections", identity + b"\11"),
            ("more", "Seek", "something behind a wish", identity + b"\1\0"),
            ("long", "Offer", "a file that is too long", identity + varint(longest + 1)),
            ("more", "Offer", "something behind an offer", identity + b"\1\0"),
            ("kind", "Part", "neither hashes nor a chunk", identity + b"\2\0"),
            ("number", "Part", "a chunk beyond all", identity + b"\1" + varint(262_144)),
            ("more", "Part", "something behind a part", part + b"\0"),
            ("none", "PartBytes", "a part without bytes", part),
            ("long", "PartBytes", "a part that is too long", part + bytes(262_145))]:
        output.begin(f"{what.lower()}-{name}", comment)
        output.bytes(f"{what.lower()}-{name}.refused{what}", data)


def record(key=0, count=300, flags=1, name="Anna’s phone".encode(), system=b"Linux", version=b"0.1.0",
           metadata=b'{"role":"waiter"}', neighbors=((1, 2), (2, 0))):
    return (bytes([key]) * 32 + struct.pack("<QQ", 1_700_000_000_000, 7) + varint(count) + bytes([flags])
            + text(name) + text(system) + text(version) + text(metadata) + varint(len(neighbors))
            + b"".join(bytes([neighbor]) * 32 + bytes([kind]) for neighbor, kind in neighbors))


def presences(output):
    lonely = record(9, 0, 0, b"", b"", b"", b"", ())
    output.begin("presence", "what two peers say of themselves")
    output.bytes("presence.presence", varint(2) + record() + lonely)
    output.lines += ["presence.count1 = 300", "presence.neighbors1 = 2", "presence.server1 = 1"]
    output.text("presence.name1", "Anna’s phone".encode())
    output.text("presence.system1", b"Linux")
    output.text("presence.version1", b"0.1.0")
    output.text("presence.metadata1", b'{"role":"waiter"}')
    output.lines += ["presence.count2 = 0", "presence.neighbors2 = 0", "presence.server2 = 0"]
    for field in ["name", "system", "version", "metadata"]:
        output.text(f"presence.{field}2", b"")
    many = [(number, 0) for number in range(1, 5)]
    long = b'{"a":"' + b"a" * 4_089 + b'"}'
    output.begin("presence-long", "the longest metadata")
    output.bytes("presence-long.presence", varint(1) + record(metadata=long[:6] + long[7:]))
    output.lines += ["presence-long.count1 = 300", "presence-long.neighbors1 = 2", "presence-long.server1 = 1"]
    output.text("presence-long.name1", "Anna’s phone".encode())
    output.text("presence-long.system1", b"Linux")
    output.text("presence-long.version1", b"0.1.0")
    output.text("presence-long.metadata1", long[:6] + long[7:])
    for name, comment, data in [
            ("none", "no records", b""),
            ("flags", "flags that there are not", record(flags=2)),
            ("name", "a name that is too long", record(name=b"a" * 257)),
            ("system", "a system whose name is too long", record(system=b"a" * 65)),
            ("version", "a version that is too long", record(version=b"a" * 65)),
            ("metadata", "metadata that is too long", record(metadata=long)),
            ("array", "metadata that is no object", record(metadata=b"[1]")),
            ("json", "metadata that is no JSON", record(metadata=b'{"a"')),
            ("order", "neighbors that are not in their order", record(neighbors=((2, 0), (1, 0)))),
            ("twice", "a neighbor twice", record(neighbors=((1, 0), (1, 0)))),
            ("itself", "a peer that is its own neighbor", record(neighbors=((0, 0), (1, 0)))),
            ("neighbors", "more neighbors than there may be",
             record(neighbors=())[:-1] + varint(1_024)),
            ("end", "a record that is cut off", record(neighbors=many)[:-1]),
            ("more", "something behind the last record", record() + b"\0")]:
        output.begin(f"presence-{name}", comment)
        output.bytes(f"presence-{name}.refusedPresence", varint(0 if name == "none" else 1) + data)


def fingerprint(documents):
    total = 0
    for identity, version in documents:
        value = XXH128(identity, len(identity), version)
        total = (total + value.low + (value.high << 64)) % 2**128
    return xxh3(total.to_bytes(16, "little"), len(documents))


def listed(last, data):
    shared = len(os.path.commonprefix([last, data]))
    return varint(shared) + varint(len(data) - shared) + data[shared:]


def answer(parts):
    made = varint(len(parts))
    for kind, entries in parts:
        made += varint(len(entries) << 1 | (kind == "documents"))
        last = b""
        for identity, number in entries:
            if identity is not None:
                made += listed(last, identity)
                last = identity
            made += struct.pack("<Q", number)
    return made


def lists(output):
    short = [(b"\x40a\0", 7), (b"\x40ab\0", 2**64 - 1), (b"\x40b\0", 0)]
    for name, documents in [("none", []), ("one", short[:1]), ("three", short)]:
        output.begin(f"list-{name}", "the sum of a list")
        output.bytes(f"list-{name}.list", b"".join(
            varint(len(identity)) + identity + struct.pack("<Q", version)
            for identity, version in documents))
        output.lines.append(f"list-{name}.fingerprint = {fingerprint(documents)}")
    output.begin("first", "the first question, and its answer")
    output.bytes("first.question", varint(0))
    output.bytes("first.answer", answer([("children", [(None, fingerprint(short))])]))
    output.begin("later", "a question for the children 1, 2 and 300, and an answer")
    output.bytes("later.question", varint(3) + varint(1) + varint(0) + varint(297))
    output.bytes("later.answer", answer([
        ("children", [(b"\x40ab", 1), (b"\x40b", 2), (None, 3)]), ("documents", short),
        ("documents", [])]))
    wrong = [
        ("beyond", "Question", "a child beyond all", varint(1) + varint(65_536)),
        ("more", "Question", "something behind", varint(0) + b"\0"),
        ("count", "Answer", "more parts than there may be", varint(65_537)),
        ("counts", "Answer", "more in all than there may be",
         varint(1) + varint(65_536 << 1 | 1)),
        ("parts", "Answer", "a range in no parts", varint(1) + varint(0)),
        ("order", "Answer", "documents that are not in their order",
         answer([("documents", [(b"b", 1), (b"a", 1)])])),
        ("twice", "Answer", "a document twice", answer([("documents", [(b"b", 1), (b"b", 1)])])),
        ("empty", "Answer", "an id without bytes", answer([("documents", [(b"", 1)])])),
        ("shared", "Answer", "an id that shares more than there was",
         varint(1) + varint(3) + b"\1\1a" + bytes(8)),
        ("long", "Answer", "an id that is too long",
         answer([("documents", [(b"a" * 4_097, 1)])])),
        ("end", "Answer", "a version that is cut off",
         answer([("documents", [(b"a", 1)])])[:-1]),
    ]
    for name, what, comment, data in wrong:
        output.begin(f"{what.lower()}-{name}", comment)
        output.bytes(f"{what.lower()}-{name}.refused{what}", data)


if __name__ == "__main__":
    sys.exit(vector_text.main(
        "sync.txt", HEAD, frames, greetings, segments, commits, steps, wishes, announcements,
        attachments, presences, lists))
