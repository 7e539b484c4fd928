#!/usr/bin/env python3
"""Writes format-spec/vectors/documents.txt anew; everything in it follows from documents.md.

    make_document_vectors.py [--check]

With --check nothing is written, and the exit code is 1 if the file would change.
"""
import os
import sys

import document_joins
import document_refusals
import document_shapes
import vector_text
from sheaf_document import decode
from sheaf_dots import INITIAL, REGISTER, VALUE, can_join, joined
from sheaf_encoder import encode
from sheaf_values import Refused, is_json, json_of, varint

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                    "../../format-spec/vectors/documents.txt")
HEAD = """\
# Documents (documents.md, "Vectors"), made from that page with an encoder of its own:
# Tests/FormatReader/make_document_vectors.py.
"""


class Output:
    def __init__(self):
        self.lines, self.cases = [HEAD.rstrip()], set()

    def begin(self, case, comment):
        assert case not in self.cases and "." not in case, case
        self.cases.add(case)
        self.lines += ["", f"# {comment}"]

    def bytes(self, name, data):
        self.lines += vector_text.lines(name, vector_text.hexadecimal(data))

    def text(self, name, data):
        self.lines += vector_text.lines(name, vector_text.text(data))

    def names(self, case, names):
        if names:
            self.text(f"{case}.names", b"".join(varint(len(name)) + name for name in names))

    def contents(self, case, document):
        """What the bytes say: the value that is seen, and all that is in them."""
        if document.is_state:
            shown = document.visible()
            if shown is None:
                self.lines.append(f"{case}.tombstone = 1")
            elif is_json(shown):
                self.text(f"{case}.json", json_of(shown).encode())
        found = {} if document.is_state else {"named": []}
        for kind, line in document.lines():
            found.setdefault(kind, []).append(line)
        for kind, lines in found.items():
            self.lines.append(f"{case}.{kind}:")
            for line in lines:
                words = list(vector_text.text(line.encode())) + ["0a"]
                self.lines += vector_text.lines("    ", words, "   ")

    def finish(self):
        return "\n".join(self.lines) + "\n"


def check_many_stamps():
    """References of four bytes need too many stamps for a file of vectors."""
    for count, size in ((65_534, 2), (65_535, 4)):
        document = document_shapes.state(
            {site: 10 for site in range(1, count + 1)},
            [document_shapes.ROOT, (("a",), REGISTER, VALUE, (9, 7), 1),
             (("b",), REGISTER, VALUE, INITIAL, 2)])
        data = encode(document)
        assert decode(data) == document and data[0] >> 4 == size // 2, size


def main(is_check):
    output = Output()
    check_many_stamps()
    for case, comment, document, names, known in document_shapes.cases():
        data = encode(document, names)
        found = decode(data, known)
        assert found == document and encode(found, names) == data, case
        output.begin(case, comment)
        output.names(case, known)
        output.bytes(f"{case}.document", data)
        output.contents(case, document)
    for case, comment, left, right in document_joins.cases():
        assert can_join(left, right), case
        result = joined(left, right)
        assert result == joined(right, left), case
        assert all(joined(result, one) == result for one in (left, right)), case
        output.begin(case, comment)
        for name, document in (("left", left), ("right", right), ("joined", result)):
            data = encode(document)
            assert decode(data) == document, case
            output.bytes(f"{case}.{name}", data)
        output.contents(case, result)
    for case, comment, data, at, names in document_refusals.cases():
        try:
            decode(data, names)
            raise AssertionError(f"{case} is not refused")
        except Refused as error:
            assert error.offset == at, f"{case}: at {at}, {error}"
        output.begin(case, comment)
        output.names(case, names)
        output.bytes(f"{case}.refused", data)
        output.lines.append(f"{case}.at = {at}")
    if is_check:
        with open(FILE, encoding="ascii") as file:
            return 0 if file.read() == output.finish() else 1
    with open(FILE, "w", encoding="ascii") as file:
        file.write(output.finish())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:] == ["--check"]))
