"""Finds the bodies of functions and accessors in Swift sources, by their braces."""

import re
from dataclasses import dataclass

DECLARATION = re.compile(
    r"(?<![.\w])(func|init|deinit|subscript|var|let|class|struct|enum|extension|protocol|actor"
    r"|case|typealias|associatedtype)\b")
ACCESSOR = re.compile(r"(?<![.\w])(get|set|didSet|willSet|_read|_modify)\b")
STARTS_WITH_ACCESSOR = re.compile(
    r"\s*((mutating|nonmutating|borrowing|consuming)\s+)?"
    r"(get|set|didSet|willSet|_read|_modify)\b\s*(\{|\(|async|throws|$)", re.MULTILINE)
STATEMENTS = {
    "let", "var", "guard", "for", "while", "repeat", "do", "defer", "return", "throw", "func",
    "struct", "enum", "class", "typealias", "break", "continue", "yield", "#if"}
OPENS = re.compile(r'[/`"#]')
CONTINUES = re.compile(r"[.?:&|+\-*/%=<>!,){\]]|(else|catch|as|is|where)\b")
CONTINUED = re.compile(r"([&|+\-*/%=<>,(\[{:?]|\b(in|as|is|else|return|try|await|throw))$")


@dataclass(frozen=True)
class Body:
    """The text between two braces, and whether it must return a value."""

    start: int
    end: int
    returns: bool


def split(text):
    """Returns the bodies of a source file; none lies within another."""
    mask = masked(text)
    return list(_declared(mask, 0, len(mask)))


def masked(text):
    """Returns the text with the contents of strings and comments replaced; offsets are kept."""
    result, index = list(text), 0
    while opening := OPENS.search(text, index):
        index = opening.start()
        end = _end_of_opaque(text, index)
        if end == index:
            index += 1
            continue
        is_comment = text[index] == "/"
        for offset in range(index, end):
            if not is_comment:
                result[offset] = "x"
            elif text[offset] != "\n":
                result[offset] = " "
        index = end
    return "".join(result)


def _end_of_opaque(text, index):
    """Returns the end of the string, comment or quoted name at an index, or the index."""
    if text[index] not in '/`"#':
        return index
    if text.startswith("//", index):
        end = text.find("\n", index)
        return len(text) if end < 0 else end
    if text.startswith("/*", index):
        depth, index = 1, index + 2
        while depth > 0:
            mark = re.compile(r"/\*|\*/").search(text, index)
            depth += 1 if mark.group() == "/*" else -1
            index = mark.end()
        return index
    if text[index] == "`":
        return text.index("`", index + 1) + 1
    string = re.compile(r'(#*)("""|")').match(text, index)
    return _end_of_string(text, string) if string else index


def _end_of_string(text, string):
    index, closing = string.end(), string.group(2) + string.group(1)
    escape = "\\" + string.group(1)
    while not text.startswith(closing, index):
        if text.startswith(escape + "(", index):
            index = _end_of_interpolation(text, index + len(escape) + 1)
        elif text.startswith(escape, index):
            index += len(escape) + 1
        else:
            index += 1
    return index + len(closing)


def _end_of_interpolation(text, index):
    depth = 1
    while depth > 0:
        end = _end_of_opaque(text, index)
        if end > index:
            index = end
            continue
        depth += {"(": 1, ")": -1}.get(text[index], 0)
        index += 1
    return index


def _end_of_braces(mask, index):
    depth = 1
    while depth > 0:
        depth += {"{": 1, "}": -1}.get(mask[index], 0)
        index += 1
    return index - 1


def _blocks(mask, start, end):
    """Yields the header, start and end of each block in braces, without blocks within blocks."""
    header, depth, index = [], 0, start
    while index < end:
        character = mask[index]
        if character == "{" and depth == 0:
            closing = _end_of_braces(mask, index + 1)
            yield "".join(header), index + 1, closing
            header, index = [], closing
        elif character in "([":
            depth += 1
        elif character in ")]":
            depth -= 1
        elif depth == 0:
            header.append(character)
        elif character == "{":
            index = _end_of_braces(mask, index + 1)
        index += 1


def _declared(mask, start, end):
    for header, first, last in _blocks(mask, start, end):
        found = list(DECLARATION.finditer(header))
        if not found:
            continue
        kind, rest = found[-1].group(), header[found[-1].end():]
        if kind in ("class", "struct", "enum", "extension", "actor"):
            yield from _declared(mask, first, last)
        elif kind in ("func", "init", "deinit"):
            result = re.search(r"->\s*(\w*)", rest)
            yield Body(first, last, bool(result) and result.group(1) != "Void")
        elif kind in ("var", "subscript"):
            if STARTS_WITH_ACCESSOR.match(mask, first, last):
                yield from _accessors(mask, first, last)
            elif "=" not in rest:
                yield Body(first, last, True)


def _accessors(mask, start, end):
    for header, first, last in _blocks(mask, start, end):
        found = ACCESSOR.search(header)
        # A body that yields cannot be repeated.
        if found and found.group() not in ("_read", "_modify"):
            yield Body(first, last, found.group() == "get")


def explicit(text, returns):
    """Returns a body with `return` before its only expression, if it must return a value."""
    mask = masked(text)
    if not returns or _counted_statements(mask) != 1:
        return text
    start = re.search(r"\S", mask).start()
    word = re.match(r"#?\w*", mask[start:]).group()
    if word in STATEMENTS or word in ("if", "switch") and re.search(r"\breturn\b", mask):
        return text
    return text[:start] + "return " + text[start:]


def _counted_statements(mask):
    depth, count, current = 0, 0, ""
    for line in mask.split("\n"):
        for piece in line.split(";") if depth == 0 else [line]:
            piece = piece.strip()
            if not piece:
                continue
            goes_on = depth > 0 or CONTINUED.search(current) or CONTINUES.match(piece)
            # An expression may start with a dot, a bracket or a sign.
            count += 0 if current and goes_on else 1
            current = piece
            depth += sum({"(": 1, "[": 1, "{": 1}.get(each, 0) for each in piece)
            depth -= sum({")": 1, "]": 1, "}": 1}.get(each, 0) for each in piece)
    return count
