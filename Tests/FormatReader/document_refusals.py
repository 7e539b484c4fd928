"""Malformed documents for the vectors; each breaks one rule of format-spec/documents.md."""
import struct

from sheaf_values import object_bytes, value_bytes, value_of, varint

ONE = ((1, 10),)
TWO = ((1, 10), (2, 20))


def header(sites=ONE, older=(), flags=0, bases=None, deletion=None, length=None, size=1):
    """Encodes the header of table 1; any argument may be invalid."""
    flags |= (2 if bases is not None else 0) | (4 if deletion else 0) | (8 if size == 4 else 0)
    body = len(sites).to_bytes(size, "little")
    body += b"".join(struct.pack("<QQ", *site) for site in sites)
    if bases is not None:
        body += len(bases).to_bytes(size, "little")
    for stamp in list(bases or ()) + ([deletion] if deletion else []) + list(older):
        body += struct.pack("<HQ", *stamp)
    length = 1 + size + len(body) if length is None else length
    return bytes([flags]) + length.to_bytes(size, "little") + body


def entry(plain):
    """Encodes a value as a register with the stamp of the root."""
    return value_bytes(value_of(plain))


def several(*entries):
    return b"\x14" + b"".join(varint(len(item)) + item for item in entries)


def fields(*named, flags=0):
    return object_bytes(named, {}, flags)


def root(*named, flags=0, mark=b"\x8e\0"):
    return mark + fields(*named, flags=flags)


# Offsets of the root entry of a document with one site, and of its first field's content.
BODY = 19
FIELD = BODY + 2
# Offset of the entry of the first field "a".
ENTRY = FIELD + 2
MAP_FLAGS = 64


def one(item, flags=0):
    """Returns a document with one site and one entry at "a"."""
    return header() + root((b"a", item), flags=flags)


def two(item, flags=MAP_FLAGS):
    """Returns a document with two sites; references may be 0 or 1, the root's mark is 0."""
    return header(TWO) + root((b"a", item), flags=flags)


def delta(item, flags=0, sites=ONE):
    return header(sites, flags=1) + root((b"a", item), flags=flags | 32)


def cases():
    """Yields (case, rule, bytes, offset of the error, numbered names)."""
    for make in (of_header, of_header_stamps, of_roots, of_entries, of_values, of_several,
                 of_parts, of_objects, of_arrays, of_deltas, of_seeds):
        for case, *rest in make():
            yield (f"refused-{case}", *rest) if len(rest) == 4 else (f"refused-{case}", *rest, ())


def of_header():
    plain = root()
    yield "nothing", "no bytes", b"", 0
    yield "cut", "the header ends in a site", (header() + plain)[:12], 1
    yield "flag-6", "flag 6", header(flags=64) + plain, 0
    yield "flag-7", "flag 7", header(flags=128) + plain, 0
    yield "reference-size", "an unknown size of references", header(flags=48) + plain, 0
    yield "references-two", "references that fit one byte", header(
        flags=16) + b"\x8e\0\0" + fields(), 0
    yield "references-four", "references that fit one byte", header(
        flags=32) + b"\x8e\0\0\0\0" + fields(), 0
    sites = tuple((site, 10) for site in range(1, 257))
    yield "references-one", "256 stamps need references of two bytes", header(
        sites, size=4) + plain, 0
    yield "length-short", "the header ends in a site", header(length=18) + plain, 2
    yield "length-stamp", "5 bytes after the sites", header(length=24) + bytes(
        5) + plain, 1
    yield "length-long", "the header ends after the document", header(length=60) + plain, 1
    yield "length-all", "no root entry", header(), BODY
    yield "numbers-four", "numbers that fit one byte", header(size=4) + plain, 0
    yield "numbers-259", "the header has 259 bytes only because its numbers have four", header(
        sites[:15], deletion=(0, 10), size=4) + plain, 0
    yield "sites-descend", "sites do not ascend", header(((2, 10), (1, 10))) + plain, 19
    yield "sites-equal", "a duplicate site", header(((1, 10), (1, 20))) + plain, 19
    yield "site-time", "a site with time 0", header(((1, 10), (2, 0))) + plain, 27


