"""Encodes a Sheaf document from its sets of dots; written from format-spec/documents.md alone."""
import struct

from sheaf_dots import (
    ATTACHMENT, COUNTER, INITIAL, MAP, MARKS, OLDER, PARTS, REGISTER, RESTART, SUM, VALUE)
from sheaf_values import object_bytes, order_of, value_bytes, varint


def encode(document, names=()):
    """Encodes a document; fields with a name in `names` are numbered."""
    writer = Writer(document, {name: number for number, name in enumerate(names)})
    writer.root()
    # The first pass has collected the older stamps, which determine the size of references.
    writer.reference_size = writer.size_of_references()
    return writer.header() + writer.root()


class Writer:
    def __init__(self, document, numbers):
        self.document, self.numbers = document, numbers
        self.sites = sorted(document.vector)
        self.stamps = [(document.vector[site], site) for site in self.sites]
        self.references = {stamp: index for index, stamp in enumerate(self.stamps)}
        self.reference_size, self.has_reference = 4, False
        roots = [position.stamp for position in document.dots if position.path == ()]
        self.root_stamp = max(roots, default=None)

    def size_of_references(self):
        return 1 if len(self.stamps) <= 255 else 2 if len(self.stamps) <= 65_535 else 4

    def header(self):
        """Encodes table 1."""
        document = self.document
        flags = 0 if document.is_state else 1
        flags |= (2 if document.base else 0) | (4 if document.deletion else 0)
        flags |= {1: 0, 2: 16, 4: 32}[self.reference_size]
        index = {site: number for number, site in enumerate(self.sites)}
        bases = [(index[site], document.base.get(site, 0)) for site in self.sites
                 if document.base.get(site, 0) != document.vector[site]] if document.base else []
        older = self.stamps[len(self.sites):]
        length = 3 + 16 * len(self.sites) + 10 * len(older)
        length += (1 + 10 * len(bases) if document.base else 0) + (10 if document.deletion else 0)
        size = 1
        if max(length, len(self.sites), len(bases)) > 255:
            flags, size = flags | 8, 4
            length += 9 if document.base else 6
        found = bytes([flags]) + length.to_bytes(size, "little")
        found += len(self.sites).to_bytes(size, "little")
        for site in self.sites:
            found += struct.pack("<QQ", site, document.vector[site])
        if document.base:
            found += len(bases).to_bytes(size, "little")
            found += b"".join(struct.pack("<HQ", *base) for base in bases)
        for time, site in ([document.deletion] if document.deletion else []) + older:
            found += struct.pack("<HQ", index[site], time)
        assert len(found) == length
        return found

    def reference(self, stamp):
        self.has_reference = True
        if stamp == INITIAL:
            return b"\xff" * self.reference_size
        if stamp not in self.references:
            self.references[stamp] = len(self.stamps)
            self.stamps.append(stamp)
        return self.references[stamp].to_bytes(self.reference_size, "little")

    def root(self):
        document = self.document
        dots = list(document.dots.items())
        if document.is_state and not dots and not document.overrides:
            return bytes([23])
        entries = self.map((), dots, document.overrides, document.named)[0]
        return self.several(entries)

    def several(self, entries):
        """Encodes the entries of one name, in their order."""
        made = [entry() for entry in entries]
        if len(made) == 1:
            return made[0]
        return b"\x14" + b"".join(varint(len(entry)) + entry for entry in made)

    def stamped(self, tag, stamp, is_root=False):
        if stamp == self.root_stamp and not is_root:
            return bytes([tag])
        return bytes([tag | 128]) + self.reference(stamp)

    # These methods return functions, so that references are numbered in the order of the bytes.

    def map(self, path, dots, overrides, named):
        """Returns the entries of a map and its latest stamp, from the dots at and below it."""
        whole = (path, MAP) in named
        marks = sorted((position.stamp for position, _ in dots if position.path == path), reverse=True)
        below = {}
        for number, found in enumerate((dots, overrides, named)):
            for item in found:
                item_path = item[0].path if number == 0 else item[0]
                if item_path != path and not (number == 2 and whole):
                    below.setdefault(item_path[len(path)], ([], [], set()))
                    position = below[item_path[len(path)]][number]
                    (position.add if number == 2 else position.append)(item)

        def head():
            entry = self.stamped(14, marks[0], path == ()) if marks else b"\x0f"
            fields = []
            before = self.has_reference
            self.has_reference = False
            for name in order_of(below, self.numbers):
                fields.append((name, self.at_name(path + (name,), *below[name], not whole)))
            flags = (0 if whole else 32) | (64 if self.has_reference else 0)
            self.has_reference |= before
            return entry + object_bytes(fields, self.numbers, flags)

        latest = max((position.stamp for position, _ in dots), default=None)
        return [head] + [lambda stamp=stamp: self.stamped(16, stamp) for stamp in marks[1:]], latest

    def at_name(self, path, dots, overrides, named, in_partial):
        parts = []
        for part in (REGISTER, ATTACHMENT, COUNTER, OLDER):
            found = [dot for dot in dots if dot[0].path == path and dot[0].part == part]
            found.sort(key=lambda dot: (dot[0].kind == RESTART, dot[0].stamp), reverse=True)
            if found:
                latest = max(position.stamp for position, _ in found)
                parts.append((latest, -part, [
                    lambda position=position, content=content: self.dot(position, content)
                    for position, content in found]))
        in_map = [dot for dot in dots if dot[0].path != path or dot[0].part == MAP]
        deeper = [pair for pair in overrides if pair[0] != path]
        if not in_partial:
            named = {(path, MAP)}
        named_map = {pair for pair in named if pair[0] != path or pair[1] in (MAP, MARKS)}
        if in_map or deeper or any(pair != (path, MAP) for pair in named_map):
            entries, latest = self.map(path, in_map, deeper, named_map)
            parts.append((latest or (-1, -1), -MAP, entries))
        parts.sort(reverse=True, key=lambda part: part[:2])
        entries = [entry for _, _, found in parts for entry in found]
        there = {-part for _, part, _ in parts}
        for tag, found in ((22, named if in_partial else ()), (21, overrides)):
            bits = sum(1 << part for at, part in found
                       if at == path and part in PARTS and (tag == 21 or part not in there))
            if bits:
                entries.append(lambda tag=tag, bits=bits: bytes([tag, bits]))
        return self.several(entries)

    def dot(self, position, content):
        value = value_bytes(content.value, self.numbers) if content.value else b""
        if position.kind == VALUE:
            return self.stamped(value[0], position.stamp) + value[1:]
        if position.part == COUNTER and position.kind == SUM:
            entry = self.stamped(18, position.stamp)
            return entry + self.reference(content.epoch or INITIAL) + value
        tag = {ATTACHMENT: 13, COUNTER: 17, OLDER: 19}[position.part]
        return self.stamped(tag, position.stamp) + value
