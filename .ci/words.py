#!/usr/bin/env python3
"""Checks the words of comments, test names, error and help texts, and pages.

Also checks the width of comments and the length of functions. Prints a line for each finding, and
fails if there is one. Before that it checks itself: each rule must find its planted case and accept
its correct counterpart.
"""

import re
import subprocess
import sys

MAXIMUM_COLUMNS = 100
MAXIMUM_FUNCTION_LINES = 60

# A rule: a pattern, the words to write instead, a planted case that must fail, and one that must
# pass.
RULES = [
    (r"\b(some|any|every)(body|one)\b|\bno ?body\b|\bwhoever\b|\bthose who\b",
     "name the peer, thread or caller", "Nobody waits.", "No thread waits."),
    (r"\b(he|she|his|him|hers|herself|himself)\b",
     "use `it` for threads and peers", "The peer sends his key.", "The peer sends its key."),
    (r"(?<!falls )(?<!falling )(?<!fell )(?<!lags )(?<!lag )(?<!far )\bbehind\b(?! the (local )?clock)",
     "write `after`", "The bytes behind the header.", "The bytes after the header."),
    (r"\bso (many|much|long)\b(?! as)", "write `maximum` or `number of`",
     "So many rows are kept.", "Maximum number of rows kept."),
    (r"\b(is|are|was|were) to be\b", "write `must`", "The record is to be cut.",
     "The record must be cut."),
    (r"\b(tell|tells|telling|told)\b(?! (apart|which|whether|the difference))",
     "write `return`, `send` or `report`", "The peer tells its clock.",
     "The peer sends its clock."),
    (r"\ba look\b|\blooks? at\b", "write `a check` or `a scan`", "A look at each row.",
     "A check of each row."),
    (r"\bat hand\b", "write `available` or `in memory`", "The bytes at hand.",
     "The bytes in memory."),
    (r"\blets? go of\b|\bletting go of\b", "write `release`", "Lets go of the lock.",
     "Releases the lock."),
    (r"\b(simply|seamless(ly)?|robust(ly)?)\b", "leave it out", "Simply returns it.",
     "Returns it."),
    (r"(?:^|[.:;] )(What|Who|Whom|Whose|Whoever) (?!if\b)[^?.]*[.]?$",
     "begin the sentence with its noun", "What comes is written by the log.",
     "Received data is written to the log."),
]

NAME_RULES = RULES + [
    (r"^(what|who|whom|whose|whoever)\b", "begin the name with its noun",
     "who was shown it receives it", "a peer that received it receives the deletion"),
]


def compiled(rules):
    return [(re.compile(pattern, re.IGNORECASE if "Who|" not in pattern else 0), advice)
            for pattern, advice, _, _ in rules]


PAGE_RULES_TEXT = RULES[:-1] + [
    (r"(?:^|[.:;] )(Who|Whom|Whose|Whoever) ", "begin the sentence with its noun",
     "Who writes passes the gate.", "A writer passes the gate."),
]

COMMENT_RULES = compiled(RULES)
PAGE_RULES = compiled(PAGE_RULES_TEXT)
TEST_RULES = compiled(NAME_RULES)


def check_itself():
    for rules, table in (
            (RULES, COMMENT_RULES), (NAME_RULES, TEST_RULES), (PAGE_RULES_TEXT, PAGE_RULES)):
        for (pattern, _, planted, correct), (rule, _) in zip(rules, table):
            if not rule.search(planted):
                sys.exit(f"words: the rule {pattern} does not find its planted case")
            if rule.search(correct):
                sys.exit(f"words: the rule {pattern} refuses its correct case")
    if not list(long_functions("func f() {\n" + "\n" * 60 + "}\n")):
        sys.exit("words: a function of 62 lines is accepted")
    if list(long_functions("func f() {\n" + "\n" * 58 + "}\n")):
        sys.exit("words: a function of 60 lines is refused")
    if len(list(page_findings("planted.md", "- Who waits.\n```\nnobody\n```\n"))) != 1:
        sys.exit("words: a page must be checked outside of its code")
    planted = "/// Nobody waits.\n@Test func `who waits`() { throw E(\"nobody waits\") }\n"
    if len(list(findings("planted.swift", planted, is_test=True))) != 3:
        sys.exit("words: a comment, a test name and an error text must be checked")
    if not list(findings("planted.swift", "// " + "a" * 98 + "\n", is_test=False)):
        sys.exit("words: a comment of 101 columns is accepted")


# The start of a comment, a string literal or a raw identifier of Swift.
TOKEN = re.compile(r'//|/\*|#{0,3}"|`')
HASHES = re.compile(r"#*")
# A character at which a string literal may end or have an escape.
SPECIAL = re.compile(r'["\\]')


