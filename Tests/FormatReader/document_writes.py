"""The writes of format-spec/documents.md on sets of dots, for generating vectors."""
from sheaf_dots import (
    ATTACHMENT, COUNTER, INITIAL, MAP, MARK, MARKS, OLDER, PARTS, REGISTER, RESTART, SUM, TOKEN,
    VALUE, Content, Document, Place, joined, normalized, plain_number)
from sheaf_bytes import xxh3
from sheaf_values import name_of, value_bytes, value_of


def path_of(text):
    """Returns the path of a text like "obj.a"."""
    return tuple(map(name_of, text.split("."))) if text else ()


def is_token(plain):
    """Whether a writer stores the object as a token (attachments.md, "Tokens")."""
    return (isinstance(plain, dict) and {"id", "len"} <= set(plain) <= {"id", "len", "metadata"}
            and isinstance(plain["id"], str) and len(plain["id"]) == 64
            and set(plain["id"]) <= set("0123456789abcdef")
            and isinstance(plain["len"], int) and 0 <= plain["len"] <= 2**36
            and all(isinstance(text, str) for text in plain.get("metadata", {}).values()))


def has_token(plain):
    return isinstance(plain, dict) and any(is_token(field) or has_token(field) for field in plain.values())


class Peer:
    """A peer that writes a document and records which parts the writes touched."""

    def __init__(self, site, document=None):
        self.site, self.stamp = site, INITIAL
        self.document = joined(document, document) if document else Document()
        self.begin()

    def begin(self):
        """Starts recording the changes that `delta` returns."""
        self.touched, self.base = set(), dict(self.document.vector)

    def at(self, time):
        self.stamp = (time, self.site)
        self.document.vector[self.site] = time
        return self

    def take(self, other):
        self.document = joined(self.document, other)

    def delta(self):
        """Returns the changes since `begin`."""
        whole = self.document
        delta = Document(whole.vector, self.base, whole.deletion, named=self.touched)
        delta.dots = {position: content for position, content in whole.dots.items()
                      if delta.names_dot(position)}
        delta.overrides = {pair for pair in whole.overrides if delta.names(*pair)}
        return normalized(delta)

    # The writes of the table in documents.md.

    def drop(self, path, part, wanted=lambda position, content: True):
        """Drops and returns the `wanted` dots of a part; those of a map include all below it."""
        dropped = {position for position, content in self.document.dots.items()
                   if (position.path == path and position.part == part
                       or part == MAP and position.path[:len(path)] == path != position.path)
                   and wanted(position, content)}
        for position in dropped:
            del self.document.dots[position]
            if position.stamp == INITIAL and path:
                self.document.overrides.add((path, part))
        normalized(self.document)
        return dropped

    def add(self, path, part, kind, value=None, epoch=None):
        self.document.dots[Place(path, part, kind, self.stamp)] = Content(value, epoch)
        self.touched.add((path, MARKS if kind == MARK else part))
        if path:
            self.mark(path[:-1])

    def mark(self, path):
        """Adds a mark to each map on the path that has none."""
        if not any(position.path == path and position.kind == MARK for position in self.document.dots):
            self.add(path, MAP, MARK)
        elif path:
            self.mark(path[:-1])

    def set(self, path, plain):
        path = path_of(path) if isinstance(path, str) else path
        if path and is_token(plain):
            self.drop(path, ATTACHMENT)
            self.add(path, ATTACHMENT, TOKEN, value_of(plain))
            return self
        if isinstance(plain, dict):
            self.drop(path, MAP, lambda position, _: position.path == path and position.stamp != INITIAL)
            self.add(path, MAP, MARK)
            for name, field in plain.items():
                self.set(path + (name_of(name),), field)
            return self
        self.drop(path, REGISTER)
        self.add(path, REGISTER, VALUE, value_of(plain))
        return self

    def attach(self, path, plain):
        self.drop(path_of(path), ATTACHMENT)
        self.add(path_of(path), ATTACHMENT, TOKEN, value_of(plain))
        return self

    def sums(self, path, part):
        return {position: content for position, content in self.document.dots.items()
                if position.path == path and position.part == part and position.kind == SUM}

    def increment(self, path, amount):
        path = path_of(path)
        epoch = max([content.epoch for content in self.sums(path, COUNTER).values()]
                    + [position.stamp for position in self.document.dots
                       if position.path == path and position.kind == RESTART], default=INITIAL)
        for position, content in self.sums(path, COUNTER).items():
            if position.stamp[1] == self.site and content.epoch == epoch:
                amount += plain_number(content.value)
        self.drop(path, COUNTER, lambda position, content: (
            (position.stamp if position.kind == RESTART else content.epoch) < epoch
            or position.kind == SUM and position.stamp[1] == self.site))
        self.add(path, COUNTER, SUM, value_of(amount), epoch)
        return self

    def restart(self, path, number):
        self.drop(path_of(path), COUNTER)
        self.add(path_of(path), COUNTER, RESTART, value_of(number))
        return self

    def increment_older(self, path, amount):
        path = path_of(path)
        for position, content in self.sums(path, OLDER).items():
            if position.stamp[1] == self.site:
                amount += plain_number(content.value)
        self.drop(path, OLDER, lambda position, _: position.stamp[1] == self.site)
        self.add(path, OLDER, SUM, value_of(amount))
        return self

    def unset(self, path, parts=PARTS):
        for part in parts:
            if self.drop(path_of(path), part):
                self.touched.add((path_of(path), part))
        return self

    def delete(self):
        self.drop((), MAP)
        self.document.deletion = max(self.document.deletion or INITIAL, self.stamp)
        self.touched.add(((), MAP))
        normalized(self.document)
        return self

    def insert_initial(self, plain):
        if self.document.dots or self.document.deletion:
            return self
        kept, self.stamp = self.stamp, INITIAL
        self.set((), plain)
        self.stamp = kept
        site = max(xxh3(value_bytes(value_of(plain)), 1 if has_token(plain) else 0), 1)
        self.document.vector[site] = max(self.document.vector.get(site, 0), 1)
        self.touched.add(((), MAP))
        return self
