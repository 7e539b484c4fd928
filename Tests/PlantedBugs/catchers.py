"""Tests and checks that catch bugs: their commands, time limits and reports."""

import os
import re
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass

from switches import VARIABLE

# Time limit of a catcher with a bug: a multiple of its duration without one, plus some seconds.
TIMEOUT_FACTOR, MINIMUM_SECONDS = 5, 120
# Time limit of a catcher without a bug, in seconds.
LONGEST = 3_600
# The arguments of `sheaf-check` for each catcher that is not a test.
CHECKS = {
    "crashes": ["simulate", "crashes", "--images", "{images}"],
    "flips": ["simulate", "flips", "--stride", "7", "--bytes", "131072"],
    "truncations": ["simulate", "truncations", "--stride", "7", "--bytes", "131072"],
    "blocks": ["simulate", "blocks", "--bytes", "131072"],
    "faults": ["simulate", "faults", "--stride", "3"],
    "histories": ["merges", "--histories", "400"],
    "triples": ["merges", "--triples", "20000"],
    "deltas": ["merges", "--deltas", "10000"],
    "lives": ["merges", "--lives", "30"],
    "damage": ["merges", "--damage", "7"],
    "queries": ["queries", "--queries", "60000", "--partition", "2000"],
    "observed": ["queries", "--observed", "40000"],
    "mesh": ["mesh", "--meshes", "150"],
    "isolation": ["isolation", "--transactions", "40000"],
}
# Verbs of `sheaf-check` that trap on unreadable documents, so that a trap also catches a bug.
TRAPPING = ["merges", "isolation"]


def command_of(catcher, scratch, options):
    if is_test(catcher):
        # Without `swift test`, which lets only one process use a scratch path.
        bundle = os.path.join(scratch, "debug", "sheafPackageTests.xctest")
        return [bundle, "--testing-library", "swift-testing", "--filter", catcher[5:]]
    command = [os.path.join(scratch, "release", "sheaf-check"), *CHECKS[catcher]]
    command += ["--seed", str(options.seed)]
    return [part.format(images=options.images) for part in command]


def is_test(catcher):
    return catcher.startswith("test ")


def members(session):
    """Returns the ids of all running processes of a session, and of their descendants."""
    command = ["ps", "-e", "-o", "pid=,ppid=,sid=,stat="]
    rows = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
    rows = [line.split() for line in rows]
    rows = [[int(word) for word in row[:3]] for row in rows if not row[3].startswith("Z")]
    found = {pid for pid, _, its_session in rows if its_session == session}
    while True:
        more = {pid for pid, parent, _ in rows if parent in found} - found
        if not more:
            return found
        found |= more


def end(session):
    """Kills a catcher and its descendants, which may be in other process groups."""
    while left := members(session):
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


@dataclass(frozen=True)
class Outcome:
    """The output of a catcher, its exit code (None if killed), and its duration in seconds."""

    output: str
    code: int | None
    seconds: float

    def is_caught(self, catcher):
        may_trap = is_test(catcher) or CHECKS[catcher][0] in TRAPPING
        return self.code is None or self.code == 1 or self.code < 0 and may_trap


def run(catcher, copied, scratch, options, limit, bug=0):
    """Runs a catcher with the bug of this number switched on; 0 is no bug."""
    command = command_of(catcher, scratch, options)
    environment = dict(os.environ, SWIFT_BACKTRACE="enable=no")
    environment[VARIABLE] = str(bug)
    started = time.monotonic()
    # A file, because a pipe stays open while any descendant has it.
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        process = subprocess.Popen(
            command, cwd=copied, env=environment, stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, start_new_session=True)
        try:
            code = process.wait(timeout=limit)
        except subprocess.TimeoutExpired:
            code = None
        finally:
            end(process.pid)
            process.wait()
        output.seek(0)
        return Outcome(output.read(), code, time.monotonic() - started)


def reason(output):
    """Returns the first reported failure, or the end of the output, shortened."""
    for line in output.splitlines():
        for start in ("violation: ", "difference: "):
            if line.startswith(start):
                return line[len(start):][:110]
        if "Fatal error: " in line:
            return line.split("Fatal error: ", 1)[1][:110]
        if "recorded an issue" in line:
            return line.split("recorded an issue", 1)[1][:110]
    return output.strip()[-110:].replace("\n", " ")


def images(output):
    found = re.search(r"^(\d+) images of", output, re.MULTILINE)
    return found.group(1) if found else "-"
