"""Joins for the vectors: the results of concurrent writes of two peers."""
from document_shapes import ROOT, delta, state
from document_writes import Peer
from sheaf_dots import (
    ATTACHMENT, COUNTER, INITIAL, MAP, MARKS, OLDER, REGISTER, VALUE, Document, joined)

START = {"s": "-", "items": {"x": 1, "y": 2}, "n": 1, "color": "red"}


def peers(start, left, right):
    """Returns two states after writes on a common one, and the delta of the second."""
    common = Peer(9)
    if start is not None:
        common.at(10)
        start(common) if callable(start) else common.set("", start)
    a, b = Peer(1, common.document), Peer(2, common.document)
    left(a)
    right(b)
    return a.document, b.document, b.delta()


def cases():
    """Yields (case, comment, left, right)."""
    for case, comment, start, left, right in table():
        a, b, changed = peers(start, left, right)
        yield case, comment, a, b
        assert joined(a, b) == joined(a, changed), case
        if not changed.is_state:
            yield f"{case}-delta", f"{comment}; the right side as a delta", a, changed
    yield from others()
    yield from of_deltas()


def counter(peer):
    peer.set("", {}).at(11).restart("n", 10)


def both(*writes):
    def write(peer):
        for time, name, *arguments in writes:
            getattr(peer.at(time), name)(*arguments)
    return write


