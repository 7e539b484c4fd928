"""Encodes the structures of hubs, also malformed ones; written from format-spec/hub.md alone."""
import struct

from sheaf_bytes import xxh3
from sheaf_encoder import varint

LOG = bytes(range(32, 48))
SEED = struct.unpack("<Q", LOG[:8])[0]
KEY = bytes(range(32))
AUTHOR, OTHER = (0x0102030405060708, 0x1112131415161718), (5, 6)
SHARDS, SPLIT, GROUPS = 4, [b"graffiti"], [(b"fleet", [b"boats", b"cars"])]


def text(data):
    return varint(len(data)) + data


def shard_of(collection, identity, count=SHARDS):
    """The rule *Shards*."""
    route = next((name for name, members in GROUPS if collection in members), collection)
    if collection in SPLIT:
        route += b"\0" + identity
    return xxh3(route, 0) & (count - 1)


SHARD = shard_of(b"cars", b"")


def message(kind=1, flags=0, sequence=1, previous=0, read=0, digest=0, stored=0, base=200, commit=300,
            payload=b"", shard=SHARD, log=LOG, site=AUTHOR[0], opening=AUTHOR[1], signature=b"SHB1",
            version=1, reserved=(0, 0, 0), length=None, unconfirmed=0):
    """Table 1."""
    made = signature + struct.pack(
        "<BBBBHH4s16s", version, kind, flags, reserved[0], shard, unconfirmed, bytes([reserved[1]]) + bytes(3),
        log)
    made += struct.pack("<9Q", site, opening, sequence, previous, read, digest, stored, base, commit)
    made += struct.pack("<II", len(payload) if length is None else length, reserved[2]) + payload
    return made + struct.pack("<Q", max(xxh3(made, struct.unpack("<Q", log[:8])[0]), 1))


message.defaults = dict(zip(
    message.__code__.co_varnames[:message.__code__.co_argcount], message.__defaults__))


def checksum(data):
    return struct.unpack("<Q", data[-8:])[0]


class Chain:
    """The messages of an author, each of which names the one before."""

    def __init__(self, author):
        self.author, self.sequence, self.previous = author, 0, 0

    def next(self, **fields):
        self.sequence += 1
        made = message(**{"payload": b"a part", **fields, "site": self.author[0], "opening": self.author[1],
                          "sequence": self.sequence, "previous": self.previous})
        self.previous = checksum(made)
        return made

    def mark(self, commit):
        return self.next(kind=2, base=commit, commit=commit, payload=b"")


def mark():
    return message(kind=2, sequence=2, previous=9, base=300, commit=300)


def digest(previous, entry):
    """Table 2."""
    return xxh3(struct.pack("<QQ", previous, 0 if entry is None else xxh3(entry, 0)), SEED)


def group(fields, first=1):
    """Messages with consecutive sequences, each after its length; the first has the given one."""
    made, previous = b"", 0 if first == 1 else 99
    for number, values in enumerate(fields):
        one = message(**values, sequence=first + number, previous=previous)
        previous = checksum(one)
        made += text(one)
    return made


