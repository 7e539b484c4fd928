"""Builds many planted bugs into one program, in which an environment variable selects one.

A function that a patch changes has several bodies: the original, and one with each bug. The program
reads the number of the bug from the environment when it starts, and executes the body of that bug:

    func depth() -> Int {
        if plantedBug == 12 { return 0 } else { return 1 + below.depth() }
    }
"""

import os
import re
from collections import defaultdict

import bodies
import sources

VARIABLE = "SHEAF_PLANTED_BUG"
HEADER = "extern const int plantedBug;\n"
# Read before `main`, so that a switch costs one comparison.
SOURCE = f"""\
#include <stdlib.h>

int plantedBug;

__attribute__((constructor)) static void readPlantedBug(void) {{
    const char *text = getenv("{VARIABLE}");
    plantedBug = text ? atoi(text) : 0;
}}
"""
# A value of a constant or a property on one line.
VALUE = re.compile(r"^( *(?:[\w@()]+ )*(?:let|var) [^={]*= )([^{]+?)$")
# Where Package.swift sets what all targets have.
TARGETS = "for target in package.targets where target.type != .system {\n"


class NotSwitchable(Exception):
    """An error: a bug changes more than the bodies of functions and values on one line."""


def outside(text, found):
    """Returns the lines of a file without its bodies."""
    pieces, position = [], 0
    for body in found:
        pieces.append(text[position:body.start])
        position = body.end
    return "\n//@body\n".join([*pieces, text[position:]]).split("\n")


class Program:
    """Sources with all bugs; a bug is named by its number."""

    def __init__(self, pristine):
        self.pristine = pristine
        # The text and the bodies of each original file.
        self.originals = {}
        # For each path, the changed bodies and lines: their text for each bug.
        self.changed = defaultdict(lambda: (defaultdict(dict), defaultdict(dict)))

    def add(self, bug, files):
        """Adds the files of a bug, or raises `NotSwitchable`."""
        changes = [
            (path, kind, key, text) for path, changed in files.items()
            for kind, key, text in self._changes(path, changed)]
        for path, kind, key, text in changes:
            self.changed[path][kind][key][bug] = text

    def remove(self, bug):
        for kinds in self.changed.values():
            for texts in kinds:
                for key in [key for key, known in texts.items() if bug in known]:
                    del texts[key][bug]
                    if not texts[key]:
                        del texts[key]

    def _original(self, path):
        if path not in self.originals:
            text = sources.read(os.path.join(self.pristine, path))
            if text is None:
                raise NotSwitchable("adds a file")
            self.originals[path] = text, bodies.split(text)
        return self.originals[path]

    def _changes(self, path, changed):
        """Yields (0, index, text) of changed bodies, and (1, index, value) of changed lines."""
        if not path.endswith(".swift") or path == "Package.swift":
            raise NotSwitchable("changes a file other than Swift sources")
        if changed is None:
            raise NotSwitchable("removes a file")
        original, before = self._original(path)
        after = bodies.split(changed)
        lines, their_lines = outside(original, before), outside(changed, after)
        if len(before) != len(after) or len(lines) != len(their_lines):
            raise NotSwitchable("changes declarations")
        for number, (line, their_line) in enumerate(zip(lines, their_lines)):
            if line == their_line:
                continue
            value, their_value = VALUE.match(line), VALUE.match(their_line)
            if not value or not their_value or value.group(1) != their_value.group(1):
                raise NotSwitchable("changes a declaration")
            yield 1, number, their_value.group(2)
        for index, (body, their_body) in enumerate(zip(before, after)):
            text = changed[their_body.start:their_body.end]
            if text != original[body.start:body.end]:
                yield 0, index, text

    def files(self):
        """Returns the text of each file that differs from the pristine sources."""
        result = {path: self._text(path) for path, kinds in self.changed.items() if any(kinds)}
        package = sources.read(os.path.join(self.pristine, "Package.swift"))
        result["Package.swift"] = manifest(package)
        result["PlantedBug/include/PlantedBug.h"] = HEADER
        result["PlantedBug/PlantedBug.c"] = SOURCE
        return result

    def _text(self, path):
        original, found = self._original(path)
        texts, values = self.changed[path]
        lines = outside(original, found)
        for number, bugs in values.items():
            start, value = VALUE.match(lines[number]).groups()
            for bug, text in bugs.items():
                value = f"plantedBug == {bug} ? ({text}) : ({value})"
            lines[number] = f"{start}{value}  //@value {' '.join(map(str, bugs))}"
        pieces = "\n".join(lines).split("\n//@body\n")
        result = ["import PlantedBug\n", pieces[0]]
        for index, body in enumerate(found):
            text = original[body.start:body.end]
            if index in texts:
                text = chain(text, texts[index], body.returns)
            result += [text, pieces[index + 1]]
        return "".join(result)


def chain(original, texts, returns):
    """Returns a body that executes one of several, with marks for `bugs_at`."""
    result = [f"\n//@bodies {' '.join(map(str, texts))}\n"]
    for bug, text in texts.items():
        text = bodies.explicit(text, returns)
        result.append(f"if plantedBug == {bug} {{\n//@bug {bug}\n{text}\n//@done\n}} else ")
    result.append(f"{{\n{bodies.explicit(original, returns)}\n}}\n//@end\n")
    return "".join(result)


def bugs_at(text, line):
    """Returns the bugs that a line of generated source belongs to; the first line is 1."""
    lines = text.split("\n")[:line]
    if value := re.search(r"//@value ([\d ]+)$", lines[-1]):
        return numbers(value.group(1))
    bugs, of_chain = [], []
    for each in lines:
        mark = re.match(r"//@(bodies|bug|done|end)((?: \d+)*)$", each)
        if mark and mark.group(1) in ("bodies", "end"):
            bugs = of_chain = numbers(mark.group(2))
        elif mark:
            bugs = numbers(mark.group(2)) or of_chain
    return bugs


def numbers(text):
    return [int(word) for word in text.split()]


def manifest(text, module="PlantedBug"):
    """Returns a package manifest in which all targets import a module of C."""
    if text.count(TARGETS) != 1:
        raise ValueError("Package.swift has no loop over all targets")
    use = f'    if target.name != "{module}" {{ target.dependencies.append("{module}") }}\n'
    text = text.replace("    .treatAllWarnings(as: .error),\n", "").replace(TARGETS, TARGETS + use)
    own = f'.target(name: "{module}", path: "{module}")'
    return text.replace("    targets: [\n", f"    targets: [\n        {own},\n", 1)
