"""Creates an operator, an account and a user of NATS, as `nsc` does.

Prints lines for the configuration of a broker that trusts the operator, and writes `user.creds`, the
credentials of the user, to the directory that is the argument. Needs `openssl`.
"""

import base64
import json
import os
import subprocess
import sys

# The kinds of keys, from which their first letters follow.
OPERATOR, ACCOUNT, USER, SEED = 14 << 3, 0, 20 << 3, 18 << 3
# The bytes before a private key of Ed25519 in DER.
PRIVATE = bytes.fromhex("302e020100300506032b657004220420")


def openssl(*arguments, given=None):
    run = subprocess.run(["openssl", *arguments], input=given, capture_output=True, check=True)
    return run.stdout


def text(data):
    """Returns bytes in base 32 with their checksum."""
    remainder = 0
    for byte in data:
        remainder ^= byte << 8
        for _ in range(8):
            remainder = (remainder << 1 ^ (0x1021 if remainder & 0x8000 else 0)) & 0xFFFF
    return base64.b32encode(data + remainder.to_bytes(2, "little")).decode().rstrip("=")


class Key:
    def __init__(self, kind, path):
        seed = os.urandom(32)
        self.path = path
        with open(self.path, "wb") as file:
            file.write(PRIVATE + seed)
        public = openssl(
            "pkey", "-in", self.path, "-inform", "DER", "-pubout", "-outform", "DER")[-32:]
        self.name = text(bytes([kind]) + public)
        self.seed = text(bytes([SEED | kind >> 5, (kind & 31) << 3]) + seed)

    def sign(self, subject, name, claims):
        """Returns a token in which this key names another one."""
        parts = [
            {"typ": "JWT", "alg": "ed25519-nkey"},
            {"jti": name, "iat": 1, "iss": self.name, "name": name, "sub": subject.name,
             "nats": {"version": 2, **claims}},
        ]
        signed = b".".join(
            base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in parts)
        message = self.path + ".message"
        with open(message, "wb") as file:
            file.write(signed)
        signature = openssl(
            "pkeyutl", "-sign", "-inkey", self.path, "-keyform", "DER", "-rawin", "-in", message)
        return (signed + b"." + base64.urlsafe_b64encode(signature).rstrip(b"=")).decode()


def main(directory):
    operator, system, account, user = (
        Key(kind, os.path.join(directory, f"{number}.der"))
        for number, kind in enumerate((OPERATOR, ACCOUNT, ACCOUNT, USER)))
    limits = dict.fromkeys(
        ("subs", "data", "payload", "imports", "exports", "conn", "leaf", "mem_storage",
         "disk_storage", "streams", "consumer"), -1)
    limits["wildcards"] = True
    trust = operator.sign(operator, "operator", {"type": "operator"})
    accepted = operator.sign(account, "account", {"type": "account", "limits": limits})
    own = operator.sign(system, "system", {"type": "account"})
    token = account.sign(
        user, "user",
        {"type": "user", "pub": {}, "sub": {}, "subs": -1, "data": -1, "payload": -1})
    print(f"operator: {trust}\nsystem_account: {system.name}\nresolver: MEMORY")
    print(f"resolver_preload {{ {system.name}: {own}, {account.name}: {accepted} }}")
    with open(os.path.join(directory, "user.creds"), "w") as file:
        file.write(
            f"-----BEGIN NATS USER JWT-----\n{token}\n------END NATS USER JWT------\n\n"
            f"-----BEGIN USER NKEY SEED-----\n{user.seed}\n------END USER NKEY SEED------\n")


main(sys.argv[1])
