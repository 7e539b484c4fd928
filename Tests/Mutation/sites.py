"""The parts of the sources that mutants change, found by a program that uses SwiftSyntax."""

import json
import os
import random
import subprocess
from dataclasses import dataclass

import sources

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = ["SwiftSyntax", "SwiftParser", "SwiftOperators"]
# Conditions of `#if` that are true on the platform of this run.
CONDITIONS = [
    "os(Linux)", "DEBUG", "canImport(Glibc)", "canImport(Glibc) || canImport(Musl)", "canImport(FoundationEssentials)",
    "!canImport(Darwin)"]
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
    found = subprocess.run(
        [finder, root, *CONDITIONS, *traits, *[f"!{trait}" for trait in absent]], input="\n".join(paths) + "\n", check=True,
        capture_output=True, text=True)
    return [json.loads(line) for line in found.stdout.splitlines()]


def draw(found, count, seed):
    """Returns mutants of a random selection of sites; equal seeds select equal mutants."""
    randomness = random.Random(seed)
    drawn = randomness.sample(found, min(count, len(found)))
    return [
        Mutant(number, site, randomness.choice(site["changes"]))
        for number, site in enumerate(drawn, 1)]
