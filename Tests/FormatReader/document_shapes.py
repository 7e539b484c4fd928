"""Documents for the vectors, with each tag, width and table of format-spec/documents.md."""
from document_writes import Peer
from sheaf_dots import (
    ATTACHMENT, COUNTER, INITIAL, MAP, MARK, MARKS, OLDER, REGISTER, RESTART, SUM, TOKEN, VALUE,
    Content, Document, Place)
from sheaf_values import value_of

FIRST_DAY = 1_700_000_000_000 << 16


def cases():
    """Yields (case, comment, document, names numbered in it, numbered names of the store)."""
    for make in (simple, values, widths, names, parts, counters, seeds, deltas):
        for case in make():
            yield case + ((), ()) if len(case) == 3 else case


def written(plain, site=1, time=10):
    return Peer(site).at(time).set("", plain).document


def state(sites, dots=(), **more):
    """Returns a document with dots from (path, part, kind, stamp, value, epoch)."""
    document = Document(sites, **more)
    for path, part, kind, stamp, *rest in dots:
        path = tuple(name if isinstance(name, bytes) else name.encode() for name in path)
        value = None if not rest or rest[0] is None else value_of(rest[0])
        document.dots[Place(path, part, kind, stamp)] = Content(
            value, rest[1] if len(rest) > 1 else None)
    return document


ROOT = ((), MAP, MARK, (10, 1))


def simple():
    yield "empty", "no site, no root", Document()
    yield "empty-root", "a root without names", written({})
    yield "one-field", "one register, with the stamp of the root", written({"a": 1})
    yield ("real-stamps", "sites are random, times have milliseconds and a counter",
           state({0x8BADF00DDEADBEEF: FIRST_DAY + 3, 7: FIRST_DAY},
                 [((), MAP, MARK, (FIRST_DAY + 2, 0x8BADF00DDEADBEEF)),
                  (("a",), REGISTER, VALUE, (FIRST_DAY + 3, 0x8BADF00DDEADBEEF), 1),
                  (("b",), REGISTER, VALUE, (FIRST_DAY, 7), 2)]))
    yield ("largest-stamps", "the greatest site and the greatest time",
           written({"a": 1}, 2**64 - 1, 2**64 - 1))
    yield ("older-stamps", "older stamps are in the order of their first use",
           state({1: 30, 2: 40}, [
               ((), MAP, MARK, (20, 1)), (("a",), REGISTER, VALUE, (40, 2), 1),
               (("b",), REGISTER, VALUE, (15, 2), 2), (("c",), REGISTER, VALUE, (12, 1), 3),
               (("d",), REGISTER, VALUE, (15, 2), 4), (("e",), REGISTER, VALUE, (20, 1), 5)]))
    yield ("site-without-dots", "a site whose parts were all removed",
           state({1: 10, 2: 20}, [ROOT]))
    yield "base", "a state with a base: one site advanced, one is new, one is unchanged", state(
        {1: 10, 2: 20, 3: 30}, [ROOT], base={1: 10, 2: 15})
    yield "base-equal", "a base that is the vector: no site is listed", state(
        {1: 10, 2: 20}, [ROOT], base={1: 10, 2: 20})
    deleted = Peer(1).at(10).set("", {"a": 1}).at(20).delete()
    yield "deleted", "a deletion and no root", deleted.document
    yield "deleted-older", "a deletion with an older stamp", Peer(
        1, deleted.document).at(30).set("", {"b": 2}).document


