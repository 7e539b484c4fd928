#!/usr/bin/env python3
"""Prints the contents of the log of a Sheaf store; written from format-spec/ alone.

    sheaf_log.py [--documents] DIRECTORY

One line for each base file, commit, torn tail and checkpoint, then the live keys with the lengths
and hashes of the payloads of each, the put's first; keys are in hexadecimal digits. With
--documents a line after each commit has its origin, and documents are printed instead of keys: the
collection, the id, and the visible value, or "tombstone".
Exit codes: 0 success, 1 the store cannot be read, 3 damage, 4 a later version of the format.
"""
import os
import re
import struct
import sys

from sheaf_bytes import (
    FIRST, COMPACTED, HEADER, LAST, MAXIMUM, MIDDLE, PAGE, RECORD, WHOLE, Damage, File,
    Footer, check, compacted_entries, last_footer, number, operations, proves_sync, read_footer,
    read_header, read_record, xxh3)
from sheaf_commits import Commits, Mistake


class Store:
    def __init__(self, path, commits=None):
        self.commits = commits
        self.path, self.files, self.checkpoints, self.marks = path, [], [], []
        self.last = self.last_at = self.end = 0
        self.left_out, self.is_torn = set(), False
        self.newest, self.payloads, self.parts = {}, {}, []

    def load(self, name):
        with open(os.path.join(self.path, name), "rb") as file:
            data = file.read(MAXIMUM + 1)
        if len(data) > MAXIMUM:
            raise Damage(MAXIMUM, "the file is too long", name)
        return data

    def list(self):
        """Returns the files of the log in order (log.md, *Opening*, steps 2 to 4)."""
        covers = []
        for entry in os.scandir(self.path):
            if entry.is_dir():
                continue
            log = re.fullmatch(r"([0-9]{10})\.log", entry.name)
            base = re.fullmatch(r"([0-9]{10})-([0-9]{10})\.base", entry.name)
            named = re.fullmatch(r"([0-9]{20})\.(checkpoint|closed)", entry.name)
            first, last = (int(log[1]),) * 2 if log else map(int, base.groups()) if base else (0, 0)
            if 1 <= first <= last <= MAXIMUM:
                covers.append((first, -last, log is not None, entry.name))
            if named and int(named[1]) < 2**64:
                names = self.checkpoints if named[2] == "checkpoint" else self.marks
                names.append((int(named[1]), entry.name))
        kept, end = [], 0
        for first, last, is_log, name in sorted(covers):
            if first > end:
                kept.append((first, -last, is_log, name))
                end = -last
            elif -last > end:
                raise Damage(0, "the segments overlap those of another file", name)
        return kept

    def open(self):
        kept = self.list()
        while kept and kept[-1][2]:
            segment, _, _, name = kept[-1]
            data = self.load(name)
            try:
                read_header(data)
                break
            except Damage as error:
                error.file, seed = name, None
                if len(kept) > 1:
                    try:
                        seed = read_header(self.load(kept[0][3])).low
                    except Damage:
                        pass
                if error.unsupported or proves_sync(data, segment, seed, 0):
                    raise
                self.left_out.add(kept.pop()[3])
        for index, (first, last, is_log, name) in enumerate(kept):
            before = self.files[-1] if self.files else None
            expected = before.last + 1 if before else 1
            if first != expected:
                raise Damage(0, f"segment {expected} is missing", f"{expected:010}.log")
            data = self.load(name)
            with Naming(name):
                header = read_header(data)
                check((header.first, header.last, header.kind) == (first, last, 1 if is_log else 2),
                      32, "the header does not match the file name")
                store = self.files[0].header if before else header
                check((header.low, header.high) == (store.low, store.high), 16, "another store")
                footer = last_footer(data, header.low)
                check(footer or (is_log and index == len(kept) - 1), len(data), "no footer")
                if before:
                    check(header.link == before.footer.link, 56, "wrong chain hash")
                    check(header.first_commit == before.footer.last + 1, 40, "commits are missing")
            self.files.append(File(name, first, last, not is_log, data, header, footer))

    def walk(self):
        """Reads the log (log.md, *Opening*, steps 6 to 8)."""
        for index, file in enumerate(self.files):
            with Naming(file.name):
                (self.walk_base if file.is_base else self.walk_log)(
                    file, index == len(self.files) - 1)
        for commit, name in sorted(self.checkpoints + self.marks, reverse=True):
            if commit > self.last:
                where = f"{self.files[-1].last + 1 if self.files else 1:010}.log"
                if self.files and (self.is_torn or where not in self.left_out):
                    where = self.files[-1].name
                raise Damage(self.end if self.files and where == self.files[-1].name else 0,
                             f"the log ends with commit {self.last}, but {name} exists", where)

    def check_payloads(self):
        for key, payloads in self.payloads.items():
            if payloads[0] is None:
                position = self.newest[key]
                name = next(f.name for f in self.files if f.first <= position >> 32 <= f.last)
                raise Damage(position & MAXIMUM, "the base of a delta record was compacted away", name)

    def records(self, file):
        """Yields the records, then the footer or the damage that ends them."""
        offset, chain, seed = HEADER, file.header.checksum, file.header.low
        while read_footer(file.data, offset, seed) is None:
            try:
                record = read_record(file.data, offset, file.first, seed)
                check(record.previous == chain, offset + 32, "wrong previous checksum")
            except Damage as error:
                yield offset, error
                return
            offset, chain = offset + record.length, record.checksum
            yield record.offset, record
        yield offset, read_footer(file.data, offset, seed)

    def check_footer(self, file, footer, count):
        check(footer.records == count, footer.length + 16, f"the file has {count} records")
        check(footer.hash == xxh3(file.data[:footer.length]), footer.length + 40, "wrong hash")
        if not file.is_base:
            check(footer.last == self.last, footer.length + 24, f"the last commit is {self.last}")
            check(footer.link == footer.hash, footer.length + 48, "the chain hash is not the hash")

    def walk_log(self, file, is_last):
        self.end = HEADER
        for count, (offset, found) in enumerate(self.records(file)):
            if isinstance(found, Footer):
                self.check_footer(file, found, count)
                self.end = found.length
            elif isinstance(found, Damage):
                unused = not any(file.data[offset:])
                if found.unsupported or not is_last or not unused and proves_sync(
                        file.data, file.first, file.header.low, offset):
                    raise found
                if not unused:
                    self.end, self.is_torn = found.offset, True
                    print(f"torn {file.name}:{found.offset}: {found.reason}")
                self.parts = []
            else:
                self.take(found, starts_segment=count == 0)

    def take(self, record, starts_segment):
        check(record.kind <= LAST, record.offset + 12, "a record kind of base files")
        check(record.commit == self.last + 1, record.offset + 16, "the commit is not the next")
        if record.kind in (WHOLE, FIRST):
            check(not self.parts or starts_segment, record.offset + 12, "a commit is incomplete")
            self.parts = []
        check((record.kind in (WHOLE, FIRST)) == (not self.parts), record.offset + 12, "no first part")
        check(record.part == len(self.parts), record.offset + 60, "a part is missing")
        check(record.at >= self.last_at, record.offset + 48, "the time decreases")
        check(not self.parts or record.at == self.parts[0][0].at, record.offset + 48, "times differ")
        self.parts.append((record, list(operations(record))))
        if record.kind in (MIDDLE, FIRST):
            return
        line = f"commit {record.commit} {record.at}"
        for part, found in self.parts:
            for operation in found:
                line += self.apply(part.position + operation.offset, operation)
        print(line)
        if self.commits:
            print(self.commits.commit(record.commit, [
                (operation.kind != 2, operation.key, operation.payload)
                for _, found in self.parts for operation in found]))
        self.last, self.last_at, self.parts = record.commit, record.at, []
        self.end = record.offset + record.length

    def apply(self, position, operation, compacted=False):
        here, known = position & MAXIMUM, self.newest.get(operation.key)
        check(operation.previous < position, here + 8, "the previous position is not earlier")
        check(compacted or operation.previous in (0, known) or known is None
              or operation.previous > known and self.is_compacted(operation.previous), here + 8,
              "the chain of the key skips an operation")
        self.newest[operation.key] = position
        if operation.kind == 2:
            self.payloads.pop(operation.key, None)
            return f" remove:{operation.key.hex()}"
        if operation.kind == 1:
            self.payloads[operation.key] = [operation.payload]
        else:
            self.apply_delta(operation, here, known)
        word = "put" if operation.kind == 1 else "delta"
        return f" {word}:{operation.key.hex()}:{len(operation.payload)}"

    def apply_delta(self, operation, here, known):
        """Applies a delta record; its previous operation may be missing only if compacted away."""
        if operation.previous != known or operation.key not in self.payloads:
            check(self.is_compacted(operation.previous), here + 8, "a delta record without a base")
            # A newer operation must follow, or the key cannot be read.
            self.payloads[operation.key] = [None]
        self.payloads[operation.key].append(operation.payload)

    def is_compacted(self, position):
        return any(f.is_base and f.first <= position >> 32 <= f.last for f in self.files)

    def walk_base(self, file, is_last):
        directory, newest, line = None, 0, f"compaction {file.name} through {file.header.compacted}"
        places = []
        for count, (offset, found) in enumerate(self.records(file)):
            if isinstance(found, Damage):
                raise found
            if isinstance(found, Footer):
                self.check_footer(file, found, count)
                check(directory is not None and found.directory == directory, found.length + 56,
                      "wrong directory offset")
                self.last, self.last_at, self.parts = found.last, found.at, []
                self.end = found.length
                continue
            check(directory is None and found.kind >= COMPACTED, offset + 12, "unexpected record kind")
            if found.kind == COMPACTED:
                entries = compacted_entries(found, file)
                check(entries[0][0] > newest, offset + RECORD, "positions do not ascend")
                newest = entries[-1][0]
                places.append((entries[0][0], offset, len(entries)))
                for position, commit, operation in entries:
                    line += self.apply(position, operation, compacted=True) + f"@{commit}"
                continue
            directory = offset
            check(len(found.body) == 16 * found.count, offset + 56, "the count is wrong")
            check(list(struct.iter_unpack("<QII", found.body)) == places, offset + RECORD,
                  "the directory does not match the compacted records")
        print(line)

    def check_checkpoints(self):
        removals = max((f.footer.removals for f in self.files if f.footer), default=0)
        for commit, name in sorted(self.checkpoints):
            data = self.load(name)
            try:
                self.check_checkpoint(data, commit, removals)
                print(f"checkpoint {name} right")
            except Damage as error:
                print(f"checkpoint {name} unusable {error.offset}: {error.reason}")

    def check_checkpoint(self, data, commit, removals):
        """Checks a checkpoint by tables 1 and 8 of checkpoint.md; not its pages."""
        check(len(data) >= PAGE and data[:8] == b"SHEAFCKP", 0, "not a checkpoint")
        check(number(data, 4152, 8) == xxh3(data[:4152]), 4152, "the checksum is wrong")
        (version, page, low, high, last, position, _, _, pages, files, digest, _, linked) = \
            struct.unpack_from("<IIQQQQQQIIQQQ", data, 8)
        check((version, page) == (2, PAGE), 8, f"version {version}", unsupported=True)
        store = self.files[0].header if self.files else None
        check(store and (low, high) == (store.low, store.high), 16, "another store")
        check(last == commit, 32, "the commit does not match the file name")
        check(linked <= last, 88, "index entries reach beyond the commit")
        check(position >= removals, 40, "removals were dropped since")
        check(pages > 0 and len(data) == PAGE * (pages + 1) + 16 * files, 64, "the length is wrong")
        check(digest == xxh3(data[PAGE:]), 72, "the hash of the pages is wrong")
        before = 0
        for first, zero, live in struct.iter_unpack("<IIQ", data[PAGE * (pages + 1):]):
            check(first > before and zero == 0 and live <= MAXIMUM, 68, "malformed live bytes")
            before = first