def extended(length):
    """The further bytes of a length in a token of LZ4."""
    return b"\xff" * ((length - 15) // 255) + bytes([(length - 15) % 255]) if length >= 15 else b""


def literals(raw):
    """A block without matches."""
    return bytes([min(len(raw), 15) << 4]) + extended(len(raw)) + raw


def matched(before, distance, match, after):
    """A block with one match: bytes that were `distance` bytes before it, and literals around it."""
    size = len(match) - 4
    token = bytes([min(len(before), 15) << 4 | min(size, 15)])
    return (token + extended(len(before)) + before + struct.pack("<H", distance) + extended(size)
            + literals(after))


def segment(raw, block=None):
    """A segment after its length (sync.md, table 5)."""
    return text(varint(len(raw)) + (literals(raw) if block is None else block))


def pauses(sites):
    made = varint(len(sites))
    for site, found in sites:
        made += struct.pack("<QB", site, len(found)) + b"".join(struct.pack("<QQ", *pause) for pause in found)
    return made


def commit(documents, continued, number=300, stamp=None, flags=0, form=2):
    """A commit of complete documents (sync.md, tables 6 and 7)."""
    made = bytes([flags | (stamp is not None)]) + varint(number)
    if stamp:
        made += struct.pack("<QQ", *stamp)
    last = None
    for (collection, identity), state, *unproven in documents:
        made += bytes([form | (collection == last) | (8 if unproven else 0)])
        made += (b"" if collection == last else text(collection)) + text(identity) + text(state)
        if unproven:
            made += varint(len(unproven[0])) + b"".join(unproven[0])
        last = collection
    return made + bytes([continued])


def hashed(data, seed=0):
    return data + struct.pack("<Q", xxh3(data, seed))


def texts(found):
    return varint(len(found)) + b"".join(map(text, found))


def configuration(signature=b"SHC1", state=0, version=1, count=SHARDS, number=3, hub=bytes(32), until=0,
                  split=SPLIT, groups=GROUPS, newest=bytes(range(16)), earlier=bytes(range(16, 32)),
                  raw_split=None, more=b"", cut=0):
    """Table 5; the first shard has manifests."""
    made = signature + struct.pack("<BBH", state, version, count) + bytes(range(100, 116)) + LOG
    made += struct.pack("<Q", number) + hub + struct.pack("<Q", until)
    made += (texts(split) if raw_split is None else raw_split) + varint(len(groups))
    made += b"".join(text(name) + texts(members) for name, members in groups)
    for first in (newest, earlier):
        made += (first + bytes(16 * count))[:16 * count]
    made += more
    return hashed(made[:len(made) - cut])


def manifest(signature=b"SHS1", shard=SHARD, entry=900, digest=901, author=AUTHOR, count=0, authors=(),
             sites=(), parts=(), part_count=None, more=b"", cut=0):
    """Table 6."""
    made = signature + LOG + struct.pack("<HQQQQQQ", shard, entry, digest, *author, 1_700_000_000_123, count)
    made += bytes(range(50, 66)) + listed(authors) + pauses(sites)
    made += varint(len(parts) if part_count is None else part_count)
    made += b"".join(name + varint(length) + varint(documents) for name, length, documents in parts) + more
    return hashed(made[:len(made) - cut])


def listed(authors):
    return varint(len(authors)) + b"".join(struct.pack("<QQQQ", *author) for author in authors)


def broadcast(kind, body, signature=b"SHP1", version=1, log=LOG, author=AUTHOR):
    """Table 7."""
    made = signature + bytes([version, kind]) + log + KEY + struct.pack("<QQ", *author) + body
    return hashed(made, SEED)


def address(host, port=4_120):
    return bytes([len(host)]) + bytes(host) + struct.pack("<H", port)


def beat(flags=3, versions=(1, 3), addresses=None, shards=((0, 12, 34, 11), (3, 0, 0, 0)), raw_shards=None):
    found = [address([10, 9, 1, 2]), address([192, 168, 1, 20])] if addresses is None else addresses
    made = bytes([flags, *versions]) + struct.pack("<Q", 1_700_000_000_123) + varint(300)
    made += varint(len(found)) + b"".join(found)
    if raw_shards is not None:
        return made + raw_shards
    return made + varint(len(shards)) + b"".join(struct.pack("<HQQQ", *shard) for shard in shards)


def presence(count=1):
    record = (bytes([7]) * 32 + struct.pack("<QQ", 1_700_000_000_000, 7) + varint(3) + b"\1" + text(b"Anna")
              + text(b"Linux") + text(b"0.1.0") + text(b"") + varint(0) + varint(0))
    return varint(count) + record


def need(shard=SHARD, author=OTHER, ranges=((3, 5), (9, 9))):
    return struct.pack("<HQQ", shard, *author) + varint(len(ranges)) + b"".join(
        struct.pack("<QQ", *found) for found in ranges)


def incident(kind=1):
    return struct.pack("<HBQQQ", SHARD, kind, 12, 34, 35)


def stored_shard(entry=12, authors=((5, 6, 70, 8),)):
    """Table 8."""
    return LOG + struct.pack("<QQQQ", entry, 34, 56, 1_700_000_000_123) + listed(authors)
