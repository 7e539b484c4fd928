"""Values of Sheaf documents as bytes, sort keys and texts; written from format-spec/ alone.

A value is a tuple: ("null",), ("false",), ("true",), ("int", number), ("float", its 64 bits),
("string", UTF-8), ("bytes", bytes), ("array", elements), ("object", fields), where a field is a
name in UTF-8 and a value, and fields ascend by their names.
"""
import math
import struct

DEEPEST = 64
NULL, FALSE, TRUE = ("null",), ("false",), ("true",)


class Refused(Exception):
    """Malformed bytes: the offset of the error, and the reason."""

    def __init__(self, offset, reason):
        super().__init__(f"{offset}: {reason}")
        self.offset, self.reason = offset, reason


def check(condition, offset, reason):
    if not condition:
        raise Refused(offset, reason)


def bits_of(number):
    return struct.unpack("<Q", struct.pack("<d", number))[0]


def float_of(bits):
    return struct.unpack("<d", struct.pack("<Q", bits))[0]


def value_of(plain):
    """Converts a Python object to a value; dictionaries have texts or bytes as names."""
    if plain is None:
        return NULL
    if isinstance(plain, bool):
        return TRUE if plain else FALSE
    if isinstance(plain, int):
        return ("int", plain)
    if isinstance(plain, float):
        return ("float", bits_of(plain))
    if isinstance(plain, str):
        return ("string", plain.encode())
    if isinstance(plain, bytes):
        return ("bytes", plain)
    if isinstance(plain, list):
        return ("array", tuple(map(value_of, plain)))
    if isinstance(plain, dict):
        return ("object", tuple(sorted((name_of(name), value_of(field))
                                       for name, field in plain.items())))
    return plain


def name_of(name):
    return name if isinstance(name, bytes) else name.encode()


def varint(number):
    """Encodes a varint (README.md, *Conventions*)."""
    found = b""
    while number > 127:
        found, number = found + bytes([number & 127 | 128]), number >> 7
    return found + bytes([number])


def read_varint(data, at, end):
    """Returns a decoded varint and the offset after it."""
    number, start = 0, at
    while True:
        check(at < end and at - start < 10, start, "a varint is truncated or has too many bytes")
        number |= (data[at] & 127) << 7 * (at - start)
        at += 1
        if data[at - 1] < 128:
            break
    check(at == start + 1 or data[at - 1], start, "a varint is not the shortest")
    check(number < 2**64, start, "a varint exceeds 64 bits")
    return number, at


def check_utf8(data, at):
    try:
        data.decode()
    except UnicodeDecodeError as error:
        raise Refused(at, "not UTF-8") from error


# Documents.md, tables 2 to 4: the bytes of values, without references.

def width(greatest):
    """Returns the size of ends as the two bits of the flags."""
    return 0 if greatest < 256 else 1 if greatest < 65_536 else 2


def listed(contents):
    """Returns the contents, followed by their ends, and the bits of the flags."""
    ends, end = [], 0
    for content in contents:
        end += len(content)
        ends.append(end)
    flags = width(end)
    return b"".join(contents) + b"".join(end.to_bytes(1 << flags, "little") for end in ends), flags


def array_bytes(elements):
    body, flags = listed(elements)
    flags |= 16 if len(elements) > 255 else 0
    return body + len(elements).to_bytes(4 if flags & 16 else 1, "little") + bytes([flags])


def object_bytes(fields, numbers, flags=0):
    """Encodes table 3 from (name, entry) in any order; `numbers` has the numbers of some names."""
    numbered = sorted((numbers[name], entry) for name, entry in fields if name in numbers)
    spelled = sorted((name, entry) for name, entry in fields if name not in numbers)
    body, ends = listed([entry for _, entry in numbered]
                        + [varint(len(name)) + name + entry for name, entry in spelled])
    flags |= ends | (4 if numbered and numbered[-1][0] > 255 else 0) | (8 if spelled else 0)
    flags |= 16 if max(len(numbered), len(spelled)) > 255 else 0
    for number, _ in numbered:
        body += number.to_bytes(2 if flags & 4 else 1, "little")
    for count in ([len(spelled)] if spelled else []) + [len(numbered)]:
        body += count.to_bytes(4 if flags & 16 else 1, "little")
    return body + bytes([flags])


def order_of(fields, numbers):
    """Returns the names of fields in the order of their contents."""
    return sorted(fields, key=lambda name: (
        name not in numbers, numbers.get(name, 0), name))


def value_bytes(value, numbers=None):
    """Encodes an entry of the tags 1 to 12 without a reference."""
    kind, numbers = value[0], numbers or {}
    if kind == "int":
        size = next(size for size in range(4) if -(1 << (8 << size) - 1) <= value[1] < 1 << (
            8 << size) - 1)
        return bytes([4 + size]) + value[1].to_bytes(1 << size, "little", signed=True)
    if kind == "float":
        return struct.pack("<BQ", 8, value[1])
    if kind in ("string", "bytes"):
        return (b"\x09" if kind == "string" else b"\x0a") + value[1]
    if kind == "array":
        return b"\x0b" + array_bytes([value_bytes(element, numbers) for element in value[1]])
    if kind == "object":
        return b"\x0c" + object_bytes(
            [(name, value_bytes(field, numbers)) for name, field in value[1]], numbers)
    return {"null": b"\x01", "false": b"\x02", "true": b"\x03"}[kind]


# Keys.md.

def text_key(data):
    return data.replace(b"\1", b"\1\2").replace(b"\0", b"\1\1") + b"\0"