def values():
    yield "tags", "all values", written({
        "null": None, "false": False, "true": True, "int": 1, "float": 1.5, "string": "x",
        "array": [1, [2]], "empty array": []})
    yield "bytes", "bytes, which JSON cannot represent", written({"a": b"\0\1\xff", "b": b""})
    yield "integers", "integers where their sizes change, and their limits", written({
        f"{index:02}": number for index, number in enumerate([
            0, 1, -1, 127, 128, -128, -129, 32_767, 32_768, -32_768, -32_769, 2**31 - 1, 2**31,
            -2**31, -2**31 - 1, 2**53 + 1, 2**63 - 1, -2**63])})
    yield "floats", "floats", written({
        f"{index:02}": number for index, number in enumerate([
            0.0, -0.0, 1.0, 0.1, 5e-324, 1.7976931348623157e308, 9007199254740992.0])})
    yield "no-numbers", "NaN with payload bits and a sign, and both infinities", written({
        "a": ("float", 0x7FF8_0000_0000_0001), "b": ("float", 0xFFF4_0000_0000_002A),
        "c": float("inf"), "d": float("-inf")})
    yield "strings", "strings: empty, NUL, beyond ASCII, beyond 16 bits, quotes", written({
        "a": "", "b": "\0", "c": "caf\u00e9", "d": "\U0001f600", "e": "\"\\\n"})
    inside = ("object", tuple(sorted((name, value_of(field)) for name, field in [
        (b"b", [{"c": None}, {}]), (b"a", {"x": -0.0}), (b"", [])])))
    yield "objects", "objects within a register, and within its arrays", written(
        {"a": [{"a": 1, "b": {}}], "b": [[[]]]})
    yield "object-register", "an object as one value", state(
        {1: 10}, [ROOT, (("o",), REGISTER, VALUE, (10, 1), inside)])
    deep, map_deep = 1, 1
    for _ in range(63):
        deep = [deep]
    yield "deep", "the root and 63 arrays", written({"a": deep})
    for _ in range(64):
        map_deep = {"a": map_deep}
    yield "deep-maps", "the root and 63 maps", written(map_deep)


def widths():
    yield "ends-255", "contents of 255 bytes, ends of one", written({"a": "x" * 252})
    yield "ends-256", "contents of 256 bytes, ends of two", written({"a": "x" * 253})
    yield "ends-65535", "contents of 65,535 bytes, ends of two", written({"a": "x" * 65_532})
    yield "ends-65536", "contents of 65,536 bytes, ends of four", written({"a": "x" * 65_533})
    yield "array-ends", "arrays whose contents have 255 and 256 bytes", written(
        {"a": ["x" * 254], "b": ["x" * 255]})
    yield "array-ends-65536", "an array whose contents have 65,536 bytes", written(
        {"a": ["x" * 65_535]})
    yield "array-255", "255 elements", written({"a": [None] * 255})
    yield "array-256", "256 elements", written({"a": [None] * 256})
    fields = {f"{index:02x}": None for index in range(255)}
    yield "object-255", "255 spelled fields", written(fields)
    yield "object-256", "256 spelled fields", written(fields | {"ff": None})
    yield "name-127", "a name of 127 bytes", written({"x" * 127: 1})
    yield "name-128", "a name of 128 bytes, whose length has two", written({"x" * 128: 1})
    yield "entry-128", "one of several entries has 128 bytes, so its length has two", state(
        {1: 10, 2: 20}, [ROOT, (("a",), REGISTER, VALUE, (10, 1), "x" * 127),
                         (("a",), REGISTER, VALUE, (20, 2), "y" * 125)])
    many = {site: 10 for site in range(1, 17)}
    yield ("header-253", "a header of 253 bytes: numbers of one byte, though with four it would have 259",
           state(
        {site: 10 for site in range(1, 16)}, [ROOT], deletion=(5, 15)))
    yield "header-259", "a header above 255 bytes: numbers have four", state(many, [ROOT])
    yield "header-base", "numbers of four bytes, also that of the bases", state(
        many, [ROOT], base={site: 10 for site in many if site != 3})
    yield "references-255", "255 stamps, references of one byte", state(
        {site: 10 for site in range(1, 256)}, [ROOT, (("a",), REGISTER, VALUE, (10, 255), 1)])
    yield "references-256", "256 stamps, references of two bytes; INITIAL has two, too", state(
        {site: 10 for site in range(1, 257)}, [
            ROOT, (("a",), REGISTER, VALUE, (10, 256), 1), (("a",), ATTACHMENT, TOKEN, INITIAL, 2)])
    yield "references-older", "255 sites and one older stamp, references of two bytes", state(
        {site: 10 for site in range(1, 256)}, [ROOT, (("a",), REGISTER, VALUE, (9, 255), 1)])