def of_header_stamps():
    plain = root()
    base = 20
    yield "bases", "more bases than sites", header(bases=[(0, 5), (0, 6)]) + plain, 19
    yield "base-site", "an unknown site", header(bases=[(1, 5)]) + plain, base
    yield "base-order", "bases do not ascend", header(
        TWO, bases=[(1, 5), (0, 5)]) + plain, base + 26
    yield "base-twice", "a duplicate base", header(TWO, bases=[(1, 5), (1, 6)]) + plain, base + 26
    yield "base-equal", "a base equal to the vector is not listed", header(
        bases=[(0, 10)]) + plain, base + 2
    yield "base-above", "above the vector", header(bases=[(0, 11)]) + plain, base + 2
    yield "base-empty", "an empty base, which counts as none", header(
        bases=[(0, 0)]) + plain, 0
    yield "base-no-sites", "a base without sites, which is also empty", header(
        (), bases=[]) + b"\x17", 0
    yield "deletion-site", "an unknown site", header(deletion=(1, 10)) + plain, 19
    yield "deletion-zero", "time 0", header(deletion=(0, 0)) + plain, 21
    yield "deletion-above", "a deletion that is not covered", header(
        deletion=(0, 11)) + plain, 21
    yield "deletion-cut", "truncated before the deletion", header(
        deletion=(0, 10), length=19) + plain, 1
    old = root((b"a", b"\x81\1"), (b"b", b"\x81\2"), flags=MAP_FLAGS)
    yield "older-site", "an unknown site", header(older=[(1, 5)]) + root(
        (b"a", b"\x81\1"), flags=MAP_FLAGS), 19
    yield "older-equal", "the stamp is that of the vector", header(older=[(0, 10)]) + root(
        (b"a", b"\x81\1"), flags=MAP_FLAGS), 21
    yield "older-above", "the stamp is not covered", header(older=[(0, 11)]) + root(
        (b"a", b"\x81\1"), flags=MAP_FLAGS), 21
    yield "older-twice", "a duplicate older stamp", header(older=[(0, 5), (0, 5)]) + old, 29
    yield "older-unused", "the second older stamp is not used", header(
        older=[(0, 5), (0, 4)]) + root((b"a", b"\x81\1"), flags=MAP_FLAGS), 29
    yield "older-order", "the second older stamp is used first", header(
        older=[(0, 5), (0, 4)]) + root((b"a", b"\x81\2"), (b"b", b"\x81\1"),
                                       flags=MAP_FLAGS), 39 + 2 + 2 + 1


def of_roots():
    yield "root-tag", "an unknown tag", header() + b"\x18", BODY
    yield "root-register", "a register as root", header() + b"\x81\0", BODY
    yield "root-overrides", "overrides at the root", header() + b"\x15\4", BODY
    yield "root-mark", "a mark without its map", header() + b"\x90\0", BODY
    yield "root-plain", "the root's mark without a reference", header() + b"\x0e\0\0", BODY
    yield "root-nothing", "a map without marks and fields", header() + b"\x0f\0\0", BODY
    yield "root-trailing", "bytes after a document without root", header() + b"\x17\0", BODY + 1
    yield "root-partial", "a partial delta without root", header(flags=1) + b"\x17", 0
    yield "root-several", "other parts at the root", header() + several(
        b"\x8e\0\0\0", b"\x15\4"), BODY + 7
    yield "root-several-unmarked", "several, but no mark comes first", header(TWO) + several(
        b"\x0f\0\0", b"\x90\0"), 35 + 2
    yield "root-one", "several with one entry", header() + several(b"\x8e\0\0\0"), BODY
    yield "root-later", "the later mark comes second", header(TWO) + several(
        b"\x8e\0\0\0", b"\x90\1"), 35 + 7


