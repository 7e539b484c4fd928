"""Decodes and checks the structures of a Sheaf log; written from format-spec/log.md alone."""
import ctypes
import struct
import sys
from collections import namedtuple

try:
    XXH3 = ctypes.CDLL("libxxhash.so.0").XXH3_64bits_withSeed
except OSError as missing:
    sys.exit(f"sheaf_log.py needs libxxhash.so.0 (apt-get install libxxhash-dev): {missing}")
XXH3.argtypes, XXH3.restype = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_uint64], ctypes.c_uint64

HEADER, RECORD, ENTRY, FOOTER, PAGE, MAXIMUM = 128, 64, 24, 88, 4160, 2**32 - 1
WHOLE, FIRST, MIDDLE, LAST, COMPACTED, DIRECTORY = range(1, 7)
Header = namedtuple("Header", "low high first last first_commit link kind compacted checksum")
Footer = namedtuple("Footer", "length records last at hash link directory synced removals")
Record = namedtuple(
    "Record", "offset length kind commit position previous synced at count part checksum body")
Operation = namedtuple("Operation", "offset kind key payload previous")
File = namedtuple("File", "name first last is_base data header footer")


class Damage(Exception):
    def __init__(self, offset, reason, file=None, unsupported=False):
        self.offset, self.reason, self.file, self.unsupported = offset, reason, file, unsupported


def check(condition, offset, reason, unsupported=False):
    if not condition:
        raise Damage(offset, reason, unsupported=unsupported)


def xxh3(data, seed=0):
    data = bytes(data)
    return XXH3(data, len(data), seed)


def number(data, offset, size):
    return int.from_bytes(data[offset:offset + size], "little")


def read_header(data):
    """Decodes table 2."""
    check(len(data) >= HEADER, 0, "the file is shorter than a header")
    check(data[:8] == b"SHEAFLOG", 0, "the file does not begin with SHEAFLOG")
    (version, length, low, high, first, last, first_commit, _, link, cipher, codec, kind,
     compacted) = struct.unpack_from("<IIQQIIQQQHHIQ", data, 8)
    checksum = number(data, 120, 8)
    check(checksum == xxh3(data[:120]), 120, "the header's checksum is wrong")
    check(version == 1, 8, f"format version {version}", unsupported=True)
    check(cipher == 0 and codec == 0, 64, f"cipher {cipher}, codec {codec}", unsupported=True)
    check(kind in (1, 2), 68, f"file kind {kind}", unsupported=True)
    check(not any(data[80:120]), 80, "reserved bytes are not zero", unsupported=True)
    check(length == HEADER, 12, "the header length is wrong")
    check(1 <= first <= last and (kind == 2 or first == last), 32, "invalid segment range")
    check(first > 1 or (first_commit == 1 and link == 0), 40, "the first segment has predecessors")
    return Header(low, high, first, last, first_commit, link, kind, compacted, checksum)


def read_footer(data, offset, seed):
    """Decodes table 4; None without a valid footer."""
    raw = data[offset:offset + FOOTER]
    if offset < HEADER or len(raw) < FOOTER or raw[:8] != b"SHEAFEND":
        return None
    footer = Footer(*struct.unpack_from("<9Q", raw, 8))
    right = number(raw, 80, 8) == xxh3(raw[:80], seed) and footer.length == offset
    return footer if right and footer.directory < offset else None


def last_footer(data, seed):
    end = len(data) & ~7
    if any(data[end:]):
        return None
    end = (len(data[:end].rstrip(b"\0")) + 7) & ~7
    return read_footer(data, end - FOOTER, seed) or read_footer(data, end + 8 - FOOTER, seed)