def names():
    yield "names", "an empty name, names with NUL, in the order of their bytes", written(
        {"": 1, "\0": 2, "\0\0": 3, "a\0b": 4, "a": 5, "b": {"": {"": 6}}})
    yield ("names-unicode", "a name composed and decomposed, which are two names; beyond 16 bits",
           written(
        {"\u00e9": 1, "e\u0301": 2, "\uffee": 3, "\U0001f600": 4}))
    plain = {"color": "red", "size": {"w": 1, "h": 2}, "list": [{"w": 3, "x": 4}]}
    known = [b"size", b"w", b"color"]
    yield ("numbered", "fields with numbers before spelled ones, also in maps and values",
           written(plain), known, known)
    yield ("numbered-all", "no field is spelled", written({"w": 1, "color": 2, "size": 3}),
           known, known)
    yield ("numbered-later", "spelled out although the store now has a number",
           written(plain), known[:1], known)
    yield ("numbered-unknown", "unused numbers",
           written({"a": 1}), known, known)
    many = [b"%02x" % index for index in range(255)] + [b"y", b"z"]
    yield ("numbered-256", "a number above 255, so all have two bytes",
           written({"00": 1, "z": 2, "q": 3}), many, many)
    yield ("numbered-255", "the number 255, so all have one byte",
           written({"00": 1, "y": 2}), many, many)
    yield ("numbered-count", "256 numbered fields", written(
        {name.decode(): None for name in many[:256]}), many, many)


def parts():
    yield "marks", "a root with three marks, the latest first", state(
        {1: 10, 2: 30, 3: 20}, [((), MAP, MARK, (10, 1)), ((), MAP, MARK, (30, 2)),
                                ((), MAP, MARK, (20, 3))])
    yield "unmarked-root", "a root without marks: all stamps have references", state(
        {1: 10}, [(("a",), REGISTER, VALUE, (10, 1), 1)])
    yield "register-values", "two values, of which the latest is visible", state(
        {1: 10, 2: 20}, [ROOT, (("a",), REGISTER, VALUE, (10, 1), "A"),
                         (("a",), REGISTER, VALUE, (20, 2), "B")])
    yield "same-time", "of equal times the greater site is visible", state(
        {1: 10, 2: 10}, [ROOT, (("a",), REGISTER, VALUE, (10, 1), "A"),
                         (("a",), REGISTER, VALUE, (10, 2), "B")])
    yield "attachments", "tokens, any values; one of them has two", state(
        {1: 10, 2: 20}, [ROOT, (("a",), ATTACHMENT, TOKEN, (10, 1), {"id": "x", "len": 3}),
                         (("b",), ATTACHMENT, TOKEN, (10, 1), 1),
                         (("b",), ATTACHMENT, TOKEN, (20, 2), [])])
    every = [ROOT, (("a",), REGISTER, VALUE, (10, 1), 1), (("a",), ATTACHMENT, TOKEN, (10, 1), 2),
             (("a",), MAP, MARK, (10, 1)), (("a",), COUNTER, RESTART, (10, 1), 3),
             (("a",), OLDER, SUM, (10, 1), 4)]
    yield ("parts-equal", "all five parts at a name with one stamp: the register is visible",
           state({1: 10}, every))
    yield ("parts-later", "all five parts at a name: the counter is later than three others, the map is latest",
           state(
        {1: 10, 2: 20, 3: 15}, every + [(("a", "b"), REGISTER, VALUE, (20, 2), 5),
                                        (("a",), COUNTER, SUM, (15, 3), 6, (10, 1))]))
    yield "map-below", "a map with an old mark and the latest dot in its fields", state(
        {1: 10, 2: 20, 3: 15}, [ROOT, (("a",), MAP, MARK, (10, 1)),
                                (("a", "b", "c"), REGISTER, VALUE, (20, 2), 1),
                                (("a",), REGISTER, VALUE, (15, 3), 2)])
    yield "map-marks", "a map with two marks, between other parts", state(
        {1: 30, 2: 20, 3: 10}, [((), MAP, MARK, (10, 3)), (("a",), MAP, MARK, (30, 1)),
                                (("a",), MAP, MARK, (10, 3)), (("a",), REGISTER, VALUE, (20, 2), 1),
                                (("a", "x"), REGISTER, VALUE, (10, 3), 2)])


