"""The results of a run: a file in JSON and a page in Markdown."""

import json
import os
from collections import defaultdict

import sites

HERE = os.path.dirname(os.path.abspath(__file__))
EQUIVALENT = os.path.join(HERE, "equivalent.json")
KILLED, SURVIVED, UNREACHED, EQUAL = "killed", "survived", "not reached", "equivalent"


class Equivalents:
    """Mutants that change nothing that a program promises, each with the reason.

    An entry names the first line of its site, which changes less often than its number. Of several
    equal changes of equal lines in a file, `occurrence` says which one is meant; the first is 1.
    """

    def __init__(self, found):
        with open(EQUIVALENT) as file:
            self.known = {
                (*[entry[name] for name in ("path", "line", "change")], entry.get("occurrence", 1)):
                entry["reason"] for entry in json.load(file)}
        # The positions of each change of each line, in the order of the source.
        self.positions = defaultdict(list)
        paths = {path for path, *_ in self.known}
        for site in found:
            if site["path"] in paths:
                for change in site["changes"]:
                    self.positions[self.key(site, change)].append(site["start"])

    def reason(self, mutant):
        """Returns the reason why a mutant is equivalent, or None."""
        site = mutant.site
        key = self.key(site, mutant.change)
        if site["start"] not in self.positions[key]:
            return None
        return self.known.get((*key, self.positions[key].index(site["start"]) + 1))

    def unmatched(self):
        """Returns the entries that no change of the compiled sources has."""
        compiled = {path for path, *_ in self.positions}
        return [
            key for key in self.known
            if key[0] in compiled and len(self.positions[key[:3]]) < key[3]]

    def key(self, site, change):
        return site["path"], site["text"], sites.described(site, change)


class Earlier:
    """The report of an earlier run, whose survivors run again.

    Mutants are the same if their path, the text of their line, and their change are.
    """

    def __init__(self, path):
        with open(path) as file:
            self.result = json.load(file)
        self.known = defaultdict(list)
        for each in self.result["mutants"]:
            self.known[each["path"], each["text"], each["change"]].append(each)

    def killed(self, mutant):
        """Returns the earlier result of a mutant if it was killed, or None."""
        found = self.known[mutant.site["path"], mutant.site["text"], mutant.described()]
        return found[0] if found and all(each["status"] == KILLED for each in found) else None


def entry(mutant, status, **more):
    """Returns the result of a mutant."""
    return {
        "number": mutant.number, "target": mutant.target, "path": mutant.site["path"],
        "line": mutant.site["line"], "text": mutant.site["text"], "kind": mutant.site["kind"], "change": mutant.described(),
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
        f"{len(entries)} of {result['count']} mutants, drawn with seed {result['seed']} from "
        f"{result['sites']} sites: "
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
                ran, reaching = each["suites"]
                note = f" ({ran} of {reaching} suites ran)" if ran < reaching else ""
                note = note if reaching else " (no test reaches it)"
                lines.append(f"- {path}:{each['line']} `{each['change']}`{note}")
    lines += ["", "## Suites that fail without mutants, and are not used", ""]
    lines += [f"- {name}: {reason}" for name, reason in sorted(result["failing"].items())]
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
