#!/usr/bin/env python3
"""Decodes a Sheaf document, a state or a delta; written from format-spec/documents.md alone.

    sheaf_document.py FILE [NAME ...]

FILE has the bytes of the document, NAME is the name of a numbered field, from 0. Prints the
visible value, then all contents of the document in the form of the vectors. Exit codes: 0 the
document is valid, 3 it is not.
"""
import struct
import sys
from collections import namedtuple

from sheaf_dots import (
    ATTACHMENT, COUNTER, INITIAL, MAP, MARK, MARKS, OLDER, PARTS, REGISTER, RESTART, SUM, TOKEN,
    VALUE, Content, Document, Place, is_below)
from sheaf_values import (
    DEEPEST, FALSE, NULL, TRUE, Refused, check, check_utf8, json_of, read_varint)

LONGEST, MOST_SITES = 2**25, 65_535


# An entry of *several*, with the fields that determine its order.
Item = namedtuple("Item", "at part rank stamp latest")
EMPTIES, OVERRIDES, NOTHING = 6, 7, (-1, -1)


class Reader:
    """Decodes tables 1 to 4; every error has the offset of its field."""

    def __init__(self, data, names):
        self.data, self.numbered_names = bytes(data), [name for name in names]
        self.document = Document(named=())
        self.stamps, self.sites, self.used = [], 0, 0
        self.reference_size, self.root_stamp = 1, None
        self.has_reference, self.where = False, {}

    def number(self, at, size, end=None):
        check(0 <= at and at + size <= (len(self.data) if end is None else end), at, "no room")
        return int.from_bytes(self.data[at:at + size], "little")

    def read(self):
        check(len(self.data) <= LONGEST, LONGEST, "the document is too long")
        start = self.header()
        self.root(start)
        check(self.used == len(self.stamps), self.older_at + 10 * (self.used - self.sites),
              "an older stamp is not used")
        self.no_overridden()
        return self.document

    def header(self):
        """Decodes table 1."""
        document, flags = self.document, self.number(0, 1)
        check(flags < 64, 0, "unknown flags")
        check(flags >> 4 < 3, 0, "unknown size of references")
        self.is_partial, self.reference_size = bool(flags & 1), 1 << (flags >> 4)
        size = 4 if flags & 8 else 1
        length = self.number(1, size)
        check(length <= len(self.data), 1, "the header ends after the document")
        self.sites = self.number(1 + size, size, length)
        at = 1 + 2 * size
        check(self.sites <= MOST_SITES and at + 16 * self.sites <= length, 1 + size,
              "too many sites")
        order = []
        for index in range(self.sites):
            site, time = struct.unpack_from("<QQ", self.data, at)
            check(not order or site > order[-1], at, "the sites do not ascend")
            check(time > 0, at + 8, "a site without a time")
            order.append(site)
            document.vector[site] = time
            at += 16
        numbers = [length - (3 * (3 if flags & 2 else 2) if flags & 8 else 0), self.sites]
        if flags & 2:
            bases, at = self.number(at, size, length), at + size
            numbers.append(bases)
            check(bases <= self.sites and at + 10 * bases <= length, at - size, "too many bases")
            document.base, before = dict(document.vector), -1
            for _ in range(bases):
                index, time = struct.unpack_from("<HQ", self.data, at)
                check(before < index < self.sites, at, "no next site")
                check(time < document.vector[order[index]], at + 2, "the base is above the vector")
                document.base[order[index]] = time
                if time == 0:
                    del document.base[order[index]]
                before, at = index, at + 10
            check(document.base, 0, "an empty base is present")
        check(not flags & 8 or max(numbers) > 255, 0, "numbers that fit one byte")
        if flags & 4:
            check(at + 10 <= length, 1, "the header ends inside the deletion")
            index, time = struct.unpack_from("<HQ", self.data, at)
            check(index < self.sites, at, "an unknown site")
            check(0 < time <= document.vector[order[index]], at + 2, "the deletion is not covered")
            document.deletion, at = (time, order[index]), at + 10
        self.stamps = [(document.vector[site], site) for site in order]
        self.older_at, self.used = at, self.sites
        check((length - at) % 10 == 0 and at <= length, 1, "the header ends inside a stamp")
        known = set(self.stamps)
        for at in range(at, length, 10):
            index, time = struct.unpack_from("<HQ", self.data, at)
            check(index < self.sites, at, "an unknown site")
            check(0 < time < document.vector[order[index]], at + 2, "the stamp is not older")
            check((time, order[index]) not in known, at, "a repeated stamp")
            known.add((time, order[index]))
            self.stamps.append((time, order[index]))
        fewest = 0 if len(self.stamps) <= 255 else 1 if len(self.stamps) <= 65_535 else 2
        check(flags >> 4 == fewest, 0, "references do not have the fewest bytes")
        check(length < len(self.data), length, "no root entry")
        return length

    def reference(self, at, end):
        """Returns the stamp of a reference, and the offset after it."""
        number = self.number(at, self.reference_size, end)
        self.has_reference = True
        if number == 256**self.reference_size - 1:
            return INITIAL, at + self.reference_size
        check(number < len(self.stamps), at, "unknown stamp")
        if number >= self.sites:
            check(number <= self.used, at, "the older stamps are not in the order of their use")
            self.used = max(self.used, number + 1)
        return self.stamps[number], at + self.reference_size

    # Table 2.

    def root(self, at):
        end, tag = len(self.data), self.data[at]
        check(tag in (0x8E, 15, 20, 23), at, "not a root tag")
        if tag == 23:
            check(end == at + 1, at + 1, "bytes after the end")
            check(not self.is_partial, 0, "a delta without a root is not partial")
            self.document.named.add(((), MAP))
            return
        if tag == 20:
            first = read_varint(self.data, at + 1, end)[1]
            check(first < end and self.data[first] == 0x8E, first, "not a root tag")
        self.at_name((), at, end, 1, self.is_partial)

    def at_name(self, path, at, end, depth, in_partial):
        """Decodes everything at a name; returns its latest stamp, or None."""
        if self.data[at] != 20:
            check(self.data[at] & 127 != 16, at, "a mark without its map")
            return self.entry(path, at, end, depth, in_partial).latest
        items, start = [], at
        at += 1
        while at < end:
            length, first = read_varint(self.data, at, end)
            check(0 < length <= end - first, at, "wrong length of an entry")
            items.append(self.entry(path, first, first + length, depth, in_partial))
            at = first + length
        check(len(items) >= 2, start, "fewer than two entries")
        self.check_order(items)
        return max((item.latest for item in items if item.latest is not None), default=None)

    def check_order(self, items):
        latest, once = {}, set()
        for item in items:
            if item.latest is not None:
                latest[item.part] = max(latest.get(item.part, item.latest), item.latest)
            if item.part >= EMPTIES or item.part == MAP and item.rank == 0:
                check(item.part not in once, item.at, "a repeated entry")
                once.add(item.part)

        def order(item):
            time, site = latest.get(item.part, NOTHING)
            of_dot = item.stamp or NOTHING
            return (item.part >= EMPTIES, -time, -site, item.part, item.rank,
                    -of_dot[0], -of_dot[1])

        for item, right in zip(items, sorted(items, key=order)):
            check(order(item) == order(right), item.at, "the entries are not in order")
        heads = [item for item in items if item.part == MAP and item.rank == 0]
        for item in items:
            if item.part == MAP and item.rank == 1:
                check(heads and heads[0].stamp and item.stamp < heads[0].stamp, item.at,
                      "the mark is not older than the latest one")
            if item.part == EMPTIES:
                check(not any(self.data[item.at + 1] >> other.part & 1 for other in items
                              if other.part in PARTS), item.at + 1, "a part is not empty")

    def stamped(self, path, part, kind, tag, at, end):
        """Returns the stamp of an entry, and the offset of its payload."""
        here, at = at, at + 1
        if tag & 128:
            stamp, at = self.reference(at, end)
            check(path == () and tag == 0x8E or stamp != self.root_stamp, here + 1,
                  "a reference to the root's stamp")
        else:
            check(self.root_stamp is not None, here, "neither the entry nor the root has a stamp")
            stamp = self.root_stamp
        check((path, part, kind, stamp[1]) not in self.where, here, "two dots of one kind and site")
        self.where[path, part, kind, stamp[1]] = here
        return stamp, at

    def note(self, path, part, kind, stamp, value=None, epoch=None):
        self.document.dots[Place(path, part, kind, stamp)] = Content(value, epoch)

    def entry(self, path, at, end, depth, in_partial):
        """Decodes one entry of table 2 other than 20."""
        tag, here = self.data[at], at
        kind = tag & 127
        check(1 <= kind <= 22 and kind != 20, at, "not an entry tag")
        check(path or kind in (14, 15, 16), at, "not a root tag")
        check(tag < 128 or kind <= 14 or 16 <= kind <= 19, at, "unexpected stamp")
        if kind in (14, 15, 16):
            return self.map_entry(path, kind, tag, at, end, depth, in_partial)
        if kind in (21, 22):
            return self.bits(path, kind, at, end, in_partial)
        part = (REGISTER if kind <= 12 else ATTACHMENT if kind == 13 else OLDER if kind == 19
                else COUNTER)
        name = VALUE if kind <= 12 else TOKEN if kind == 13 else RESTART if kind == 17 else SUM
        stamp, at = self.stamped(path, part, name, tag, at, end)
        epoch = None
        if kind == 18:
            epoch, at = self.reference(at, end)
        if kind <= 12:
            value = self.payload(kind, here, at, end, depth)
        else:
            value = self.value(at, end, depth)
        if kind >= 17:
            check(value[0] in ("int", "float"), at, "no number")
        self.note(path, part, name, stamp, value, epoch)
        if in_partial:
            self.document.named.add((path, part))
        return Item(here, part, 1 if kind >= 18 else 0, stamp, stamp)

    def bits(self, path, kind, at, end, in_partial):
        check(end == at + 2, at + 1, "not one byte")
        bits = self.data[at + 1]
        check(0 < bits < 32, at + 1, "no parts")
        found = {(path, part) for part in PARTS if bits >> part & 1}
        if kind == 21:
            self.document.overrides |= found
            self.where.update({pair: at for pair in found})
            return Item(at, OVERRIDES, 0, None, None)
        check(in_partial, at, "an empty part in a map that is not partial")
        self.document.named |= found
        return Item(at, EMPTIES, 0, None, None)

    def map_entry(self, path, kind, tag, at, end, depth, in_partial):
        here, stamp = at, None
        if kind == 15:
            at += 1
        else:
            stamp, at = self.stamped(path, MAP, MARK, tag, at, end)
            self.note(path, MAP, MARK, stamp)
            if tag == 0x8E and not path:
                self.root_stamp = stamp
        if kind == 16:
            check(end == at, at, "bytes after a mark")
            return Item(here, MAP, 1, stamp, stamp)
        outer, self.has_reference = self.has_reference, False
        fields, flags, flags_at = self.fields(at, end, depth)
        partial = bool(flags & 32)
        check(in_partial or not partial, flags_at, "a partial map in a complete one")
        check(path or partial == self.is_partial, flags_at, "the header has another partial flag")
        check(fields or kind == 14 or partial and not path, here, "an empty map without marks")
        if not partial and (in_partial or not path):
            self.document.named.add((path, MAP))
        if partial and kind == 14:
            self.document.named.add((path, MARKS))
        latest = [stamp] if stamp else []
        for name, start, stop in fields:
            latest.append(self.at_name(path + (name,), start, stop, depth + 1, partial))
        check(self.has_reference == bool(flags & 64), flags_at, "wrong reference flag")
        self.has_reference |= outer
        return Item(here, MAP, 0, stamp, max((s for s in latest if s is not None), default=None))

    # Values, and tables 3 and 4.

    def value(self, at, end, depth):
        check(at < end, at, "no value")
        check(1 <= self.data[at] <= 12, at, "not a value tag")
        return self.payload(self.data[at], at, at + 1, end, depth)

    def payload(self, kind, here, at, end, depth):
        length = end - at
        if kind <= 3:
            check(length == 0, at, "bytes after a value")
            return (NULL, FALSE, TRUE)[kind - 1]
        if kind <= 7:
            check(length == 1 << (kind - 4), at, "wrong length of an integer")
            number = int.from_bytes(self.data[at:end], "little", signed=True)
            check(kind == 4 or not -(1 << 4 * length - 1) <= number < 1 << 4 * length - 1, here,
                  "not the fewest bytes")
            return ("int", number)
        if kind == 8:
            check(length == 8, at, "wrong length of a float")
            return ("float", self.number(at, 8))
        if kind in (9, 10):
            if kind == 9:
                check_utf8(self.data[at:end], at)
            return ("string" if kind == 9 else "bytes", self.data[at:end])
        if kind == 11:
            starts = self.elements(at, end, depth)
            return ("array", tuple(self.value(*position, depth + 1) for position in starts))
        fields, flags, flags_at = self.fields(at, end, depth)
        check(not flags & 32, flags_at, "a partial value")
        check(not flags & 64, flags_at, "a reference in a value")
        return ("object", tuple(sorted((name, self.value(start, stop, depth + 1))
                                       for name, start, stop in fields)))

    def ends(self, at, table, count, flags, flags_at):
        """Returns the ranges of entries from `at`, whose ends are at `table`."""
        size = 1 << (flags & 3)
        positions, start = [], at
        for index in range(count):
            stop = at + self.number(table + size * index, size)
            check(start < stop <= table, table + size * index, "the ends do not ascend")
            positions.append((start, stop))
            start = stop
        check(start == table, table + size * (count - 1) if count else at,
              "the contents do not fill their length")
        length = table - at
        check((flags & 3) == (0 if length < 256 else 1 if length < 65_536 else 2), flags_at,
              "ends do not have the fewest bytes")
        return positions

    def fields(self, at, end, depth):
        """Decodes table 3; returns (name, start, stop) of fields, the flags and their offset."""
        check(depth <= DEEPEST, at, "too deep")
        check(at < end, at, "no room for an object")
        flags_at, flags = end - 1, self.data[end - 1]
        check(flags < 128 and flags & 3 < 3, flags_at, "unknown flags")
        size = 4 if flags & 16 else 1
        position = numbered_at = flags_at - size
        check(position >= at, flags_at, "truncated before the counts")
        numbered, spelled = self.number(position, size), 0
        if flags & 8:
            position -= size
            check(position >= at, flags_at, "truncated before the counts")
            spelled = self.number(position, size)
            check(spelled > 0, position, "no spelled fields")
        check(not flags & 16 or max(numbered, spelled) > 255, flags_at,
              "counts that fit one byte")
        width = 2 if flags & 4 else 1
        names_at = position - width * numbered
        table = names_at - (numbered + spelled << (flags & 3))
        check(table >= at, numbered_at if names_at < at or not spelled else position,
              "the field count exceeds the body")
        numbers = [self.number(names_at + width * index, width) for index in range(numbered)]
        for index, number in enumerate(numbers):
            check(index == 0 or number > numbers[index - 1], names_at + width * index,
                  "the numbers of names do not ascend")
            check(number < len(self.numbered_names), names_at + width * index, "no such name")
        check(not flags & 4 or max(numbers, default=0) > 255, flags_at,
              "numbers of names have two bytes")
        positions = self.ends(at, table, numbered + spelled, flags, flags_at)
        fields = [(self.numbered_names[number], *position)
                  for number, position in zip(numbers, positions)]
        known, before = {name for name, _, _ in fields}, None
        for start, stop in positions[numbered:]:
            length, first = read_varint(self.data, start, stop)
            check(first + length < stop, start, "the name does not end in its field")
            name = self.data[first:first + length]
            check_utf8(name, first)
            check(before is None or before < name, first, "the names do not ascend")
            check(name not in known, first, "a repeated name")
            before = name
            fields.append((name, first + length, stop))
        return fields, flags, flags_at

    def elements(self, at, end, depth):
        """Decodes table 4."""
        check(depth <= DEEPEST, at, "too deep")
        check(at < end, at, "no room for an array")
        flags_at, flags = end - 1, self.data[end - 1]
        check(not flags & ~0x13 and flags & 3 < 3, flags_at, "unknown flags")
        size = 4 if flags & 16 else 1
        position = flags_at - size
        check(position >= at, flags_at, "no room for the count")
        count = self.number(position, size)
        check(not flags & 16 or count > 255, flags_at, "a count that fits one byte")
        table = position - (count << (flags & 3))
        check(table >= at, position, "the element count exceeds the body")
        return self.ends(at, table, count, flags, flags_at)

    def no_overridden(self):
        """Checks the last line of the checklist."""
        document = self.document
        for pair in sorted(document.overrides, key=self.where.get):
            check(not document.deletion, self.where[pair], "overrides with a deletion")
            check(not is_below(pair[0], document.overrides), self.where[pair],
                  "overrides below an overridden map")
        for path, part, kind, stamp in document.dots:
            if stamp == INITIAL:
                at = self.where[path, part, kind, stamp[1]]
                check(not document.deletion, at, "a seed with a deletion")
                check((path, part) not in document.overrides and not is_below(
                    path, document.overrides), at, "an overridden seed")


def decode(data, names=()):
    """Decodes a document; `names` are those of numbered fields, as UTF-8."""
    return Reader(data, names).read()


def main(path, *names):
    with open(path, "rb") as file:
        data = file.read()
    try:
        document = decode(data, [name.encode() for name in names])
    except Refused as error:
        print(f"{path}:{error.offset}: {error.reason}", file=sys.stderr)
        return 3
    shown = document.visible()
    print("tombstone" if shown is None else json_of(shown))
    for name, line in document.lines():
        print(f"{name} {line}")
    return 0


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