def counters():
    yield "counter", "sums of two sites without a restart", state(
        {1: 10, 2: 20}, [ROOT, (("n",), COUNTER, SUM, (10, 1), 5, INITIAL),
                         (("n",), COUNTER, SUM, (20, 2), 7, INITIAL)])
    yield ("counter-restart", "a restart, a sum of its epoch, and a sum without epoch that does not count",
           state(
        {1: 10, 2: 20, 3: 30}, [ROOT, (("n",), COUNTER, RESTART, (20, 2), 100),
                                (("n",), COUNTER, SUM, (30, 3), 5, (20, 2)),
                                (("n",), COUNTER, SUM, (10, 1), 3, INITIAL)]))
    yield "counter-restarts", "two restarts, of which the later counts", state(
        {1: 10, 2: 20, 3: 30}, [ROOT, (("n",), COUNTER, RESTART, (20, 2), 100),
                                (("n",), COUNTER, RESTART, (10, 1), 200),
                                (("n",), COUNTER, SUM, (30, 3), 5, (10, 1))])
    yield "counter-epoch", "an epoch without its restart: it counts from 0", state(
        {1: 10, 2: 20, 3: 30}, [ROOT, (("n",), COUNTER, RESTART, (10, 1), 100),
                                (("n",), COUNTER, SUM, (30, 3), 5, (20, 2))])
    yield "counter-seed", "a restart that is a seed, and a sum from it", state(
        {1: 10}, [((), MAP, MARK, INITIAL), (("n",), COUNTER, RESTART, INITIAL, 40),
                  (("n",), COUNTER, SUM, (10, 1), 2, INITIAL)])
    yield "counter-limit", "sums that overflow 64 bits, underflow them, and overflow only in between", state(
        {1: 10, 2: 20, 3: 30}, [
            ROOT, (("a",), COUNTER, SUM, (10, 1), 2**63 - 1, INITIAL),
            (("a",), COUNTER, SUM, (20, 2), 1, INITIAL),
            (("b",), COUNTER, SUM, (10, 1), -2**63, INITIAL),
            (("b",), COUNTER, SUM, (20, 2), -1, INITIAL),
            (("c",), COUNTER, SUM, (10, 1), -5, INITIAL),
            (("c",), COUNTER, SUM, (20, 2), 2**63 - 1, INITIAL),
            (("c",), COUNTER, SUM, (30, 3), 3, INITIAL)])
    yield "counter-float", "one float makes the result one", state(
        {1: 10, 2: 20}, [ROOT, (("a",), COUNTER, RESTART, (10, 1), 1),
                         (("a",), COUNTER, SUM, (20, 2), 0.5, (10, 1)),
                         (("b",), COUNTER, SUM, (10, 1), 2, INITIAL),
                         (("b",), COUNTER, SUM, (20, 2), 3.0, INITIAL)])
    yield "counter-older", "an older counter, which has no epochs", state(
        {1: 10, 2: 20}, [ROOT, (("n",), OLDER, SUM, (10, 1), 5), (("n",), OLDER, SUM, (20, 2), -7)])
    yield "counter-both", "both counters at one name: the later is visible", state(
        {1: 10, 2: 20}, [ROOT, (("n",), OLDER, SUM, (10, 1), 5),
                         (("n",), COUNTER, SUM, (20, 2), 7, INITIAL)])