def of_entries():
    yield "tag-0", "an unknown tag", one(b"\0"), ENTRY
    yield "tag-24", "an unknown tag", one(b"\x18"), ENTRY
    yield "tag-23", "no root, at a name", one(b"\x17"), ENTRY
    yield "reference-15", "a map without marks has no stamp", one(
        b"\x8f\0" + fields((b"b", b"\1")), MAP_FLAGS), ENTRY
    yield "reference-20", "several have no stamp", two(
        b"\x94\0" + several(b"\1", b"\x82\1")[1:]), 35 + 4
    yield "reference-21", "overrides have no stamp", one(b"\x95\0\1", MAP_FLAGS), ENTRY
    yield "reference-cut", "an entry ends before its reference", one(b"\x81", MAP_FLAGS), ENTRY + 1
    yield "reference-unknown", "an unknown stamp", one(b"\x81\1", MAP_FLAGS), ENTRY + 1
    yield "reference-254", "an unknown stamp; only 255 is INITIAL", one(
        b"\x81\xfe", MAP_FLAGS), ENTRY + 1
    yield "reference-root", "the stamp of the root with a reference", one(
        b"\x81\0", MAP_FLAGS), ENTRY + 1
    yield "reference-none", "no reference, and no mark at the root", header() + b"\x0f" + fields(
        (b"a", b"\1")), FIELD - 1 + 2
    yield "epoch-cut", "truncated before the epoch", one(b"\x12", MAP_FLAGS), ENTRY + 1
    yield "epoch-unknown", "an unknown stamp", one(b"\x12\5\4\1", MAP_FLAGS), ENTRY + 1
    yield "restart-string", "a restart that is not a number", one(b"\x11\x09x"), ENTRY + 1
    yield "restart-empty", "a restart without a number", one(b"\x11"), ENTRY + 1
    yield "sum-null", "a sum that is not a number", one(b"\x12\xff\1", MAP_FLAGS), ENTRY + 2
    yield "older-sum-array", "a sum that is not a number", one(
        b"\x13" + entry([])), ENTRY + 1
    yield "token-empty", "a token without a value", one(b"\x0d"), ENTRY + 1
    yield "token-token", "a token in a token", one(b"\x0d\x0d\1"), ENTRY + 1
    yield "token-reference", "a value with a reference in a token", two(b"\x0d\x81\1"), 35 + 5
    yield "overrides-zero", "overrides of nothing", one(b"\x15\0"), ENTRY + 1
    yield "overrides-bits", "more than five parts", one(b"\x15\x20"), ENTRY + 1
    yield "overrides-cut", "overrides without their byte", one(b"\x15"), ENTRY + 1
    yield "overrides-long", "overrides of two bytes", one(b"\x15\1\1"), ENTRY + 1
    yield "mark-alone", "a mark without its map", one(b"\x10"), ENTRY


def of_values():
    yield "null-long", "a byte after null", one(b"\1\0"), ENTRY + 1
    yield "integer-cut", "an integer without its byte", one(b"\4"), ENTRY + 1
    yield "integer-long", "an integer of three bytes", one(b"\5\1\2\3"), ENTRY + 1
    yield "integer-two", "a length that fits one byte", one(b"\5\x7f\0"), ENTRY
    yield "integer-two-below", "a length that fits one byte", one(b"\5\x80\xff"), ENTRY
    yield "integer-four", "a length that fits two bytes", one(b"\6\0\x80\xff\xff"), ENTRY
    yield "integer-eight", "a length that fits four bytes", one(b"\7\xff\xff\xff\x7f\0\0\0\0"), ENTRY
    yield "float-short", "a float of seven bytes", one(b"\x08" + bytes(7)), ENTRY + 1
    yield "string", "not UTF-8", one(b"\x09\xff"), ENTRY + 1
    yield "string-surrogate", "half of a surrogate pair is not UTF-8", one(b"\x09\xed\xa0\x80"), ENTRY + 1
    yield "string-overlong", "not UTF-8", one(b"\x09\xc0\x80"), ENTRY + 1
    deep = entry([])
    for _ in range(63):
        deep = b"\x0b" + deep + (bytes([len(deep), 1, 0]) if len(deep) < 256 else (
            len(deep).to_bytes(2, "little") + b"\1\1"))
    data = header() + root((b"a", deep))
    yield "deep", "the root and 64 arrays", data, ENTRY + 64
    maps = fields()
    for _ in range(64):
        maps = fields((b"a", b"\x0e" + maps))
    yield "deep-maps", "the root and 64 maps", header() + b"\x8e\0" + maps, FIELD + 64 * 3