def number_key(value):
    """Encodes a number (keys.md, table 2)."""
    number = value[1] if value[0] == "int" else float_of(value[1])
    if number != number:
        return struct.pack(">BQ", 0x20, 0xFFF8 << 48)
    below = float(number) + 0.0
    if below > number:
        below = math.nextafter(below, -math.inf)
    bits = bits_of(below)
    key = struct.pack(">BQ", 0x20, bits ^ (2**64 - 1 if bits >> 63 else 2**63))
    if abs(below) < 2**53:
        return key
    return key + struct.pack(">H", 0 if value[0] == "float" else number - int(below))


def components(value):
    """Returns the component of a value (keys.md, table 1) and the forms of its numbers."""
    kind = value[0]
    if kind in ("int", "float"):
        return number_key(value), [0 if kind == "int" else 2 if value[1] == 2**63 else 1]
    if kind in ("string", "bytes"):
        return (b"\x40" if kind == "string" else b"\x30") + text_key(value[1]), []
    if kind not in ("array", "object"):
        return {"false": b"\x10", "true": b"\x11", "null": b"\x70"}[kind], []
    key, forms = b"\x50" if kind == "array" else b"\x60", []
    for element in value[1]:
        if kind == "object":
            key, element = key + b"\x40" + text_key(element[0]), element[1]
        more, found = components(element)
        key, forms = key + more, forms + found
    return key + b"\0", forms


def sort_key(value):
    """Returns the key of a value as one ascending component, with its trailer."""
    key, forms = components(value)
    packed = sum(form << 2 * index for index, form in enumerate(forms))
    return key + packed.to_bytes(len(forms) // 4 + 1, "little").rstrip(b"\0")


class KeyReader:
    """Reads the id of a document: one ascending component without a trailer."""

    def __init__(self, data, at):
        self.data, self.at = data, at

    def id(self):
        value = self.component(0)
        check(self.at == len(self.data), self.at, "bytes after the id")
        return value

    def take(self, size):
        check(self.at + size <= len(self.data), self.at, "the key ends inside a component")
        self.at += size
        return self.data[self.at - size:self.at]

    def component(self, depth):
        at, tag = self.at, self.take(1)[0]
        if tag in (0x10, 0x11):
            return TRUE if tag == 0x11 else FALSE
        if tag == 0x20:
            return self.number(at)
        if tag == 0x30:
            return ("bytes", self.text())
        if tag == 0x40:
            return self.string()
        check(tag in (0x50, 0x60), at, "not a tag of an id")
        check(depth < DEEPEST, at, "too deep")
        found = []
        while True:
            check(self.at < len(self.data), self.at, "the key ends inside a component")
            if self.data[self.at] == 0:
                self.at += 1
                return ("array" if tag == 0x50 else "object", tuple(found))
            if tag == 0x50:
                found.append(self.component(depth + 1))
                continue
            start = self.at
            check(self.take(1) == b"\x40", start, "no name")
            name = self.string()[1]
            check(not found or found[-1][0] < name, start, "the names do not ascend")
            found.append((name, self.component(depth + 1)))

    def number(self, at):
        bits = int.from_bytes(self.take(8), "big")
        below = float_of(bits ^ (2**63 if bits >> 63 else 2**64 - 1))
        check(math.isfinite(below) and below == int(below), at, "an id has no floats")
        number = int(below)
        if abs(below) >= 2**53:
            number += int.from_bytes(self.take(2), "big")
        check(-2**63 <= number < 2**63 and number_key(("int", number)) == self.data[at:self.at],
              at, "no integer")
        return ("int", number)

    def string(self):
        start = self.at
        text = self.text()
        check_utf8(text, start)
        return ("string", text)

    def text(self):
        found = b""
        while (byte := self.take(1)) != b"\0":
            if byte == b"\1":
                byte = self.take(1)
                check(byte in b"\1\2", self.at - 1, "unknown escape")
                byte = bytes([byte[0] - 1])
            found += byte
        return found


# Texts.

def json_string(text):
    short = {0x22: '\\"', 0x5C: "\\\\"}
    return '"' + "".join(short.get(ord(letter)) or (
        letter if letter >= " " else f"\\u{ord(letter):04x}") for letter in text.decode()) + '"'


def json_of(value):
    """Returns JSON on one line, with {"$bytes":"hex"}, NaN and Infinity for other values."""
    kind = value[0]
    if kind == "int":
        return str(value[1])
    if kind == "float":
        number = float_of(value[1])
        return repr(number).replace("nan", "NaN").replace("inf", "Infinity")
    if kind == "string":
        return json_string(value[1])
    if kind == "bytes":
        return f'{{"$bytes":"{value[1].hex()}"}}'
    if kind == "array":
        return "[" + ",".join(map(json_of, value[1])) + "]"
    if kind == "object":
        return "{" + ",".join(f"{json_string(name)}:{json_of(field)}"
                              for name, field in value[1]) + "}"
    return kind


def is_json(value):
    if value[0] == "float":
        return math.isfinite(float_of(value[1]))
    if value[0] in ("array", "object"):
        return all(is_json(item if value[0] == "array" else item[1]) for item in value[1])
    return value[0] != "bytes"


def escaped(data):
    """Escapes all but ASCII letters, digits, minus and underscore (documents.md, *Vectors*)."""
    plain = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return "".join(chr(byte) if byte in plain else f"%{byte:02x}" for byte in data)


def value_text(value):
    """Returns a lossless text of a value, without spaces (documents.md, *Vectors*)."""
    kind = value[0]
    if kind == "int":
        return str(value[1])
    if kind == "float":
        return f"f{value[1]:016x}"
    if kind == "string":
        return "s" + escaped(value[1])
    if kind == "bytes":
        return "b" + value[1].hex()
    if kind == "array":
        return "[" + ",".join(map(value_text, value[1])) + "]"
    if kind == "object":
        return "{" + ",".join(f"{escaped(name)}={value_text(field)}"
                              for name, field in value[1]) + "}"
    return kind
