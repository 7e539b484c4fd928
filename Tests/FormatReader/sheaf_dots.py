"""Sheaf documents as sets of dots: visible value and join; written from documents.md alone."""
from collections import namedtuple

from sheaf_values import bits_of, escaped, float_of, sort_key, value_bytes, value_text

REGISTER, ATTACHMENT, MAP, COUNTER, OLDER = PARTS = range(5)
PART_NAMES = ["register", "attachment", "map", "counter", "older"]
# The marks of a partial map, as a part; it has no number in the bytes.
MARKS = 5
VALUE, TOKEN, MARK, RESTART, SUM = KINDS = ["value", "token", "mark", "restart", "sum"]
INITIAL = (0, 0)

# The identity of a dot. A path is a tuple of names; stamps are (time, site).
Place = namedtuple("Place", "path part kind stamp")
Content = namedtuple("Content", "value epoch")


class Document:
    """A state or a delta as flat sets.

    vector and base: site -> time. dots: Place -> Content. overrides: set of (path, part).
    named: set of (path, part); a map stands for all below, MARKS for the marks of a partial map.
    A state names its root's map.
    """

    def __init__(self, vector=(), base=(), deletion=None, dots=(), overrides=(), named=None):
        self.vector, self.base, self.deletion = dict(vector), dict(base), deletion
        self.dots, self.overrides = dict(dots), set(overrides)
        self.named = {((), MAP)} if named is None else set(named)

    @property
    def is_state(self):
        return ((), MAP) in self.named

    def names(self, path, part):
        """Whether the document names a part (or MARKS)."""
        return ((path, part) in self.named or part == MARKS and (path, MAP) in self.named
                or is_below(path, self.named))

    def names_dot(self, position):
        return self.names(position.path, MARKS if position.kind == MARK else position.part)

    def has_replaced(self, position):
        """Whether a sum or restart replaces an earlier one of its site in this document."""
        def stamps(kind):
            return [other.stamp for other in self.dots if other[:2] == position[:2]
                    and other.kind == kind and other.stamp[1] == position.stamp[1]]
        if position.kind == RESTART:
            return min(stamps(RESTART) or stamps(SUM), default=position.stamp) < position.stamp
        return position.kind == SUM and min(stamps(SUM), default=position.stamp) < position.stamp

    def covers(self, stamp):
        return stamp != INITIAL and stamp[0] <= self.vector.get(stamp[1], 0)

    def __eq__(self, other):
        return self.__dict__ == other.__dict__

    def lines(self):
        """Yields all contents in the text form of documents.md, *Vectors*."""
        for site, time in sorted(self.vector.items()):
            yield "vector", f"{time}@{site}"
        for site, time in sorted(self.base.items()):
            yield "base", f"{time}@{site}"
        if self.deletion:
            yield "deletion", stamp_text(self.deletion)
        for position, content in sorted(self.dots.items(), key=lambda dot: (
                dot[0].path, dot[0].part, KINDS.index(dot[0].kind), dot[0].stamp)):
            words = [path_text(position.path), PART_NAMES[position.part], position.kind,
                     stamp_text(position.stamp)]
            if content.epoch is not None:
                words.append(stamp_text(content.epoch))
            if content.value is not None:
                words.append(value_text(content.value))
            yield "dots", " ".join(words)
        for path, part in sorted(self.overrides):
            yield "overrides", f"{path_text(path)} {PART_NAMES[part]}"
        for path, part in sorted(self.named) if not self.is_state else ():
            yield "named", f"{path_text(path)} {(PART_NAMES + ['marks'])[part]}"

    # The visible value.

    def visible(self):
        """Returns the visible value of the root; None without a root."""
        return self.shown((), self.dots)

    def shown(self, path, dots):
        """Returns the visible value at a path, from the dots at and below it."""
        parts = {}
        for position in dots:
            part = position.part if position.path == path else MAP
            latest, _ = parts.get(part, (position.stamp, None))
            parts[part] = max(latest, position.stamp), -part
        if not parts:
            return None
        part = max(parts, key=parts.get)
        if part == MAP:
            below = {}
            for position, content in dots.items():
                if position.path != path:
                    below.setdefault(position.path[len(path)], {})[position] = content
            return ("object", tuple((name, self.shown(path + (name,), found))
                                    for name, found in sorted(below.items())))
        here = {position: content for position, content in dots.items()
                if position.path == path and position.part == part}
        if part in (REGISTER, ATTACHMENT):
            return here[max(here, key=lambda position: position.stamp)].value
        return total(here)