def of_several():
    a, b = b"\1", b"\x82\1"
    yield "several-none", "several with no entries", two(b"\x14", 0), 35 + 4
    yield "several-one", "several with one entry", two(several(b)), 35 + 4
    yield "several-inside", "several in several", two(several(several(b, a), a)), 35 + 6
    yield "several-empty", "an entry of no bytes", two(b"\x14\0" + several(b, a)[1:]), 35 + 5
    yield "several-long", "an entry that ends after the list", two(
        b"\x14" + varint(2) + b + varint(2) + a), 35 + 8
    yield "several-varint", "the length is not the shortest varint", two(
        b"\x14\x82\0" + b + varint(1) + a), 35 + 5
    yield "several-order", "values in the order of their stamps", two(several(a, b)), 35 + 6
    yield "several-parts", "parts in the order of their latest dots", two(
        several(a, b"\x8d\1\1")), 35 + 6
    yield "several-parts-equal", "parts of one stamp in the order of the table", one(
        several(b"\x0d\1", b"\1")), ENTRY + 2
    yield "several-parts-apart", "the dots of a part are not together", two(
        several(b"\x82\1", b"\x8d\1\1", b"\1")), 35 + 9
    yield "several-sums", "restarts before sums", two(several(
        b"\x92\1\xff\4\1", b"\x11\4\1")), 35 + 6
    yield ("several-map", "parts in the order of their latest dots, for a map also of those below",
           two(
        several(b"\1", b"\x0e" + fields((b"b", b"\x81\1"), flags=MAP_FLAGS))), 35 + 6)
    yield "several-marks", "the map is first", two(several(b"\x10", b"\x8e\1\0\0")), 35 + 6
    yield "several-marks-order", "the map has the latest mark", two(
        several(b"\x0e\0\0", b"\x90\1")), 35 + 10
    yield "several-unmarked", "a mark beside a map without marks", two(
        several(b"\x0f" + fields((b"b", b"\x81\1"), flags=MAP_FLAGS), b"\x10")), 35 + 16
    yield "several-overrides-first", "overrides are last", one(
        several(b"\x15\2", b"\1")), ENTRY + 2
    yield "several-overrides-twice", "duplicate overrides", one(
        several(b"\1", b"\x15\2", b"\x15\4")), ENTRY + 7


def of_parts():
    old = header(((1, 10), (2, 20)), older=[(1, 15)])
    for name, first, second in (
            ("values", b"\x81\1", b"\x82\2"), ("tokens", b"\x8d\1\1", b"\x8d\2\2"),
            ("restarts", b"\x91\1\4\1", b"\x91\2\4\1"),
            ("sums", b"\x92\1\xff\4\1", b"\x92\2\xff\4\1"),
            ("older-sums", b"\x93\1\4\1", b"\x93\2\4\1"),
            ("marks", b"\x8e\1\0\0", b"\x90\2")):
        yield f"twice-{name}", "two dots of one kind and site", old + root(
            (b"a", several(first, second)), flags=MAP_FLAGS), 45 + 4 + 1 + 1 + len(first) + 1
    yield "twice-seeds", "two seeds in one part", one(
        several(b"\x81\xff", b"\x82\xff"), MAP_FLAGS), ENTRY + 5
    yield "twice-maps", "two maps", two(several(b"\x8e\1\0\0", b"\x0e\0\0")), 35 + 11
    yield "empty-map", "a map without marks and fields", one(b"\x0f\0\0"), ENTRY