def read_record(data, offset, segment, seed):
    """Decodes table 3."""
    check(offset + RECORD <= len(data), offset, "the file ends inside a record")
    (checksum, length, kind, padding, reserved, commit, position, previous, synced, at, count,
     part) = struct.unpack_from("<QIBBHQQQQQII", data, offset)
    end = offset + length
    check(RECORD <= length <= 2**26 and length % 8 == 0 and end <= len(data), offset + 8,
          f"the record length {length} is wrong")
    check(position == segment << 32 | offset, offset + 24, "the position is not that of the record")
    check(checksum == xxh3(data[offset + 8:end], seed), offset, "the record's checksum is wrong")
    check(WHOLE <= kind <= DIRECTORY and reserved == 0, offset + 12, f"record kind {kind}",
          unsupported=True)
    check(padding <= min(7, length - RECORD), offset + 13, "the padding is too long")
    check(not any(data[end - padding:end]), end - padding, "the padding is not zero")
    check(synced <= position, offset + 40, "the synced position is after the record")
    return Record(offset, length, kind, commit, position, previous, synced, at, count, part,
                  checksum, data[offset + RECORD:end - padding])


def read_operation(record, offset):
    """Decodes table 5; `offset` counts from the start of the record, like the distance."""
    body, at, here = record.body, offset - RECORD, record.offset + offset
    check(at + 20 <= len(body), here, "the record ends inside an operation")
    kind, reserved, key_length, length, previous, distance = struct.unpack_from("<BBHIQI", body, at)
    check(kind in (1, 2, 3) and reserved == 0, here, f"operation kind {kind}", unsupported=True)
    check(1 <= key_length <= 1024, here + 2, "the key length is wrong")
    check(at + 20 + key_length + length <= len(body), here + 4, "the payload is cut off")
    check(length <= (0 if kind == 2 else 2**25), here + 4, "the payload is too long")
    key = body[at + 20:at + 20 + key_length]
    check(key[0] not in (0, 255), here + 20, "the first byte of the key is reserved")
    check(distance == offset, here + 16, "the distance is wrong")
    payload = body[at + 20 + key_length:at + 20 + key_length + length]
    return Operation(offset, kind, key, payload, previous)


def operations(record):
    offset, end = RECORD, RECORD + len(record.body)
    for _ in range(record.count):
        operation = read_operation(record, offset)
        yield operation
        offset += 20 + len(operation.key) + len(operation.payload)
    check(offset == end, record.offset + offset, "bytes follow the last operation")


def compacted_entries(record, file):
    """Decodes table 6; returns (position, commit, operation) of each entry."""
    check(1 <= record.count <= len(record.body) // ENTRY, record.offset + 56, "the count is wrong")
    end, newest, entries = RECORD + ENTRY * record.count, 0, []
    for index in range(record.count):
        position, commit, offset, length = struct.unpack_from("<QQII", record.body, ENTRY * index)
        here = record.offset + RECORD + ENTRY * index
        check(position > newest and file.first <= position >> 32 <= file.last and offset == end,
              here, "the entry is out of order")
        operation = read_operation(record, offset)
        check(20 + len(operation.key) + len(operation.payload) == length, here,
              "the operation does not fill its entry")
        newest, end = position, offset + length
        entries.append((position, commit, operation))
    check(end == RECORD + len(record.body), record.offset + end, "bytes follow the last entry")
    return entries


def proves_sync(data, segment, seed, p):
    """Whether the data proves a sync after `p` (log.md, *Opening*).

    Without a seed, checksums are not checked.
    """
    for q in range((p + 7) & ~7, len(data) - RECORD + 1, 8):
        if number(data, q + 24, 8) == segment << 32 | q:
            if segment << 32 | p < number(data, q + 40, 8) <= segment << 32 | q:
                try:
                    if seed is None or read_record(data, q, segment, seed):
                        return True
                except Damage:
                    pass
        if data[q:q + 8] == b"SHEAFEND" and q + FOOTER <= len(data):
            if segment << 32 | p < number(data, q + 64, 8) <= segment << 32 | q:
                if seed is None or read_footer(data, q, seed):
                    return True
    return False