def seeds():
    yield "seed-beside", "a seed beside an overridden map at the same name", state(
        {1: 10}, [ROOT, (("o",), REGISTER, VALUE, INITIAL, 1)], overrides={((b"o",), MAP)})
    yield "seeds", "an INITIAL document: no site", Peer(1).insert_initial(
        {"a": 1, "o": {"b": 2}}).document
    yield "seed-token", "an INITIAL document with a token", Peer(1).insert_initial(
        {"a": 1, "o": {"photo": {"id": "0123456789abcdef" * 4, "len": 3}}}).document
    changed = Peer(1, Peer(1).insert_initial({"a": 1, "b": 2, "o": {"c": 3}}).document)
    yield "seed-replaced", "an override of a register that was written", changed.at(
        10).set("a", 9).document
    yield "seed-unset", "overrides alone at a name", Peer(1, changed.document).at(
        20).unset("o").unset("b").document
    yield "seed-below", "a map that was overridden, and written into again", Peer(
        1, changed.document).at(20).unset("o").at(30).set("o.d", 4).document
    yield "seed-marked", "a map with a seed and a mark", Peer(1, changed.document).at(
        20).set("o", {"d": 4}).document
    yield "override-bits", "an override of each part", state(
        {}, [((), MAP, MARK, INITIAL)], overrides={((b"abcde"[part:part + 1],), part)
                                                   for part in range(5)})
    yield "override-all", "overrides of all parts at one name, beside a later value", state(
        {1: 10}, [((), MAP, MARK, INITIAL), (("a",), REGISTER, VALUE, (10, 1), 1)],
        overrides={((b"a",), part) for part in range(5)})
    yield "override-deep", "an override in a map without dots: the map is invisible", state(
        {}, [((), MAP, MARK, INITIAL)], overrides={((b"a", b"b"), REGISTER)})


def delta(sites, named, dots=(), **more):
    return state(sites, dots, named={(tuple(name.encode() for name in path), part)
                                     for path, part in named}, **more)


def deltas():
    yield "delta-nothing", "a delta without parts: only the vector grew", delta(
        {1: 10, 2: 20}, [], base={1: 10})
    yield "delta-empty-vector", "no bytes", delta({}, [])
    yield "delta-register", "one register in the root, whose marks are untouched", delta(
        {1: 20}, [(("a",), REGISTER)], [(("a",), REGISTER, VALUE, (20, 1), 1)], base={1: 10})
    yield "delta-marks", "the marks of the root, and nothing below", delta(
        {1: 20}, [((), MARKS)], [((), MAP, MARK, (20, 1))], base={1: 10})
    yield ("delta-deeper", "registers in maps that are partial; one of them has its marks named",
           delta(
        {1: 20}, [(("a", "b", "c"), REGISTER), (("a", "b"), MARKS), (("d", "e"), REGISTER)],
        [(("a", "b", "c"), REGISTER, VALUE, (20, 1), 1), (("a", "b"), MAP, MARK, (15, 1)),
         (("d", "e"), REGISTER, VALUE, (20, 1), 2)], base={1: 10}))
    yield "delta-map-marks", "only the marks of a map below", delta(
        {1: 20}, [(("a",), MARKS)], [(("a",), MAP, MARK, (20, 1))], base={1: 10})
    yield "delta-whole-map", "a complete map in a partial one", delta(
        {1: 20}, [(("a",), MAP)],
        [(("a",), MAP, MARK, (20, 1)), (("a", "b"), REGISTER, VALUE, (10, 1), 1)], base={1: 10})
    yield "delta-empty", "removed parts: one, two, and one beside another part", delta(
        {1: 20}, [(("a",), REGISTER), (("b",), MAP), (("b",), COUNTER), (("c",), MAP),
                  (("c",), REGISTER)],
        [(("c",), REGISTER, VALUE, (20, 1), 1)], base={1: 10})
    yield ("delta-empty-below",
           "a removed register beside a register, in a partial map", delta(
        {1: 20}, [(("a", "b"), REGISTER), (("a",), REGISTER)],
        [(("a",), REGISTER, VALUE, (20, 1), 1)], base={1: 10}))
    yield "delta-overrides", "removed and overridden parts", delta(
        {1: 20}, [(("a",), REGISTER), (("b",), MAP)], base={1: 10},
        overrides={((b"a",), REGISTER), ((b"b",), MAP)})
    deleted = Peer(1).at(10).set("", {"a": 1})
    deleted.begin()
    yield ("delta-deletion", "a delta after a deletion names all parts, so it is a state",
           deleted.at(
        20).delete().delta())
    yield "delta-deletion-kept", "a deletion in a delta that is partial", delta(
        {1: 20, 2: 30}, [(("a",), REGISTER)], [(("a",), REGISTER, VALUE, (30, 2), 1)],
        base={1: 20}, deletion=(20, 1))
