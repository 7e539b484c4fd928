#!/usr/bin/env python3
"""Rewrites format-spec/vectors/network.txt from the rules of network.md.

    make_network_vectors.py [--check]

With --check nothing is written, and the exit code is 1 if the file would change.
"""
import hmac
import struct
import sys

import vector_text
from sheaf_ed25519 import public_key, sign
from sheaf_encoder import varint

HEAD = """\
# How peers meet over TCP (network.md, "Vectors"), made from that page with an encoder of its own:
# Tests/FormatReader/make_network_vectors.py.
"""
DATABASE = bytes(range(16))
DIALER, LISTENER = bytes(range(32, 64)), bytes(range(64, 96))
EXPORTER = bytes(range(96, 128))


def proof(purpose, secret, role, sender, receiver, exporter=EXPORTER):
    message = b"sheaf/1 " + purpose + b"\0" + bytes([role]) + sender + receiver + exporter
    return hmac.digest(secret, message, "sha256")


def proofs(output):
    shared = b"a key that both ends have"
    cases = [
        ("database", b"database", DATABASE, 1, DIALER, LISTENER),
        ("database-back", b"database", DATABASE, 2, LISTENER, DIALER),
        ("shared", b"shared key", shared, 1, DIALER, LISTENER),
        ("shared-long", b"shared key", shared * 40, 2, LISTENER, DIALER),
    ]
    for name, purpose, secret, role, sender, receiver in cases:
        case = f"proof-{name}"
        output.begin(case, "what shows that somebody knows a secret")
        output.text(f"{case}.purpose", purpose)
        output.lines.append(f"{case}.role = {role}")
        for part, data in [("secret", secret), ("sender", sender), ("receiver", receiver),
                           ("exporter", EXPORTER),
                           ("proof", proof(purpose, secret, role, sender, receiver))]:
            output.bytes(f"{case}.{part}", data)


def greeting(mode, refusal=0, length=0, database=bytes(32), secret=bytes(32), metadata=0):
    head = b"SHN2" + struct.pack("<BBH", mode, refusal, length)
    return head + database + secret + struct.pack("<H", metadata)


def greetings(output):
    database = proof(b"database", DATABASE, 1, DIALER, LISTENER)
    secret = proof(b"shared key", b"a key that both ends have", 1, DIALER, LISTENER)
    cases = [("development", 0, 0, 0, 0, database, bytes(32)),
             ("shared", 1, 0, 0, 4_096, database, secret),
             ("authority", 2, 0, 32_768, 2, database, bytes(32))]
    cases += [(f"refusal{code}", 0, code, 0, 0, bytes(32), bytes(32)) for code in range(1, 9)]
    for name, mode, refusal, length, metadata, *both in cases:
        case = f"greeting-{name}"
        output.begin(case, "what an end says first")
        output.bytes(f"{case}.greeting", greeting(mode, refusal, length, *both, metadata))
        output.lines += [f"{case}.mode = {mode}", f"{case}.refusal = {refusal}",
                         f"{case}.length = {length}", f"{case}.metadata = {metadata}"]
        output.bytes(f"{case}.database", both[0])
        output.bytes(f"{case}.secret", both[1])
    wrong = [
        ("magic", "something else", b"SHN1" + greeting(0)[4:]),
        ("mode", "a mode that there is not", greeting(3)),
        ("code", "a refusal that there is not", greeting(0, 9)),
        ("long", "a grant that is too long", greeting(2, 0, 32_769)),
        ("without", "an authority without a grant", greeting(2)),
        ("beside", "a grant without an authority", greeting(1, 0, 200)),
        ("refused", "a refusal with a grant", greeting(2, 5, 200)),
        ("metadata", "metadata that is too long", greeting(0, metadata=4_097)),
        ("refused-metadata", "a refusal with metadata", greeting(0, 8, metadata=2)),
        ("end", "a greeting that is cut off", greeting(0)[:-1]),
        ("more", "a greeting that is too long", greeting(0) + b"\0"),
    ]
    for name, comment, data in wrong:
        output.begin(f"greeting-{name}", comment)
        output.bytes(f"greeting-{name}.refusedGreeting", data)


SEED = bytes(range(128, 160))
PEER = public_key(bytes(range(160, 192)))


