"""Builds many mutants into one program, in which an environment variable selects one."""

import bisect
import json
import os
import subprocess
from collections import defaultdict

import sources
import switches

VARIABLE = "SHEAF_MUTANT"
# Names the file in which a process marks the mutants that it reaches, with a byte for each.
REACHED = "SHEAF_MUTANTS_REACHED"
MODULE = "MutantSwitch"
HEADER = """\
extern const int selectedMutant;
extern unsigned char *reachedMutants;

static inline _Bool isMutant(int number) {
    if (reachedMutants) { reachedMutants[number] = 1; }
    return number == selectedMutant;
}
"""
# A mapped file, because child processes mark theirs in it too, and processes may be killed.
SOURCE = f"""\
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int selectedMutant;
unsigned char *reachedMutants;

__attribute__((constructor)) static void readMutant(void) {{
    const char *number = getenv("{VARIABLE}");
    selectedMutant = number ? atoi(number) : 0;
    const char *path = getenv("{REACHED}");
    int file = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    struct stat status;
    if (file < 0 || fstat(file, &status) != 0) {{ return; }}
    void *bytes = mmap(NULL, status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (bytes != MAP_FAILED) {{ reachedMutants = bytes; }}
    close(file);
}}
"""
# Maximum number of builds; after each, the mutants that do not compile are removed.
MAXIMUM_BUILDS = 60
# Ends each line that a mutant adds; a plain newline replaces it when the text is complete.
ADDED = b"\0\n"


class Failure(Exception):
    """An error that prevents a run."""


class Program:
    """A copy of the sources with mutants, and its build."""

    def __init__(self, directory, traits):
        self.pristine = os.path.join(directory, "pristine")
        self.copy = os.path.join(directory, "copy")
        self.scratch = os.path.join(directory, "build")
        self.known = os.path.join(directory, "unbuilt.json")
        self.durations = os.path.join(directory, "durations.json")
        self.traits = traits
        # For each path, the numbers of the lines whose end the original does not have.
        self.added = {}

    def build(self, mutants):
        """Builds a program, and returns the mutants in it: those that compile."""
        unbuilt = self.unbuilt()
        mutants = [mutant for mutant in mutants if mutant.key not in unbuilt]
        for _ in range(MAXIMUM_BUILDS):
            sources.mirror(self.pristine, self.copy, self.files(mutants))
            output = self.compile()
            if output is None:
                return mutants
            kept, wrong = self.without_errors(mutants, output)
            print(f"  {len(mutants) - len(kept)} mutants do not compile", flush=True)
            unbuilt.update(mutant.key for mutant in wrong)
            with open(self.known, "w") as file:
                json.dump(sorted(unbuilt), file)
            mutants = kept
        raise Failure("the program with mutants does not build:\n" + output[-2_000:])

    def unbuilt(self):
        """Returns the keys of mutants that did not compile in earlier runs."""
        text = sources.read(self.known)
        return set(json.loads(text)) if text else set()

    def compile(self):
        """Builds the tests; returns the output if that fails."""
        command = ["swift", "build", "--build-tests", "--scratch-path", self.scratch]
        command += ["--traits", ",".join(self.traits)]
        # Otherwise the compiler reports the errors of some files only.
        command += ["-Xswiftc", "-continue-building-after-errors"]
        built = subprocess.run(
            command, cwd=self.copy, env=sources.build_environment(), capture_output=True, text=True)
        return built.stdout + built.stderr if built.returncode != 0 else None

    def files(self, mutants):
        """Returns the text of each file that differs from the pristine sources."""
        by_path = defaultdict(list)
        for mutant in mutants:
            by_path[mutant.site["path"]].append(mutant)
        result = {path: self.text(path, of_path) for path, of_path in by_path.items()}
        package = sources.read(os.path.join(self.pristine, "Package.swift"))
        result["Package.swift"] = switches.manifest(package, MODULE)
        result[f"{MODULE}/include/{MODULE}.h"] = HEADER
        result[f"{MODULE}/{MODULE}.c"] = SOURCE
        return result

    def text(self, path, mutants):
        """Returns a source with mutants, and remembers the lines that it adds."""
        original = sources.read(os.path.join(self.pristine, path)).encode()
        # A site precedes those it contains.
        ordered = sorted(mutants, key=lambda each: (each.site["start"], -each.site["end"]))
        text = written(original, 0, len(original), ordered)
        lines = text.split(b"\n")
        self.added[path] = [
            number for number, line in enumerate(lines, 1) if line.endswith(ADDED[:1])]
        # Default arguments of public functions need a public import.
        return text.replace(ADDED, b"\n").decode() + f"\npublic import {MODULE}\n"

    def without_errors(self, mutants, output):
        """Returns the mutants without those that a build may not compile, and those it does not."""
        errors = sources.errors(output, self.copy)
        by_path = defaultdict(list)
        for mutant in mutants:
            by_path[mutant.site["path"]].append(mutant)
        # Mutants that may cause errors, and the only ones on the line of one.
        removed, wrong = set(), []
        for path, line, _ in errors:
            of_path = by_path.get(path, [])
            line -= bisect.bisect_left(self.added.get(path, []), line)
            # An error may be reported at another line of the declaration, or elsewhere in the file.
            of_line = [each for each in of_path if line in lines_of(each)]
            if len(of_line) == 1:
                wrong += of_line
            removed.update(numbers(
                of_line
                or [each for each in of_path if within(line, each.site["declaration"])]
                or of_path))
        if not removed:
            # A crash of the compiler names no line, but all files that it compiled.
            named = [mutant for mutant in mutants if mutant.site["path"] in output]
            removed.update(numbers(named[:(len(named) + 1) // 2]))
        if not removed:
            raise Failure("the sources do not build:\n" + output[-2_000:])
        return [mutant for mutant in mutants if mutant.number not in removed], wrong


def numbers(mutants):
    return [mutant.number for mutant in mutants]


def lines_of(mutant):
    first = mutant.site["line"]
    return range(first, first + mutant.site["before"].count("\n") + 1)


def within(line, limits):
    return limits[0] <= line <= limits[1]


def written(original, start, end, mutants):
    """Returns part of a source with the mutants in it, which are in order of their sites."""
    pieces, position, index = [], start, 0
    while index < len(mutants):
        mutant, site = mutants[index], mutants[index].site
        index += 1
        inner = []
        while index < len(mutants) and mutants[index].site["start"] < site["end"]:
            inner.append(mutants[index])
            index += 1
        pieces.append(original[position:site["start"]])
        text = written(original, site["start"], site["end"], inner)
        pieces.append(switched(mutant, text))
        position = site["end"]
    return b"".join([*pieces, original[position:end]])


def switched(mutant, text):
    """Returns the text of a site, and of a mutant of it, as one text that selects between them."""
    condition, change = f"isMutant({mutant.number})".encode(), mutant.change.encode()
    form = mutant.site["form"]
    if form == "expression":
        return b"(%s ? (%s) : (%s))" % (condition, change.replace(b"\n", ADDED), text)
    if form == "removal":
        return b"if !%s { %s }" % (condition, text)
    return b" if %s { %s };%s" % (condition, change, text)
