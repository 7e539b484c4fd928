"""Copies of the sources, patches applied to them, and their builds."""

import filecmp
import os
import re
import shutil
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
COPIED = ["Package.swift", "Package.resolved", "Sources", "Tests", "format-spec"]


def copy(target):
    """Copies the sources of this repository."""
    os.makedirs(target)
    for name in COPIED:
        source = os.path.join(ROOT, name)
        if os.path.isdir(source):
            shutil.copytree(source, os.path.join(target, name), symlinks=True)
        elif os.path.exists(source):
            shutil.copy2(source, os.path.join(target, name))


def read(path):
    """Returns the text of a file, or None if there is none."""
    try:
        with open(path) as file:
            return file.read()
    except FileNotFoundError:
        return None


def mirror(source, target, changed):
    """Makes a directory equal to another, except for changed files."""
    for name in files_of(target):
        if not os.path.lexists(os.path.join(source, name)) and name not in changed:
            os.remove(os.path.join(target, name))
    for name in files_of(source):
        path, copied = os.path.join(source, name), os.path.join(target, name)
        # Equal files are kept, because builds are incremental.
        if name in changed or os.path.exists(copied) and filecmp.cmp(path, copied, shallow=False):
            continue
        os.makedirs(os.path.dirname(copied), exist_ok=True)
        shutil.copy2(path, copied)
    write(target, changed)


def files_of(directory):
    for folder, _, names in os.walk(directory):
        for name in names:
            yield os.path.relpath(os.path.join(folder, name), directory)


def write(target, files):
    """Writes the files that differ, and removes those without a text."""
    for name, text in files.items():
        path = os.path.join(target, name)
        if text == read(path):
            continue
        if text is None:
            os.remove(path)
            continue
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)


def patch_of(bug):
    return os.path.join(HERE, "patches", f"{bug}.patch")


def catcher_of(bug):
    return re.search(r"^Caught by: (.+)$", read(patch_of(bug)), re.MULTILINE).group(1)


def patched(bug, pristine):
    """Returns the files of a bug as its patch leaves them, and the complaints of `git`."""
    patch = patch_of(bug)
    names = set(re.findall(r"^(?:---|\+\+\+) [ab]/(\S+)", read(patch), re.MULTILINE))
    with tempfile.TemporaryDirectory(prefix="sheaf-patched-") as directory:
        write(directory, {name: read(os.path.join(pristine, name)) for name in names})
        # git must not apply the patch to a repository that contains the directory.
        environment = dict(os.environ, GIT_CEILING_DIRECTORIES=os.path.dirname(directory))
        applied = subprocess.run(
            ["git", "apply", "--whitespace=nowarn", patch], cwd=directory, env=environment,
            capture_output=True, text=True)
        files = {name: read(os.path.join(directory, name)) for name in names}
    return files, applied.stderr if applied.returncode != 0 else None


def build_environment():
    """Returns the environment of a build.

    Before version 6.4, the package manager passes the names of traits in an order that depends on
    hash values. In another order than before, all modules would be compiled again.
    """
    return dict(os.environ, SWIFT_DETERMINISTIC_HASHING="1")


def build(copied, scratch, for_tests):
    """Builds the tests, or the tool that runs long checks; returns the output if that fails."""
    command = ["swift", "build", "--scratch-path", scratch]
    command += ["--build-tests"] if for_tests else ["-c", "release", "--product", "sheaf-check"]
    built = subprocess.run(
        command, cwd=copied, env=build_environment(), capture_output=True, text=True)
    return built.stdout + built.stderr if built.returncode != 0 else None


def errors(output, copied):
    """Returns the paths, lines and texts of the errors of a build."""
    found = re.findall(r"^(/\S+?\.swift):(\d+):\d+: error: (.*)", output, re.MULTILINE)
    copied = os.path.realpath(copied)
    return [
        (os.path.relpath(os.path.realpath(path), copied), int(line), text)
        for path, line, text in found]