def tokens(text):
    """Yields (kind, line, text) for comments, string literals and raw identifiers of Swift."""
    index, line, length = 0, 1, len(text)
    while match := TOKEN.search(text, index):
        line += text.count("\n", index, match.start())
        index = match.start()
        char = text[index]
        if text.startswith("//", index):
            end = text.find("\n", index)
            end = length if end < 0 else end
            yield "comment", line, text[index:end]
            index = end
        elif text.startswith("/*", index):
            end = text.find("*/", index)
            end = length if end < 0 else end + 2
            line += text.count("\n", index, end)
            index = end
        elif char in '"#':
            end = string_end(text, index)
            yield "string", line, text[index:end]
            line += text.count("\n", index, end)
            index = end
        else:
            end = text.find("`", index + 1)
            end = length if end < 0 else end + 1
            yield "name", line, text[index:end]
            index = end


def string_end(text, index):
    """Returns the offset after the string literal at `index`."""
    hashes = len(HASHES.match(text, index).group())
    index += hashes
    quote = '"""' if text.startswith('"""', index) else '"'
    index += len(quote)
    escape = "\\" + "#" * hashes
    while index < len(text):
        match = SPECIAL.search(text, index)
        if match is None:
            return len(text)
        index = match.start()
        if text.startswith(quote + "#" * hashes, index):
            return index + len(quote) + hashes
        if text.startswith(escape + "(", index):
            index = parenthesis_end(text, index + len(escape))
        elif text.startswith(escape, index):
            index += len(escape) + 1
        else:
            index += 1
    return index


def parenthesis_end(text, index):
    depth = 0
    while index < len(text):
        if text[index] == '"':
            index = string_end(text, index)
            continue
        depth += (text[index] == "(") - (text[index] == ")")
        index += 1
        if depth == 0:
            return index
    return index


def prose(comment):
    """Returns the sentences of a comment line, without code."""
    text = re.sub(r"^//+ ?", "", comment)
    return "" if text.startswith("    ") else re.sub(r"`[^`]*`", "x", text)


def findings(path, text, is_test):
    """Yields a line for each finding in a Swift file."""
    lines = text.split("\n")
    for kind, line, token in tokens(text):
        if kind == "comment":
            # A row of a documented result stays on one line, as it is printed.
            is_row = token.startswith("// {")
            if len(lines[line - 1]) > MAXIMUM_COLUMNS and not is_row:
                yield f"{path}:{line}: the comment exceeds {MAXIMUM_COLUMNS} columns"
            rules, words = COMMENT_RULES, prose(token)
        elif kind == "name":
            if " " not in token:
                continue
            rules, words = TEST_RULES, token.strip("`")
        else:
            if is_test and "throw" not in lines[line - 1] and "#expect" not in lines[line - 1]:
                continue
            # A statement of the query language is not a text for people.
            if re.search(r"\b(SELECT|INSERT|UPDATE|DELETE|FROM|WHERE)\b", token):
                continue
            rules, words = COMMENT_RULES, re.sub(r"\\\([^)]*\)", "x", token.strip('"#'))
        for rule, advice in rules:
            found = rule.search(words)
            if found:
                yield f"{path}:{line}: `{found.group().strip()[:40]}`: {advice}"


def page_findings(path, text):
    """Yields a line for each finding in a Markdown page, outside of code."""
    is_code = False
    for number, line in enumerate(text.split("\n"), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
            continue
        if is_code:
            continue
        # Bullets, cells and emphasized words begin sentences, too.
        words = re.sub(r"`[^`]*`", "x", line)
        words = re.sub(r"^[\s|*>-]+|\*\*", "", words)
        for rule, advice in PAGE_RULES:
            found = rule.search(words)
            if found:
                yield f"{path}:{number}: `{found.group().strip()[:40]}`: {advice}"


def long_functions(text):
    """Yields the line and length of each function that is too long."""
    code = list(text)
    index = 0
    starts = []
    for match in re.finditer(r"^( *)(?:[@\w()]+ )*(?:func\b|init\b|deinit\b)[^\n]*", text, re.M):
        starts.append((match.start(), match.group(1)))
    for start, indent in starts:
        first = text.count("\n", 0, start) + 1
        end = re.compile(r"^" + indent + r"\}", re.M).search(text, start)
        following = text.find("\n\n", start)
        if end is None:
            continue
        head = text[start:end.start()]
        if "{" not in head.split("\n\n")[0]:
            continue
        if text[start:text.find("\n", start)].rstrip().endswith("}"):
            continue
        count = text.count("\n", start, end.start()) + 1
        if count > MAXIMUM_FUNCTION_LINES:
            yield first, count


def main():
    check_itself()
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "Sources", "Tests",
         "Benchmarks", "format-spec", "README.md"], capture_output=True, text=True, check=True).stdout.split("\n")
    failed = False
    for path in names:
        if not path.endswith((".swift", ".md")):
            continue
        try:
            text = open(path, encoding="utf-8").read()
        except FileNotFoundError:
            continue
        if path.endswith(".md"):
            for finding in page_findings(path, text):
                print(finding)
                failed = True
            continue
        is_test = not path.startswith("Sources/")
        for finding in findings(path, text, is_test):
            print(finding)
            failed = True
        for line, count in long_functions(text):
            print(f"{path}:{line}: the function has {count} lines; "
                  f"{MAXIMUM_FUNCTION_LINES} are allowed")
            failed = True
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