def total(dots):
    """Returns the visible value of a counter."""
    epochs = [position.stamp if position.kind == RESTART else content.epoch or INITIAL
              for position, content in dots.items()]
    epoch = max(epochs)
    numbers = [content.value for position, content in sorted(
        dots.items(), key=lambda item: (item[0].stamp, item[0].kind != RESTART))
        if (position.stamp if position.kind == RESTART else content.epoch or INITIAL) == epoch]
    integers = sum(number[1] for number in numbers if number[0] == "int")
    if all(number[0] == "int" for number in numbers):
        return ("int", max(-2**63, min(2**63 - 1, integers)))
    floats = 0.0
    for number in numbers:
        if number[0] == "float":
            floats += plain_number(number)
    return ("float", bits_of(float(integers) + floats))


def plain_number(value):
    return float_of(value[1]) if value[0] == "float" else value[1]


def path_text(path):
    return "".join("/" + escaped(name) for name in path) or "."


def stamp_text(stamp):
    return "initial" if stamp == INITIAL else f"{stamp[0]}@{stamp[1]}"


def is_below(path, pairs):
    """Whether a path lies below one of the maps in a set of (path, part)."""
    return any((path[:depth], MAP) in pairs for depth in range(len(path)))


def normalized(document):
    """Removes dots, overrides and names without effect: the document passes the checklist."""
    document.overrides = set() if document.deletion else {
        pair for pair in document.overrides if not is_below(pair[0], document.overrides)}
    document.dots = {
        position: content for position, content in document.dots.items()
        if position.stamp != INITIAL or not (
            document.deletion or (position.path, position.part) in document.overrides
            or is_below(position.path, document.overrides))}
    marked = {position.path for position in document.dots if position.kind == MARK}
    document.named = {
        (path, part) for path, part in document.named
        if not is_below(path, document.named)
        and (part != MARKS or path in marked and (path, MAP) not in document.named)}
    return document


def greater(one, other):
    """Returns the content that a join keeps of two with one identity."""
    return max(one, other, key=lambda content: (
        content.epoch or INITIAL, sort_key(content.value) if content.value else b"",
        value_bytes(content.value) if content.value else b""))


def can_join(one, other):
    """Whether the vector of each covers the base of the other; the base of a state is empty."""
    return all(time <= b.vector.get(site, 0) for a, b in ((one, other), (other, one))
               if not a.is_state for site, time in a.base.items())


def joined(one, other):
    """Joins two states or deltas, dot by dot."""
    result = Document(named=one.named | other.named)
    for site in one.vector.keys() | other.vector.keys():
        result.vector[site] = max(one.vector.get(site, 0), other.vector.get(site, 0))
    if not one.is_state and not other.is_state:
        for site in one.base.keys() & other.base.keys():
            result.base[site] = min(one.base[site], other.base[site])
    result.deletion = max(one.deletion or INITIAL, other.deletion or INITIAL)
    if result.deletion == INITIAL:
        result.deletion = None
    result.overrides = one.overrides | other.overrides
    for a, b in ((one, other), (other, one)):
        for position, content in a.dots.items():
            if position in b.dots:
                result.dots[position] = greater(content, b.dots[position])
            elif not (b.names_dot(position) and b.covers(position.stamp)
                      and not b.has_replaced(position)):
                result.dots[position] = content
    return normalized(result)
