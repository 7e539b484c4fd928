"""Writes the lines of vector files: format-spec/README.md, *Vectors*."""
import itertools
import os
import sys

LINE = 100
VECTORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../format-spec/vectors")


def runs(data, shortest):
    """Splits data into runs of one byte and other chunks."""
    piece = b""
    for byte, group in itertools.groupby(data):
        count = len(list(group))
        if count < shortest:
            piece += bytes([byte]) * count
            continue
        if piece:
            yield piece, 1
        piece = b""
        yield bytes([byte]), count
    if piece:
        yield piece, 1


def hexadecimal(data):
    """Yields bytes as words of hexadecimal digits."""
    for piece, count in runs(data, 6):
        if count > 1:
            yield f"{piece.hex()}*{count}"
            continue
        for at in range(0, len(piece), 32):
            yield piece[at:at + 32].hex()


def text(data):
    """Yields a text as words: quoted where quotes can represent it."""
    for piece, count in runs(data, 40):
        if count > 1:
            yield f"{piece.hex()}*{count}"
            continue
        for is_plain, letters in itertools.groupby(
                piece, lambda byte: 32 <= byte < 127 and byte != 0x22):
            letters = bytes(letters)
            if not is_plain:
                yield letters.hex()
                continue
            for at in range(0, len(letters), 80):
                yield f'"{letters[at:at + 80].decode()}"'


def lines(name, words, start=None):
    """Returns the lines of named bytes, which may not fit in one."""
    line, found = start or name + ":", []
    for word in words:
        if len(line) + 1 + len(word) > LINE and line.strip():
            found.append(line)
            line = "   "
        line += " " + word
    return found + [line]


class Output:
    """A vector file under construction: its header, then cases with their fields."""

    def __init__(self, head):
        self.lines, self.cases = [head.rstrip()], set()

    def begin(self, case, comment):
        assert case not in self.cases and "." not in case, case
        self.cases.add(case)
        self.lines += ["", f"# {comment}"]

    def bytes(self, name, data):
        self.lines += lines(name, hexadecimal(data))

    def text(self, name, data):
        self.lines += lines(name, text(data))

    def finish(self):
        return "\n".join(self.lines) + "\n"


def main(name, head, *parts):
    """Rewrites a vector file, part by part, and returns the exit code.

    With --check nothing is written, and the exit code is 1 if the file would change.
    """
    output, path = Output(head), os.path.join(VECTORS, name)
    for part in parts:
        part(output)
    if sys.argv[1:] == ["--check"]:
        with open(path, encoding="ascii") as file:
            return 0 if file.read() == output.finish() else 1
    with open(path, "w", encoding="ascii") as file:
        file.write(output.finish())
    return 0