def table():
    yield ("set-set", "SET s='A' | later SET s='B': 'B'", START,
           both((20, "set", "s", "A")), both((30, "set", "s", "B")))
    yield ("set-fields", "SET obj.a=2 | SET obj.b=3: both", {"obj": {"a": 0, "b": 0}},
           both((20, "set", "obj.a", 2)), both((30, "set", "obj.b", 3)))
    yield ("set-object", "SET obj={'a':10} | SET obj.b=20: both", {"obj": {"a": 0, "b": 0}},
           both((20, "set", "obj", {"a": 10})), both((30, "set", "obj.b", 20)))
    yield ("unset-below", "UNSET obj | SET obj.c=5: only obj.c", {"obj": {"a": 0, "b": 0}},
           both((20, "unset", "obj")), both((30, "set", "obj.c", 5)))
    yield ("unset-deeper", "UNSET items.x | later SET items.x.q=5: a map with q", START,
           both((20, "unset", "items.x")), both((30, "set", "items.x.q", 5)))
    yield ("set-below-unset", "SET obj.c=5 | later UNSET obj: only obj.c, regardless of time",
           {"obj": {"a": 0}}, both((20, "set", "obj.c", 5)), both((30, "unset", "obj")))
    yield ("arrays", "array | array: the later", START,
           both((20, "set", "s", [1, 2])), both((30, "set", "s", [3])))
    yield ("increments", "INCREMENT 5 | INCREMENT 7: 12 more", counter,
           both((20, "increment", "n", 5)), both((30, "increment", "n", 7)))
    yield ("increments-twice", "INCREMENT 5, 1 | INCREMENT 7, 2: one sum of each site", counter,
           both((20, "increment", "n", 5), (21, "increment", "n", 1)),
           both((30, "increment", "n", 7), (31, "increment", "n", 2)))
    yield ("increments-new", "INCREMENT 5 | INCREMENT 7 where there was no counter", {},
           both((20, "increment", "n", 5)), both((30, "increment", "n", 7)))
    yield ("increments-older", "PN_INCREMENT 5 | PN_INCREMENT 7", {},
           both((20, "increment_older", "n", 5)), both((30, "increment_older", "n", 7)))
    yield ("restart-unseen", "RESTART WITH 100 | later concurrent INCREMENT 5: 100",
           counter,
           both((20, "restart", "n", 100)), both((30, "increment", "n", 5)))

    def seen(peer):
        peer.take(Peer(1, peer.document).at(20).restart("n", 100).document)
        peer.at(30).increment("n", 5)
    yield ("restart-seen", "RESTART WITH 100 | INCREMENT 5 after it: 105", counter,
           both((20, "restart", "n", 100)), seen)
    yield ("restarts", "RESTART WITH 100 | later RESTART WITH 200", counter,
           both((20, "restart", "n", 100)), both((30, "restart", "n", 200)))
    yield ("delete-update", "DELETE | UPDATE color: only color", START,
           both((20, "delete")), both((30, "set", "color", "blue")))
    yield ("delete-delete", "DELETE | DELETE: the later deletion", START,
           both((20, "delete")), both((30, "delete")))
    yield ("delete-insert", "DELETE, INSERT | UPDATE", START,
           both((20, "delete"), (21, "set", "", {"a": 1})), both((30, "set", "color", "blue")))
    yield ("inserts", "INSERT | INSERT with the same id: of each field the later", None,
           both((20, "set", "", {"a": 1, "b": 1, "o": {"x": 1}})),
           both((30, "set", "", {"a": 2, "c": 2, "o": {"y": 2}})))
    yield ("initials", "INITIAL | INITIAL with other contents: both, of common fields the greater",
           None,
           initial({"a": 1, "b": "x", "c": [2], "o": {"p": 1}}),
           initial({"a": 1.0, "b": 7, "d": True, "o": {"q": 2}}))
    yield ("initial-insert", "INITIAL | INSERT: the write beats seeds in common fields", None,
           initial({"a": 9, "b": 9}), both((30, "set", "", {"a": 1, "c": 2})))
    yield ("initial-update", "INITIAL with one value | the same document with another, updated",
           None,
           initial({"a": 9, "b": 9}),
           lambda peer: (initial({"a": 1, "b": 1})(peer), peer.at(30).set("a", 0)))
    yield ("initial-unset", "INITIAL | INITIAL, UNSET: removed fields stay removed", None,
           initial({"a": 9, "o": {"p": 1}, "b": 2}),
           lambda peer: (initial({"a": 1, "o": {"q": 2}})(peer), peer.at(
               30).unset("a").unset("o")))
    yield ("initial-below", "INITIAL, SET o.r | INITIAL, UNSET o: only the later write remains",
           None,
           lambda peer: (initial({"o": {"p": 1}})(peer), peer.at(20).set("o.r", 3)),
           lambda peer: (initial({"o": {"q": 2}})(peer), peer.at(30).unset("o")))
    yield ("initial-delete", "INITIAL | INITIAL, DELETE: deleted seeds stay deleted", None,
           initial({"a": 9}), lambda peer: (initial({"a": 1})(peer), peer.at(30).delete()))
    yield ("initial-override-delete", "INITIAL, SET | INITIAL, DELETE: overrides are removed with the seeds",
           None, lambda peer: (initial({"a": 9, "b": 1})(peer), peer.at(20).set("a", 2)),
           lambda peer: (initial({"a": 9, "b": 1})(peer), peer.at(30).delete()))
    yield ("initial-counter", "a counter that is a seed, and increments of both", seed_counter,
           both((20, "increment", "n", 5)), both((30, "increment", "n", 7)))
    yield ("object-array", "field as object | the same field as array: the later is visible, both remain",
           {}, both((20, "set", "f", {"a": 1})), both((30, "set", "f", [1])))
    yield ("array-object", "field as array | later the same field as object", {},
           both((20, "set", "f", [1])), both((30, "set", "f", {"a": 1})))
    yield ("attachments-join", "attachment | attachment, and a register beside it", {"t": 1},
           both((20, "attach", "t", "left")), both((30, "attach", "t", "right")))


def initial(plain):
    return lambda peer: peer.insert_initial(plain)


def seed_counter(peer):
    kept, peer.stamp = peer.stamp, INITIAL
    peer.set("", {}).restart("n", 40)
    peer.stamp = kept


