"""The suites of tests: which mutants each reaches, and which mutants they kill."""

import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass

import catchers
from program import REACHED, VARIABLE

# A process gets this multiple of the duration of its suites without a mutant, plus some seconds.
TIMEOUT_FACTOR, MINIMUM_SECONDS = 6, 30
# Time limit of a suite without a mutant, in seconds.
LONGEST = 900
# Number of attempts to run a suite without a mutant.
RECORDINGS = 2
# Durations of suites that share a process, in seconds; the start of a process takes some of its own.
SHARED_SECONDS = 2.5
# Interval in which the output of a process is searched for failures, in seconds.
POLL_SECONDS = 0.05
TIME_LIMIT = "time limit"
# Memory of a process in bytes, because a mutant may allocate without end.
MAXIMUM_MEMORY = 8 << 30
# Time for the descendants of an ended process to end, in seconds: they stop servers, for example.
GRACE_SECONDS = 5
FAILURE = re.compile(r"recorded an issue|Fatal error: |^violation: |^difference: ", re.MULTILINE)


@dataclass(frozen=True)
class Suite:
    """A suite of tests, or a check: its duration without a mutant, and the mutants it reaches.

    Only checks have a command of their own.
    """

    name: str
    command: tuple | None
    seconds: float
    reached: frozenset


@dataclass(frozen=True)
class Verdict:
    """The suites of the run that killed a mutant and their failure, or None; what it took."""

    names: list | None
    failure: str | None
    seconds: float
    # Number of suites that ran.
    count: int


@dataclass(frozen=True)
class Outcome:
    """The result of a process: its failure or None, and its duration in seconds."""

    failure: str | None
    seconds: float
    # Whether the process ended by a signal.
    is_trap: bool


class Runner:
    """Runs suites of a program."""

    def __init__(self, program, directory, variables):
        self.program = program
        self.directory = directory
        # Environment variables for all processes.
        self.variables = variables
        self.bundle = os.path.join(program.scratch, "debug", "sheafPackageTests.xctest")

    def names(self):
        """Returns the names of all suites."""
        listed = subprocess.run(
            [self.bundle, "--testing-library", "swift-testing", "--list-tests"],
            cwd=self.program.copy, capture_output=True, text=True, check=True)
        return sorted({line.split("/")[0] for line in listed.stdout.splitlines() if "/" in line})

    def command(self, names):
        pattern = "|".join(re.escape(name) for name in names)
        return (self.bundle, "--testing-library", "swift-testing", "--filter", f"^({pattern})/")

    def record(self, name, command, count):
        """Runs a suite without a mutant; returns it, or the reason why it cannot be used."""
        for _ in range(RECORDINGS):
            with tempfile.NamedTemporaryFile(dir=self.directory) as marks:
                marks.truncate(count + 1)
                outcome = self.run(
                    command or self.command([name]), 0, LONGEST, {REACHED: marks.name})
                marks.seek(0)
                reached = frozenset(
                    number for number, mark in enumerate(marks.read()) if mark and number)
            if not outcome.failure:
                return Suite(name, command, outcome.seconds, reached)
        return outcome.failure

    def judge(self, mutant, suites, budget):
        """Runs suites with a mutant until one fails; returns a `Verdict`.

        Suites that together take more than the budget are not run.
        """
        spent, count = 0.0, 0
        for batch in batches(suites, budget):
            command = batch[0].command or self.command([suite.name for suite in batch])
            duration = sum(suite.seconds for suite in batch)
            limit = TIMEOUT_FACTOR * duration + MINIMUM_SECONDS
            outcome = self.run(command, mutant.number, limit)
            spent += outcome.seconds
            count += len(batch)
            if outcome.failure and self.is_confirmed(outcome, command, mutant.number, limit):
                return Verdict([suite.name for suite in batch], outcome.failure, spent, count)
        return Verdict(None, None, spent, count)

    def is_confirmed(self, outcome, command, number, limit):
        """Whether a failure is one of the mutant, and not of a busy machine."""
        if outcome.is_trap:
            return True
        if outcome.failure == TIME_LIMIT:
            return self.run(command, 0, limit).failure is None
        return self.run(command, number, limit).failure is not None

    def run(self, command, number, limit, variables={}):
        """Runs a command until it ends, reports a failure, or exceeds its time limit."""
        environment = dict(os.environ, SWIFT_BACKTRACE="enable=no", **self.variables)
        environment.update(variables)
        environment[VARIABLE] = str(number)
        # Files of killed processes would otherwise stay. A short path, because some are sockets.
        temporary = tempfile.mkdtemp(prefix="m")
        environment["TMPDIR"] = temporary
        started = time.monotonic()
        # A file, because a pipe stays open while any descendant has it.
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen(
                command, cwd=self.program.copy, env=environment, stdin=subprocess.DEVNULL,
                stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
                preexec_fn=limit_memory)
            try:
                failure = self.wait(process, output, started + limit)
                seconds = time.monotonic() - started
                is_trap = process.poll() is not None and process.returncode < 0
            finally:
                process.kill()
                process.wait()
                until = time.monotonic() + GRACE_SECONDS
                while catchers.members(process.pid) and time.monotonic() < until:
                    time.sleep(POLL_SECONDS)
                catchers.end(process.pid)
                end_orphans(number)
                shutil.rmtree(temporary, ignore_errors=True)
            return Outcome(failure, seconds, is_trap)

    def wait(self, process, output, end):
        """Returns the failure that a process reports, or None."""
        searched = 0
        while True:
            code = process.poll()
            length = os.fstat(output.fileno()).st_size
            if length > searched or code is not None:
                found = FAILURE.search(text_of(output, max(0, searched - 200)))
                searched = length
                if found:
                    return catchers.reason(text_of(output))
                if code is not None:
                    break
            if time.monotonic() > end:
                return TIME_LIMIT
            time.sleep(POLL_SECONDS)
        if code != 0:
            return f"exit code {code}: {catchers.reason(text_of(output))}"
        return None


def end_orphans(number):
    """Kills all processes with a mutant: one in a session of its own may outlive its parent."""
    wanted = f"{VARIABLE}={number}".encode()
    for pid in filter(str.isdigit, os.listdir("/proc") if number else ()):
        try:
            with open(f"/proc/{pid}/environ", "rb") as environment:
                found = wanted in environment.read().split(b"\0")
            if found:
                os.kill(int(pid), signal.SIGKILL)
        except OSError:
            pass


def limit_memory():
    resource.setrlimit(resource.RLIMIT_DATA, (MAXIMUM_MEMORY, MAXIMUM_MEMORY))


def text_of(output, start=0):
    # Read by its position, because the process appends to the same file description.
    size = os.fstat(output.fileno()).st_size
    return os.pread(output.fileno(), size - start, start).decode(errors="replace")


def batches(suites, budget):
    """Yields suites in groups for one process each, within a budget of seconds.

    Short suites that reach few mutants are first: they soon test the changed code, while suites that
    reach many mutants mostly test other code.
    """
    batch, duration, total = [], 0.0, 0.0
    for suite in sorted(suites, key=lambda each: each.seconds * len(each.reached)):
        if total and total + suite.seconds > budget:
            continue
        total += suite.seconds
        if batch and (suite.command or duration + suite.seconds > SHARED_SECONDS):
            yield batch
            batch, duration = [], 0.0
        batch.append(suite)
        duration += suite.seconds
        if suite.command:
            yield batch
            batch, duration = [], 0.0
    if batch:
        yield batch