def of_objects():
    plain = header() + b"\x8e\0"

    def made(tail, contents=b"\1a\1\1b\1"):
        return plain + contents + bytes(tail)
    end = FIELD + 6
    yield "object-cut", "truncated before the flags", plain, FIELD
    yield "object-flag-7", "flag 7", made([3, 6, 2, 0, 0x88]), end + 4
    yield "object-ends-size", "an unknown size of ends", made([3, 6, 2, 0, 0x0B]), end + 4
    yield "object-ends-two", "ends that fit one byte", made([3, 0, 6, 0, 2, 0, 0x09]), end + 6
    yield "object-ends-descend", "ends do not ascend", made([6, 3, 2, 0, 8]), end + 1
    yield "object-ends-equal", "a field without bytes", made([0, 6, 2, 0, 8]), end
    yield "object-ends-short", "the last end is not that of the contents", made(
        [3, 5, 2, 0, 8]), end + 1
    yield "object-ends-long", "the last end is after the contents", made([3, 7, 2, 0, 8]), end + 1
    yield "object-contents", "contents without fields", plain + b"\1\0\0", FIELD
    yield "object-count", "more fields than bytes", made([3, 6, 200, 0, 8]), end + 2
    yield ("object-count-numbered", "more fields than bytes", plain + b"\0\0\xff\0", FIELD + 2,
           [b"a"])
    yield "object-spelled-zero", "a count of spelled fields that is 0", plain + bytes(
        [0, 0, 8]), FIELD
    yield "object-counts-four", "counts that fit one byte", made(
        [3, 6, 2, 0, 0, 0, 0, 0, 0, 0, 0x18]), end + 10
    yield "object-no-counts", "truncated before the counts", plain + b"\0\x10", FIELD + 1
    yield "object-names-two", "numbers that fit one byte", plain + b"\1" + bytes(
        [1, 0, 0, 1, 4]), FIELD + 5, [b"a"]
    yield "object-names-none", "no number needs two bytes", made([3, 6, 2, 0, 0x0C]), end + 4
    yield "object-numbers", "numbers do not ascend", plain + b"\1\1" + bytes(
        [1, 2, 1, 0, 2, 0]), FIELD + 5, [b"a", b"b"]
    yield "object-numbers-twice", "a number twice", plain + b"\1\1" + bytes(
        [1, 2, 1, 1, 2, 0]), FIELD + 5, [b"a", b"b"]
    yield "object-number", "without a store fields have no numbers", plain + b"\1" + bytes(
        [1, 0, 1, 0]), FIELD + 2
    yield "object-number-unknown", "a number that has no name", plain + b"\1" + bytes(
        [1, 2, 1, 0]), FIELD + 2, [b"a", b"b"]
    yield "object-names", "names do not ascend", made([3, 6, 2, 0, 8], b"\1b\1\1a\1"), FIELD + 4
    yield "object-name-twice", "a duplicate name", made([3, 6, 2, 0, 8], b"\1a\1\1a\1"), FIELD + 4
    yield "object-name-both", "a name as number and spelled", plain + b"\1\1a\1" + bytes(
        [1, 4, 0, 1, 1, 8]), FIELD + 2, [b"a"]
    yield "object-name-utf-8", "not UTF-8", made([3, 6, 2, 0, 8], b"\1a\1\1\xff\1"), FIELD + 4
    yield "object-name-long", "a name that ends after its field", made(
        [3, 6, 2, 0, 8], b"\1a\1\3b\1"), FIELD + 3
    yield "object-name-alone", "a name without an entry", made(
        [3, 6, 2, 0, 8], b"\1a\1\2bc"), FIELD + 3
    yield "object-name-varint", "the length is not the shortest varint", plain + (
        b"\x81\0a\1" + bytes([4, 1, 0, 8])), FIELD
    yield "object-references", "a reference without its flag", two(b"\x81\1", 0), 35 + 9
    yield "object-no-references", "no reference, though the flags say so", one(
        b"\1", MAP_FLAGS), ENTRY + 4
    yield "object-epoch", "the reference to an epoch is one, too", one(
        b"\x12\xff\4\1"), ENTRY + 7
    yield "value-references", "references in a value", one(
        b"\x0c" + fields((b"b", b"\1"), flags=64)), ENTRY + 1 + 7 - 1
    yield "value-reference", "an entry with a reference in a value", two(
        b"\x0c" + fields((b"b", b"\x81\1"))), 35 + 4 + 1 + 2
    yield "value-partial", "a partial value", one(
        b"\x0c" + fields((b"b", b"\1"), flags=32)), ENTRY + 1 + 7 - 1
    yield "value-names", "names of a value do not ascend", one(
        b"\x0c\1c\1\1b\1" + bytes([3, 6, 2, 0, 8])), ENTRY + 5
    yield "value-map", "a map in a value", one(b"\x0c" + fields((b"b", b"\x0e\0\0"))), ENTRY + 3
    yield "value-counter", "a counter in a value", one(
        b"\x0c" + fields((b"b", b"\x13\4\1"))), ENTRY + 3


