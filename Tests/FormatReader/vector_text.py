"""Writes the lines of vector files: format-spec/README.md, *Vectors*."""
import itertools

LINE = 100


def runs(data, shortest):
    """Data in pieces, each of them a run of one byte or something else."""
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
    """Words for any bytes."""
    for piece, count in runs(data, 6):
        if count > 1:
            yield f"{piece.hex()}*{count}"
            continue
        for at in range(0, len(piece), 32):
            yield piece[at:at + 32].hex()


def text(data):
    """Words for a text: quoted where quotes can hold it."""
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
    """The lines of bytes with a name, and further lines where they do not fit in one."""
    line, found = start or name + ":", []
    for word in words:
        if len(line) + 1 + len(word) > LINE and line.strip():
            found.append(line)
            line = "   "
        line += " " + word
    return found + [line]