class Naming:
    """Adds the name of a file to damage found in it."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        if isinstance(error, Damage) and error.file is None:
            error.file = self.name


def main(path, commits=None):
    store = Store(path, commits)
    try:
        store.open()
        store.walk()
        store.check_payloads()
    except Damage as error:
        word = "unsupported: " if error.unsupported else ""
        print(f"{error.file}:{error.offset}: {word}{error.reason}", file=sys.stderr)
        return 4 if error.unsupported else 3
    except OSError as error:
        print(error, file=sys.stderr)
        return 1
    except Mistake as error:
        print(error, file=sys.stderr)
        return 3
    store.check_checkpoints()
    if commits:
        return print_documents(store)
    print(f"keys {len(store.payloads)}")
    for key, payloads in sorted(store.payloads.items()):
        print(key.hex(), *(f"{len(payload)} {xxh3(payload):016x}" for payload in payloads))
    return 0


def print_documents(store):
    try:
        for line in store.commits.documents(store.payloads):
            print(line)
    except Mistake as error:
        print(error, file=sys.stderr)
        return 3
    return 0


if __name__ == "__main__":
    has_documents = sys.argv[1:2] == ["--documents"]
    if len(sys.argv) != (3 if has_documents else 2):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[-1], Commits() if has_documents else None))
