#!/usr/bin/env python3
"""Rewrites format-spec/vectors/documents.txt from the rules of documents.md.

    make_document_vectors.py [--check]

With --check nothing is written, and the exit code is 1 if the file would change.
"""
import sys

import document_joins
import document_refusals
import document_shapes
import vector_text
from sheaf_document import decode
from sheaf_dots import INITIAL, REGISTER, VALUE, can_join, joined
from sheaf_encoder import encode
from sheaf_values import Refused, is_json, json_of, varint

HEAD = """\
# Documents (documents.md, "Vectors"), made from that page with an encoder of its own:
# Tests/FormatReader/make_document_vectors.py.
"""


def write_names(output, case, names):
    if names:
        output.text(f"{case}.names", b"".join(varint(len(name)) + name for name in names))


def write_contents(output, case, document):
    """Writes the visible value of a document, and all its contents."""
    if document.is_state:
        shown = document.visible()
        if shown is None:
            output.lines.append(f"{case}.tombstone = 1")
        elif is_json(shown):
            output.text(f"{case}.json", json_of(shown).encode())
    found = {} if document.is_state else {"named": []}
    for kind, line in document.lines():
        found.setdefault(kind, []).append(line)
    for kind, lines in found.items():
        output.lines.append(f"{case}.{kind}:")
        for line in lines:
            words = list(vector_text.text(line.encode())) + ["0a"]
            output.lines += vector_text.lines("    ", words, "   ")


def check_many_stamps():
    """Checks references of four bytes, which need too many stamps for a vector file."""
    for count, size in ((65_534, 2), (65_535, 4)):
        document = document_shapes.state(
            {site: 10 for site in range(1, count + 1)},
            [document_shapes.ROOT, (("a",), REGISTER, VALUE, (9, 7), 1),
             (("b",), REGISTER, VALUE, INITIAL, 2)])
        data = encode(document)
        assert decode(data) == document and data[0] >> 4 == size // 2, size


def write_all(output):
    check_many_stamps()
    for case, comment, document, names, known in document_shapes.cases():
        data = encode(document, names)
        found = decode(data, known)
        assert found == document and encode(found, names) == data, case
        output.begin(case, comment)
        write_names(output, case, known)
        output.bytes(f"{case}.document", data)
        write_contents(output, case, document)
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
        write_contents(output, case, result)
    for case, comment, data, at, names in document_refusals.cases():
        try:
            decode(data, names)
            raise AssertionError(f"{case} is not refused")
        except Refused as error:
            assert error.offset == at, f"{case}: at {at}, {error}"
        output.begin(case, comment)
        write_names(output, case, names)
        output.bytes(f"{case}.refused", data)
        output.lines.append(f"{case}.at = {at}")


if __name__ == "__main__":
    sys.exit(vector_text.main("documents.txt", HEAD, write_all))