def others():
    a = Peer(1).at(10).set("", {"a": 1})
    yield "same", "a state with itself", a.document, a.document
    yield "nothing-state", "a state without parts", a.document, Document()
    later = Peer(1, a.document).at(20).set("a", 2)
    yield "older-state", "a state with an earlier state of it", later.document, a.document
    yield ("broken-values", "two values with one stamp, as only broken sites have: the greater",
           state({1: 10}, [ROOT, (("a",), REGISTER, VALUE, (10, 1), 3)]),
           state({1: 10}, [ROOT, (("a",), REGISTER, VALUE, (10, 1), "x")]))
    yield ("broken-numbers", "the keys differ only in their trailers: the float",
           state({1: 10}, [ROOT, (("a",), REGISTER, VALUE, (10, 1), 3.0)]),
           state({1: 10}, [ROOT, (("a",), REGISTER, VALUE, (10, 1), 3)]))
    yield ("broken-trailers", "objects whose keys differ in their trailers alone",
           state({1: 10}, [ROOT, (("a",), REGISTER, VALUE, (10, 1), {"x": 0, "y": -0.0})]),
           state({1: 10}, [ROOT, (("a",), REGISTER, VALUE, (10, 1), {"x": 0.0, "y": 0.0})]))
    yield ("broken-nan", "values that are not numbers and have one key: the greater bytes",
           state({1: 10}, [ROOT, (("a",), REGISTER, VALUE, (10, 1), ("float", 0x7FF8 << 48))]),
           state({1: 10}, [ROOT, (("a",), REGISTER, VALUE, (10, 1),
                          ("float", (0x7FF8 << 48) + 1))]))
    yield ("broken-sums", "of two sums with one stamp the one with the later epoch, not the greater",
           state({1: 10, 2: 5}, [ROOT, (("n",), COUNTER, "sum", (10, 1), 1, (5, 2))]),
           state({1: 10, 2: 5}, [ROOT, (("n",), COUNTER, "sum", (10, 1), 9, INITIAL)]))
    for part, epoch in ((COUNTER, [INITIAL]), (OLDER, [])):
        name = "counter" if part == COUNTER else "older"
        yield (f"forgotten-sum-{name}",
               "a sum, and an earlier one of the site, whose store was restored and wrote elsewhere",
               state({1: 30}, [ROOT, (("n",), part, "sum", (30, 1), 8, *epoch)]),
               state({1: 40}, [ROOT, (("n",), part, "sum", (20, 1), 5, *epoch),
                               (("a",), REGISTER, VALUE, (40, 1), 1)]))
        yield (f"forgotten-sum-continued-{name}", "the site has added since: its later sum",
               state({1: 30}, [ROOT, (("n",), part, "sum", (30, 1), 8, *epoch)]),
               state({1: 40}, [ROOT, (("n",), part, "sum", (40, 1), 7, *epoch)]))
    restarted = state({1: 30}, [ROOT, (("n",), COUNTER, "restart", (30, 1), 8)])
    yield ("forgotten-restart", "a restart, and an earlier sum of the site: the restart",
           restarted,
           state({1: 40}, [ROOT, (("n",), COUNTER, "sum", (20, 1), 5, INITIAL)]))
    yield ("forgotten-second-restart", "a restart, and an earlier one of the site: the later",
           restarted,
           state({1: 40}, [ROOT, (("n",), COUNTER, "restart", (20, 1), 5)]))
    yield ("forgotten-restarts", "an earlier sum does not keep a restart beside another one",
           state({1: 30}, [ROOT, (("n",), COUNTER, "restart", (30, 1), 8),
                           (("n",), COUNTER, "sum", (10, 1), 5, INITIAL)]),
           state({1: 40}, [ROOT, (("n",), COUNTER, "restart", (20, 1), 5)]))
    yield ("forgotten-sum-unset", "a sum, and a restart of the site: a sum replaces no restart",
           state({1: 30}, [ROOT, (("n",), COUNTER, "sum", (30, 1), 8, (20, 1))]),
           state({1: 40}, [ROOT, (("n",), COUNTER, "restart", (20, 1), 5)]))
    many = [(("n",), COUNTER, "sum", (10, site), site, INITIAL) for site in range(2, 20)]
    sites = {site: 10 for site in range(2, 20)}
    yield ("forgotten-sum-of-many", "a sum, and an earlier one of its site, among the sums of many sites",
           state(sites | {1: 30}, [ROOT, *many, (("n",), COUNTER, "sum", (30, 1), 8, INITIAL)]),
           state(sites | {1: 40}, [ROOT, *many, (("n",), COUNTER, "sum", (20, 1), 5, INITIAL)]))
    yield ("seed-numbers", "seeds that JSON cannot distinguish, and bytes before strings",
           state({}, [((), MAP, "mark", INITIAL), (("a",), REGISTER, VALUE, INITIAL, 0),
                      (("b",), REGISTER, VALUE, INITIAL, "")]),
           state({}, [((), MAP, "mark", INITIAL), (("a",), REGISTER, VALUE, INITIAL, -0.0),
                      (("b",), REGISTER, VALUE, INITIAL, b"\xff")]))


