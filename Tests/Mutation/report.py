"""The results of a run: a file in JSON and a page in Markdown."""

import json
import os
from collections import defaultdict

import sources

HERE = os.path.dirname(os.path.abspath(__file__))
EQUIVALENT = os.path.join(HERE, "equivalent.json")
KILLED, SURVIVED, UNREACHED, EQUAL = "killed", "survived", "not reached", "equivalent"


class Equivalents:
    """Mutants that change nothing that a program promises, each with the reason."""

    def __init__(self, root):
        self.root = root
        with open(EQUIVALENT) as file:
            self.known = {
                (entry["path"], entry["line"], entry["change"]): entry["reason"]
                for entry in json.load(file)}

    def reason(self, mutant):
        return self.known.get((mutant.site["path"], self.line(mutant), mutant.described()))

    def line(self, mutant):
        """Returns the first line of a site, which names it better than a number would."""
        text = sources.read(os.path.join(self.root, mutant.site["path"]))
        return text.split("\n")[mutant.site["line"] - 1].strip()


def entry(mutant, status, **more):
    """Returns the result of a mutant."""
    return {
        "number": mutant.number, "target": mutant.target, "path": mutant.site["path"],
        "line": mutant.site["line"], "kind": mutant.site["kind"], "change": mutant.described(),
        "status": status, **more}


def score(entries):
    """Returns the numbers of killed mutants, and of those that are not equivalent."""
    killed = sum(each["status"] == KILLED for each in entries)
    return killed, sum(each["status"] != EQUAL for each in entries)


def percent(entries):
    killed, all_of_them = score(entries)
    return f"{100 * killed / all_of_them:.1f} %" if all_of_them else "-"


def grouped(entries, key):
    groups = defaultdict(list)
    for each in entries:
        groups[each[key]].append(each)
    return sorted(groups.items())


def page(result):
    """Returns the page of a result."""
    entries = result["mutants"]
    killed, all_of_them = score(entries)
    equal = len(entries) - all_of_them
    lines = [
        "# Mutants", "",
        f"{len(entries)} mutants of {result['sites']} sites, drawn with seed {result['seed']}: "
        f"{killed} killed of {all_of_them} that are not equivalent, {percent(entries)}; "
        f"{equal} equivalent. {result['seconds'] / 60:.0f} minutes.", ""]
    for key in ("target", "kind"):
        lines += [f"| {key} | mutants | killed | survived | not reached | equivalent | score |"]
        lines += ["|---|--:|--:|--:|--:|--:|--:|"]
        for name, group in grouped(entries, key):
            counts = [
                sum(each["status"] == status for each in group)
                for status in (KILLED, SURVIVED, UNREACHED, EQUAL)]
            numbers = " | ".join(map(str, counts))
            lines.append(f"| {name} | {len(group)} | {numbers} | {percent(group)} |")
        lines.append("")
    lines += ["## Survivors", ""]
    for path, group in grouped(entries, "path"):
        for each in sorted(group, key=lambda each: each["line"]):
            if each["status"] in (SURVIVED, UNREACHED):
                note = "" if each["status"] == SURVIVED else " (no test reaches it)"
                lines.append(f"- {path}:{each['line']} `{each['change']}`{note}")
    lines += ["", "## Equivalent mutants", ""]
    for each in entries:
        if each["status"] == EQUAL:
            lines.append(f"- {each['path']}:{each['line']} `{each['change']}`: {each['reason']}")
    return "\n".join(lines) + "\n"


def write(result, directory):
    """Writes the result of a run."""
    os.makedirs(directory, exist_ok=True)
    with open(os.path.join(directory, "mutants.json"), "w") as file:
        json.dump(result, file, indent=1, ensure_ascii=False)
    with open(os.path.join(directory, "mutants.md"), "w") as file:
        file.write(page(result))
