"""Decodes the keys and payloads of a Sheaf log; written from format-spec/commits.md alone."""
import struct
from collections import namedtuple

from sheaf_document import decode
from sheaf_dots import can_join, joined
from sheaf_values import (
    KeyReader, NULL, Refused, check, check_utf8, json_of, json_string, read_varint)

(ORIGIN, NAME, COLLECTION, SITE, INDEX, UNPROVEN, FORMER_SITES, CLOCK, PAUSES, IMPORT,
 STORED_SHARD) = range(1, 12)
DOCUMENT = 0x10
STATE, DELTA, BOTH, WHOLE = 1, 2, 3, 4
KEY_LENGTHS = {ORIGIN: 1, NAME: 3, COLLECTION: 3, SITE: 1, INDEX: 5, UNPROVEN: 65,
               FORMER_SITES: 1, CLOCK: 1, PAUSES: 9, IMPORT: 9, STORED_SHARD: 3}
Origin = namedtuple("Origin", "site time peer commit")
Index = namedtuple("Index", "name fields")
IndexField = namedtuple("IndexField", "path is_descending")


class Mistake(Exception):
    """A malformed payload: its key, the offset of the error, and the reason."""

    def __init__(self, key, error):
        super().__init__(f"key {key.hex()}:{error.offset}: {error.reason}")


class Explaining:
    """Adds the key to the error of a malformed payload."""

    def __init__(self, key):
        self.key = key

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, Refused):
            raise Mistake(self.key, error) from error


def check_key(key):
    """Checks a key by table 1."""
    check(ORIGIN <= key[0] <= STORED_SHARD or key[0] == DOCUMENT, 0, "unknown key type")
    length = KEY_LENGTHS.get(key[0])
    check(len(key) == length if length else len(key) > 3, 0, "wrong key length")
    check(key[0] != INDEX or key[3:] != b"\xff\xff", 3, "reserved index number")


def is_former_sites(payload):
    """Whether the payload has 1 to 64 different sites, none zero (table 1)."""
    sites = [payload[start:start + 8] for start in range(0, len(payload), 8)]
    return (0 < len(sites) <= 64 and len(sites[-1]) == 8 and len(set(sites)) == len(sites)
            and bytes(8) not in sites)


def is_clock(payload):
    """Whether the payload is a time whose counter is not 0 (table 1)."""
    return len(payload) == 8 and payload[:2] != bytes(2)


def is_pauses(payload):
    """Whether the payload has 1 to 16 write pauses, each with a time in it (table 1)."""
    if len(payload) % 16 or not 16 <= len(payload) <= 16 * 16:
        return False
    return all(before - after > 1 for after, before in struct.iter_unpack("<QQ", payload))


def read_origin(payload):
    """Decodes table 2."""
    check(len(payload) > 24, 0, "the origin is too short")
    site, time, peer = struct.unpack_from("<QQQ", payload)
    commit, end = read_varint(payload, 24, len(payload))
    check(end == len(payload), end, "bytes after the origin")
    return Origin(site, time, peer, commit)


def read_import(payload):
    """Decodes table 6; returns its numbers."""
    at = 0
    for most in 1_024, 255:
        length, start = read_varint(payload, at, len(payload))
        check(length <= min(len(payload) - start, most), at, "the text is too long")
        check_utf8(payload[start:start + length], start)
        at = start + length
    check(len(payload) == at + 40, at, "an import with a wrong length")
    numbers = struct.unpack_from("<QQQQQ", payload, at)
    return dict(zip(("offset", "row", "hash", "imported", "bad-rows"), numbers))


def read_index(payload):
    """Decodes table 4."""
    end = len(payload)
    check(end <= 65_536, 0, "the index is too long")
    check(payload[:1] == b"\1", 0, "unknown index kind")

    def count(at, most):
        number, after = read_varint(payload, at, end)
        check(1 <= number <= most, at, "the count is out of range")
        return number, after

    def text(at, most):
        length, start = read_varint(payload, at, end)
        check(length <= min(end - start, most), at, "the text is too long")
        check_utf8(payload[start:start + length], at)
        return payload[start:start + length], start + length

    name, at = text(1, 1_024)
    check(name, 1, "the name is empty")
    number, at = count(at, 16)
    fields = []
    for _ in range(number):
        check(payload[at:at + 1] in (b"\0", b"\1"), at, "unknown direction")
        is_descending = payload[at] == 1
        steps, at = count(at + 1, 64)
        path = []
        for _ in range(steps):
            step, at = text(at, end)
            path.append(step)
        fields.append(IndexField(path, is_descending))
    check(at == end, at, "bytes after the index")
    return Index(name, fields)