def of_deltas():
    base = {1: 10, 2: 10}
    yield ("deltas-apart", "deltas that name different parts: each part comes from the delta that names it",
           delta({1: 20, 2: 10}, [(("a",), REGISTER)],
                 [(("a",), REGISTER, VALUE, (20, 1), 1)], base=base),
           delta({1: 10, 2: 20}, [(("b", "c"), REGISTER), (("d",), COUNTER)],
                 [(("b", "c"), REGISTER, VALUE, (20, 2), 2)], base=base))
    yield ("deltas-next", "one delta continues the other: the earlier base",
           delta({1: 20, 2: 10}, [(("a",), REGISTER), (("b",), REGISTER)],
                 [(("a",), REGISTER, VALUE, (20, 1), 1), (("b",), REGISTER, VALUE, (20, 1), 1)],
                 base=base),
           delta({1: 30, 2: 10}, [(("a",), REGISTER)], [(("a",), REGISTER, VALUE, (30, 1), 2)],
                 base={1: 20, 2: 10}))
    yield ("deltas-empty", "a part removed on one side and unchanged on the other",
           delta({1: 20, 2: 10}, [(("a",), REGISTER)],
                 [(("a",), REGISTER, VALUE, (20, 1), 1)], base=base),
           delta({1: 20, 2: 20}, [(("a",), REGISTER)], base={1: 20, 2: 10}))
    yield ("deltas-whole", "a complete map joined with a partial one is complete",
           delta({1: 20, 2: 10}, [(("a",), MAP)],
                 [(("a",), MAP, "mark", (20, 1)), (("a", "x"), REGISTER, VALUE, (20, 1), 1)],
                 base=base),
           delta({1: 10, 2: 20}, [(("a", "y"), REGISTER)],
                 [(("a", "y"), REGISTER, VALUE, (20, 2), 2)], base=base))
    yield ("deltas-marks", "marks named by one side, and marks named by both",
           delta({1: 20, 2: 10}, [(("a",), MARKS), (("b",), MARKS)],
                 [(("a",), MAP, "mark", (20, 1)), (("b",), MAP, "mark", (20, 1))], base=base),
           delta({1: 10, 2: 20}, [(("a",), MARKS), (("c",), MARKS)],
                 [(("a",), MAP, "mark", (20, 2)), (("c",), MAP, "mark", (20, 2))], base=base))
    yield ("deltas-overrides", "an override of one side removes the seed of the other",
           delta({1: 20}, [(("a",), REGISTER)], [(("a",), REGISTER, VALUE, INITIAL, 1)],
                 base={1: 10}),
           delta({1: 20}, [(("a",), REGISTER)], base={1: 10},
                 overrides={((b"a",), REGISTER)}))
    common = Peer(9).at(10).set("", {"a": 1, "o": {"p": 1}})
    a, b = Peer(1, common.document), Peer(2, common.document)
    a.at(20).set("o", {"p": 2}).at(21).increment("n", 1)
    b.at(30).unset("o")
    yield "deltas-real", "SET o, INCREMENT | UNSET o as deltas of one state", a.delta(), b.delta()
    yield "delta-into-state", "a delta that a state already contains", joined(
        common.document, b.delta()), b.delta()
    yield ("state-unnamed", "a part that a delta covers without naming it remains",
           state({1: 10}, [ROOT, (("a",), REGISTER, VALUE, (10, 1), 1)]),
           delta({1: 10, 2: 20}, [(("b",), OLDER), (("b",), ATTACHMENT)],
                 [(("b",), OLDER, "sum", (20, 2), 1)], base={1: 10}))
