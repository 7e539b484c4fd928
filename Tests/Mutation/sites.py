"""The parts of the sources that mutants change, found by a program that uses SwiftSyntax."""

import hashlib
import itertools
import json
import os
import subprocess
from collections import defaultdict
from dataclasses import dataclass

import sources

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = ["SwiftSyntax", "SwiftParser", "SwiftOperators"]
# Conditions of `#if` that are true on the platform of this run.
CONDITIONS = [
    "os(Linux)", "DEBUG", "canImport(Glibc)", "canImport(Glibc) || canImport(Musl)",
    "canImport(FoundationEssentials)", "!canImport(Darwin)"]
# Texts of the language reference.
EXCLUDED = ["SheafReference"]


class Missing(Exception):
    """An error: the toolchain has no modules of SwiftSyntax, or the finder does not build."""


@dataclass(frozen=True)
class Mutant:
    """A change of one site; the number selects it when the program runs."""

    number: int
    site: dict
    change: str

    @property
    def target(self):
        return self.site["path"].split("/")[1]

    @property
    def key(self):
        """A text that names the mutant in other runs, while its file stays the same."""
        return f"{self.site['path']}:{self.site['start']}: {self.described()}"

    def described(self):
        return described(self.site, self.change)


def described(site, change):
    """Returns a change on one line."""
    before, after = (" ".join(text.split()) for text in (site["before"], change))
    kind = site["kind"]
    if kind == "early return":
        return kind
    return f"{kind}: {before}" if kind == "statement removed" else f"{kind}: {before} → {after}"


def build_finder(directory):
    """Builds the program that finds sites, and returns its path."""
    asked = subprocess.run(
        ["swift", "-print-target-info"], capture_output=True, text=True, check=True)
    host = os.path.join(json.loads(asked.stdout)["paths"]["runtimeResourcePath"], "host")
    for module in MODULES:
        if not os.path.exists(os.path.join(host, f"{module}.swiftmodule")):
            raise Missing(
                f"the toolchain has no module {module} in {host}; "
                "the toolchains of swift.org for Linux have it")
    folder = os.path.join(HERE, "Finder")
    files = sorted(os.path.join(folder, name) for name in os.listdir(folder))
    finder = os.path.join(directory, "finder")
    command = ["swiftc", "-O", "-swift-version", "6", *files, "-I", host, "-L", host, "-o", finder]
    command += [f"-l{module}" for module in MODULES] + ["-Xlinker", "-rpath", "-Xlinker", host]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode != 0:
        raise Missing(f"the program that finds sites does not build:\n{built.stderr}")
    return finder


def find(finder, root, traits, absent):
    """Returns all sites of the sources that are compiled with traits, in the order of paths."""
    folder = os.path.join(root, "Sources")
    paths = sorted(
        os.path.join("Sources", name) for name in sources.files_of(folder)
        if name.endswith(".swift") and name.split(os.sep)[0] not in EXCLUDED)
    conditions = [*CONDITIONS, *traits, *[f"!{trait}" for trait in absent]]
    found = subprocess.run(
        [finder, root, *conditions], input="\n".join(paths) + "\n", check=True,
        capture_output=True, text=True)
    result = [json.loads(line) for line in found.stdout.splitlines()]
    for path, of_path in itertools.groupby(result, lambda site: site["path"]):
        lines = sources.read(os.path.join(root, path)).split("\n")
        for site in of_path:
            # Other changes of a file seldom change the text of a line.
            site["text"] = lines[site["line"] - 1].strip()
    return result


def draw(found, count, seed):
    """Returns mutants of a random selection of sites; equal seeds select equal mutants.

    Each site has a rank of its own, so that a change of the sources exchanges few mutants.
    """
    ranked, occurrences = [], defaultdict(int)
    for site in found:
        name = "\0".join(site[key] for key in ("path", "text", "kind", "before"))
        occurrences[name] += 1
        digest = hashlib.sha256(f"{seed}\0{name}\0{occurrences[name]}".encode()).digest()
        ranked.append((digest, site))
    ranked.sort(key=lambda each: each[0])
    return [
        Mutant(number, site, site["changes"][digest[-1] % len(site["changes"])])
        for number, (digest, site) in enumerate(ranked[:count], 1)]