def has_floats_or_null(value):
    if value[0] in ("array", "object"):
        return any(has_floats_or_null(item if value[0] == "array" else item[1])
                   for item in value[1])
    return value == NULL or value[0] == "float"


def read_id(key):
    value = KeyReader(key, 3).id()
    check(not has_floats_or_null(value), 3, "an id has no floats and no null")
    return value


def part_of(payload, start, end, names):
    try:
        return decode(payload[start:end], names)
    except Refused as error:
        raise Refused(start + error.offset, error.reason) from error


def read_document(payloads, names):
    """Returns the state of a document from its put and delta records, oldest first (table 3)."""
    for index, payload in enumerate(payloads):
        check(payload, 0, "the payload is empty")
        check(payload[0] in ((DELTA,) if index else (STATE, BOTH, WHOLE)), 0, "unexpected payload")
        if index:
            delta = part_of(payload, 1, len(payload), names)
            check(can_join(state, delta), 1, "the delta does not apply to the state")
            state = joined(state, delta)
        elif payload[0] in (STATE, WHOLE):
            state = part_of(payload, 1, len(payload), names)
            check(state.is_state, 1, "not a state")
        else:
            length, start = read_varint(payload, 1, len(payload))
            check(length <= len(payload) - start, 1, "the state is longer than the payload")
            state = part_of(payload, start, start + length, names)
            check(state.is_state, start, "not a state")
            delta = part_of(payload, start + length, len(payload), names)
            check(not delta.is_state, start + length, "not a delta")
            check(can_join(state, delta) and joined(state, delta) == joined(state, state),
                  start + length, "the delta has contents that the state lacks")
    return state


class Commits:
    """Checks the commits of a store, and then lists its documents."""

    def __init__(self):
        self.named = {}

    def commit(self, number, operations):
        """Checks a commit; returns a line with its origin. `operations` are (is_put, key, payload)."""
        origin = None
        for index, (is_put, key, payload) in enumerate(operations):
            with Explaining(key):
                check_key(key)
                if key[0] in (NAME, COLLECTION):
                    check(is_put, 0, "a name is removed")
                    check(self.named.setdefault(key, payload) == payload, 0, "a name is changed")
                if key[0] == ORIGIN:
                    check(is_put and index == 0, 0, "the origin is not the first operation")
                    origin = read_origin(payload)
        if origin is None:
            return f"origin {number} here"
        return (f"origin {number} site {origin.site} time {origin.time} peer {origin.peer}"
                f" commit {origin.commit}")

    @staticmethod
    def names(contents, kind):
        """Returns the names in the order of their numbers."""
        found = []
        for key, payloads in sorted(contents.items()):
            if key[0] != kind:
                continue
            with Explaining(key):
                check(len(payloads) == 1, 0, "a name has a delta record")
                check(int.from_bytes(key[1:], "big") == len(found), 1, "a number is missing")
                check_utf8(payloads[0], 0)
                found.append(bytes(payloads[0]))
        return found

    @staticmethod
    def check_indexes(contents, collections):
        """Checks that each index is valid, with a name unique in its collection."""
        named = set()
        for key, payloads in sorted(contents.items()):
            if key[0] != INDEX:
                continue
            with Explaining(key):
                check(int.from_bytes(key[1:3], "big") < collections, 1, "unknown collection")
                check(len(payloads) == 1, 0, "an index has a delta record")
                name = read_index(bytes(payloads[0])).name
                check((key[1:3], name) not in named, 0, "two indexes have one name")
                named.add((key[1:3], name))

    def documents(self, contents):
        """Yields a line for each document; `contents` has the payloads of live keys in order."""
        for key in contents:
            with Explaining(key):
                check_key(key)
                check(key[0] != SITE or len(contents[key][-1]) in (16, 24, *range(40, 281, 16)), 0, "malformed site")
                check(key[0] != FORMER_SITES or is_former_sites(bytes(contents[key][-1])), 0, "malformed former sites")
                if key[0] == IMPORT and contents[key][-1] is not None:
                    read_import(bytes(contents[key][-1]))
                check(key[0] != UNPROVEN or [len(payload) for payload in contents[key]] in ([0], [32]), 0,
                      "malformed unproven token")
        names, collections = (self.names(contents, kind) for kind in (NAME, COLLECTION))
        self.check_indexes(contents, len(collections))
        for key, payloads in sorted(contents.items()):
            if key[0] != DOCUMENT:
                continue
            with Explaining(key):
                number = int.from_bytes(key[1:3], "big")
                check(number < len(collections), 1, "unknown collection")
                shown = read_document([bytes(payload) for payload in payloads], names).visible()
                yield (f"document {json_string(collections[number])} {json_of(read_id(key))} "
                       f"{'tombstone' if shown is None else json_of(shown)}")