def of_arrays():
    def made(tail, contents=b"\1\1"):
        return one(b"\x0b" + contents + bytes(tail))
    end = ENTRY + 3
    yield "array-cut", "truncated before the flags", one(b"\x0b"), ENTRY + 1
    for bit in (2, 3, 5, 6, 7):
        yield f"array-flag-{bit}", f"flag {bit}", made([1, 2, 2, 1 << bit]), end + 3
    yield "array-ends-size", "an unknown size of ends", made([1, 2, 2, 3]), end + 3
    yield "array-ends-two", "ends that fit one byte", made([1, 0, 2, 0, 2, 1]), end + 5
    yield "array-count-four", "a count that fits one byte", made(
        [1, 2, 2, 0, 0, 0, 16]), end + 6
    yield "array-ends-equal", "an element without bytes", made([2, 2, 2, 0]), end + 1
    yield "array-ends-short", "the last end is not that of the contents", made(
        [1, 2, 2, 0], b"\1\1\1"), end + 1 + 1
    yield "array-count", "more elements than bytes", made([1, 2, 200, 0]), end + 2
    yield "array-map", "a map in an array", made([3, 1, 0], b"\x0e\0\0"), ENTRY + 1
    yield "array-reference", "an element with a reference", one(
        b"\x0b\x81\xff\2\1\0", 0), ENTRY + 1


def of_deltas():
    yield "partial-root", "the header says that the root is partial", header(
        flags=1) + root(), FIELD + 1
    yield "partial-state", "a partial root in a state", header() + root(flags=32), FIELD + 1
    yield "partial-in-state", "a partial map in a state", one(
        b"\x0e" + fields((b"b", b"\1"), flags=32)), ENTRY + 1 + 7 - 1
    yield "partial-in-whole", "a partial map in a complete one, in a delta", delta(
        b"\x0e" + fields((b"b", b"\x0e" + fields((b"c", b"\1"), flags=32)))), ENTRY + 1 + 3 + 6
    yield "partial-nothing", "a partial map without fields and marks", delta(
        b"\x0f" + fields(flags=32)), ENTRY
    yield "empty-in-state", "empty in a state", one(b"\x16\1"), ENTRY
    yield "empty-in-whole", "empty in a complete map of a delta", delta(
        b"\x0e" + fields((b"b", b"\x16\1"))), ENTRY + 3
    yield "empty-zero", "empty without parts", delta(b"\x16\0"), ENTRY + 1
    yield "empty-bits", "more than five parts", delta(b"\x16\x20"), ENTRY + 1
    yield "empty-there", "a register that exists and is empty", delta(
        several(b"\1", b"\x16\1")), ENTRY + 5
    yield "empty-map-there", "a partial map that exists and is empty", delta(several(
        b"\x0f" + fields((b"b", b"\1"), flags=32), b"\x16\4")), ENTRY + 12
    yield "empty-order", "empty precedes overrides", delta(
        several(b"\x15\1", b"\x16\2")), ENTRY + 2
    yield "empty-first", "empty follows dots", delta(several(b"\x16\2", b"\1")), ENTRY + 2
    yield "empty-twice", "a duplicate empty", delta(several(b"\x16\1", b"\x16\2")), ENTRY + 5


def of_seeds():
    yield "seed-overridden", "a seed whose part is overridden", one(
        several(b"\x81\xff", b"\x15\1"), MAP_FLAGS), ENTRY + 2
    yield "seed-below", "a seed below an overridden map", one(several(
        b"\x0e" + fields((b"b", b"\x81\xff"), flags=MAP_FLAGS), b"\x15\4"), MAP_FLAGS), ENTRY + 5
    yield "seed-mark", "a mark that is a seed of an overridden map", one(
        several(b"\x8e\xff\0\0", b"\x15\4"), MAP_FLAGS), ENTRY + 2
    deleted = header(deletion=(0, 5))
    yield "seed-deletion", "a seed beside a deletion", deleted + root(
        (b"a", b"\x81\xff"), flags=MAP_FLAGS), ENTRY + 10
    yield ("seed-root-deletion", "the root's seed beside a deletion", deleted + b"\x8e\xff\0\0",
           BODY + 10)
    yield "overrides-deletion", "overrides beside a deletion", deleted + root(
        (b"a", b"\x15\1")), ENTRY + 10
    yield "overrides-below", "overrides below an overridden map", one(several(
        b"\x0e" + fields((b"b", b"\x15\1")), b"\x15\4")), ENTRY + 5