def text(data):
    return varint(len(data)) + data


def conditions(pairs):
    return varint(len(pairs)) + b"".join(text(name) + text(rule) for name, rule in pairs)


def statement(start=1_000, end=2**63, flags=b"\0", rights=b"", version=1):
    return (b"SHGR" + bytes([version]) + public_key(SEED) + DATABASE + PEER
            + struct.pack("<QQ", start, end) + flags + rights)


def signed(said, seed=SEED):
    return said + sign(seed, b"sheaf grant 1\0" + said)


def grants(output):
    read = [(b"cars", b"true"), ("käufer".encode(), b"name = 'Ann'")]
    cases = [
        ("everything", "a grant for everything", 1_000, 2**63, None, None),
        ("nothing", "a grant for nothing", 0, 2**64 - 1, [], []),
        ("some", "a grant for two collections", 5, 6, read, [(b"cars", b"")]),
        ("never", "a grant that is valid at no time", 7, 7, None, None),
    ]
    for name, comment, start, end, *rights in cases:
        case = f"grant-{name}"
        output.begin(case, comment)
        given = b"" if rights[0] is None else b"".join(conditions(pairs) for pairs in rights)
        flags = b"\0" if rights[0] is None else b"\1"
        output.bytes(f"{case}.grant", signed(statement(start, end, flags, given)))
        for part, data in [("authoritySeed", SEED), ("authority", public_key(SEED)),
                           ("database", DATABASE), ("peer", PEER)]:
            output.bytes(f"{case}.{part}", data)
        output.lines += [f"{case}.from = {start}", f"{case}.until = {end}"]
        if rights[0] is not None:
            for part, pairs in zip(["read", "write"], rights):
                output.text(f"{case}.{part}", b"".join(
                    text(name) + text(rule) for name, rule in pairs))
    wrong = [
        ("magic", "something else", b"SHGS" + signed(statement())[4:]),
        ("version", "another version", signed(statement(version=2))),
        ("times", "an end before its start", signed(statement(8, 7))),
        ("flags", "flags that there are not", signed(statement(flags=b"\2"))),
        ("order", "collections out of their order",
         signed(statement(flags=b"\1", rights=conditions([(b"b", b""), (b"a", b"")]) + b"\0"))),
        ("twice", "a collection twice",
         signed(statement(flags=b"\1", rights=conditions([(b"a", b""), (b"a", b"")]) + b"\0"))),
        ("name", "a name that is no text",
         signed(statement(flags=b"\1", rights=conditions([(b"\xff", b"")]) + b"\0"))),
        ("long-name", "a name that is too long",
         signed(statement(flags=b"\1", rights=conditions([(b"a" * 1_025, b"")]) + b"\0"))),
        ("long-rule", "a condition that is too long",
         signed(statement(flags=b"\1", rights=conditions([(b"a", b"b" * 4_097)]) + b"\0"))),
        ("count", "more collections than there may be",
         signed(statement(flags=b"\1", rights=varint(1_025) + b"\0\0" * 1_025 + b"\0"))),
        ("long", "a grant that is too long",
         signed(statement(flags=b"\1", rights=conditions(
             [(bytes([letter]), b"b" * 4_096) for letter in range(97, 105)]) + b"\0"))),
        ("more", "something behind the signature", signed(statement()) + b"\0"),
        ("end", "a signature that is cut off", signed(statement())[:-1]),
    ]
    for name, comment, data in wrong:
        output.begin(f"grant-{name}", comment)
        output.bytes(f"grant-{name}.refusedGrant", data)
    right = signed(statement())
    unsigned = [
        ("other", "a grant that another authority has signed", signed(statement(), bytes(32))),
        ("plain", "a signature without the words before it",
         statement() + sign(SEED, statement())),
        ("changed", "a changed time", right[:86] + bytes([right[86] ^ 1]) + right[87:]),
        ("zeros", "a signature of zeros", statement() + bytes(64)),
    ]
    for name, comment, data in unsigned:
        output.begin(f"unsigned-{name}", comment)
        output.bytes(f"unsigned-{name}.unsigned", data)


if __name__ == "__main__":
    sys.exit(vector_text.main("network.txt", HEAD, proofs, greetings, grants))
