#!/usr/bin/env python3
"""Checks the arrows between the folders of each target: code names only what lies below it.

`.ci/folders` lists the folders of each target from bottom to top, and the exceptions. Prints a line
for each finding, such as a use that points upward, and fails if there is one. Before that it checks
itself: a wrong arrangement must be found, and a correct one accepted.

Names are compared as text. A type counts if one file of the target declares its name. The same
holds for a member, a nested type and a function that no imported target declares; without a dot,
they count only in a file that gives the name no other meaning. So an upward use of a common name
such as `count` is missed.
"""

import bisect
import re
import subprocess
import sys

ORDERS = ".ci/folders"

# Members and nested types of the standard library and Foundation that a target may declare, too.
STANDARD = set("""
    abs add address alignment allocate allSatisfy append appending assign base baseAddress
    bindMemory bitPattern bitWidth boolValue capacity clear close code compactMap compare components
    contains count data date deallocate debugDescription decode deinitialize description distance
    doubleValue drop dropFirst dropLast Element elements encode encodeNil endIndex enumerated
    enumerator Error exit Failure filter first firstIndex flatMap flush forEach formUnion get hash
    hashValue hasPrefix hasSuffix host id Index index indices initialize insert inserted
    intersection invalidate isEmpty isFinite isInfinite isLess isLetter isMultiple isNaN isNumber
    isSubset isWhitespace Iterator joined Key key keys last lastIndex left listen load
    localizedDescription lock lowercased magnitude makeAsyncIterator makeIterator map max maximum
    merge message min minimum minus mutableSpan name next number offset partition path pointee
    pointer popFirst popLast port prefix print quotientAndRemainder randomElement rawValue read
    reduce relaxed remaining remove removeAll removeFirst removeLast removeSubrange removeValue
    repeating replace replaceSubrange reserveCapacity Result resume reversed right rounded run
    seconds send shuffled sign signum size sleep sort sorted span split squareRoot start startIndex
    starts state status stop storeBytes stringValue subtract subtracting suffix sum swapAt text time
    title trimmingPrefix type unicodeScalars union unlock update updateValue uppercased url utf16
    utf8 Value value values wait withLock withUnsafeBytes words write yield zip
""".split())

TYPES = {"struct", "class", "enum", "actor", "protocol", "extension"}
TUPLES = re.compile(r"(?<![\w`?!>)\]])\(\s*(?=\w+: )([^()]*(?:\([^()]*\)[^()]*)*)\)")
NAMES = re.compile(r"[A-Za-z_]\w*|[{}()\[\],=\n.:`@#]")


def code(text):
    """Returns the text with spaces for comments and string literals, and code in interpolations."""
    parts, index = [], 0
    start = re.compile(r'//|/\*|#*"')
    while True:
        found = start.search(text, index)
        if not found:
            return "".join(parts) + text[index:]
        parts.append(text[index:found.start()])
        if found.group() == "//":
            end = text.find("\n", found.start())
            index = len(text) if end < 0 else end
            continue
        if found.group() == "/*":
            end = text.find("*/", found.start() + 2)
            index = len(text) if end < 0 else end + 2
            parts.append(blank(text[found.start():index]))
            continue
        literal, index = string(text, found.start())
        parts.append(literal)


def blank(text):
    """Returns a space and the line ends of the text."""
    return " " + "\n" * text.count("\n")


def string(text, index):
    """Returns the code in the string literal at `index`, and the offset after it."""
    hashes = re.compile("#*").match(text, index).group()
    index += len(hashes)
    quotes = '"""' if text.startswith('"""', index) else '"'
    interesting = re.compile(rf'\\{hashes}\(|\\{hashes}.|{quotes}{hashes}|\n', re.S)
    parts, index = [" "], index + len(quotes)
    while True:
        found = interesting.search(text, index)
        if not found:
            return "".join(parts), len(text)
        index = found.end()
        if found.group().endswith("("):
            end = parenthesis_end(text, index)
            parts += [" (", code(text[index:end])]
            index = end
        elif found.group().startswith(quotes):
            return "".join(parts) + " ", index
        else:
            parts.append(blank(found.group()))


def parenthesis_end(text, index):
    """Returns the offset after the parenthesis that closes the one before `index`."""
    depth, interesting = 1, re.compile(r'[()]|#*"')
    while depth > 0:
        found = interesting.search(text, index)
        if not found:
            return len(text)
        index = found.end()
        if found.group().endswith('"'):
            _, index = string(text, found.start())
        else:
            depth += 1 if found.group() == "(" else -1
    return index


def is_name(token):
    return token[0].isalpha() or token[0] == "_"


IMPORT = r"^ *(?:@?\w+ )*import (?:(?:struct|class|enum|protocol) )?(\w+)(?:\.\w+)*$"


class File:
    """The names that a file declares and uses.

    `types` and `members` can be used in other files: types at top level, and everything else.
    `own` are all names that it declares. `labels` are those of its tuples.
    """

    def __init__(self, text):
        self.code = code(text)
        self.imports = set(re.findall(IMPORT, self.code, re.M))
        self.code = re.sub(IMPORT, "", self.code, flags=re.M)
        # The names of conditions are those of package traits.
        self.code = re.sub(r"^ *#(?:if|elseif) .*$", "", self.code, flags=re.M)
        self.types, self.members, self.own = set(), set(), set()
        self.labels = set(re.findall(r"(\w+): ", " ".join(TUPLES.findall(self.code))))
        self.declare(NAMES.findall(self.code))

    def declare(self, tokens):
        """Finds the declarations outside of functions."""
        scopes, pending, is_private = [("type", False)], None, False
        for index, word in enumerate(tokens, 1):
            if word == "{":
                scopes.append(pending or ("code", False))
                pending, is_private = None, False
            elif word == "}":
                if len(scopes) > 1:
                    scopes.pop()
                is_private = False
            elif word in ("private", "fileprivate"):
                is_private = tokens[index:index + 1] != ["("]
            elif scopes[-1][0] == "type" and (index < 2 or tokens[index - 2] not in (".", "`")):
                hidden = is_private or scopes[-1][1]
                names = self.names(tokens, index, word)
                if word in TYPES and names:
                    pending = ("type", hidden)
                if names:
                    is_private = False
                if word == "extension":
                    continue
                self.own.update(names)
                if not hidden:
                    is_type = word in TYPES and len(scopes) == 1
                    (self.types if is_type else self.members).update(names)

    @staticmethod
    def names(tokens, index, keyword):
        """Returns the names that a declaration with this keyword declares."""
        while index < len(tokens) and tokens[index] == "`":
            index += 1
        if index >= len(tokens) or not is_name(tokens[index]):
            return []
        name = tokens[index]
        if keyword in TYPES:
            return [] if name in ("func", "var", "let", "subscript", "init") else [name]
        if keyword in ("func", "typealias", "associatedtype"):
            return [name]
        if keyword not in ("var", "let", "case"):
            return []
        # Other names may follow a comma, on the same line: `let length = 8, kind = 12`.
        found, depth = [name], 0
        for position in range(index + 1, len(tokens) - 1):
            word = tokens[position]
            depth += (word in "([") - (word in ")]")
            if word in "\n{}" and depth <= 0:
                break
            if word == "," and depth == 0 and is_name(tokens[position + 1]):
                found.append(tokens[position + 1])
        return found

    def uses(self, names):
        """Yields the line and name of each use of one of the names."""
        ends = None
        for found in re.finditer(r"(\.?)`?\b([A-Za-z_]\w*)\b", self.code):
            name = found.group(2)
            if name not in names or name in self.own:
                continue
            # Without a dot, a lowercase name is a variable, more often than not.
            if not name[0].isupper() and not found.group(1):
                if name.islower() or self.is_local(name):
                    continue
            if ends is None:
                ends = [end.start() for end in re.finditer("\n", self.code)]
            yield bisect.bisect_left(ends, found.start(2)) + 1, name

    def is_local(self, name):
        """Whether a parameter, variable or function in the file has the name."""
        return re.search(
            rf"\b(let|var|func|for|case|in) {name}\b|\b{name}:|\b{name}\b[\w, )]* in\b"
            rf"|\b(let|var|for|case) \([^)]*\b{name}\b", self.code) is not None


class Order:
    """The folders of a target from bottom to top, and the arrows that may point upward."""

    def __init__(self, folders):
        self.folders, self.exceptions = folders, set()


def folder(path):
    """Returns the folder of a file in its target: `Sources/TARGET/FOLDER/...`."""
    parts = path.split("/")
    return parts[2] if len(parts) > 3 else "."


def target(path):
    return path.split("/")[1]


def visible(name, files):
    """Returns the targets that a target imports, directly or indirectly."""
    found, waiting = set(), [name]
    while waiting:
        lower = waiting.pop()
        for path, file in files.items():
            if target(path) == lower:
                waiting += file.imports - found
                found |= file.imports
    return found - {name}


def arrows(name, order, files):
    """Yields (path, line, name, path of the declaration) for each use that points upward."""
    own = {path: file for path, file in files.items() if target(path) == name}
    below = visible(name, files)
    taken = set(STANDARD)
    for path, file in files.items():
        if target(path) in below:
            taken |= file.types | file.members
    owners = {}
    for path, file in own.items():
        taken |= file.labels
        for declared in file.types | file.members:
            owners.setdefault(declared, []).append(path)
    # Types of the target hide those of the targets that it imports.
    for path, file in own.items():
        taken -= file.types
    height = {folder: index for index, folder in enumerate(order.folders)}
    for path, file in sorted(own.items()):
        higher = {
            declared: paths[0] for declared, paths in owners.items()
            if len(paths) == 1 and declared not in taken
            and height.get(folder(paths[0]), -1) > height.get(folder(path), len(height))}
        for line, used in file.uses(higher):
            yield path, line, used, higher[used]


def read_orders(text):
    """Returns the orders, the targets that have none yet, and findings.

    A line `TARGET: FOLDER FOLDER ...` lists the folders of a target from bottom to top; `.` is the
    folder of the target. Indented lines `FILE -> FILE: REASON` below it are its exceptions. A line
    `unordered: TARGET TARGET ...` lists the targets without an order.
    """
    orders, unordered, findings, order = {}, set(), [], None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        arrow = re.fullmatch(r" +(\S+) -> (\S+): (\S.*\.)", line)
        listed = re.fullmatch(r"(\w+):((?: \S+)+)", line)
        if arrow and order:
            order.exceptions.add(arrow.groups()[:2])
        elif listed and listed.group(1) == "unordered":
            unordered.update(listed.group(2).split())
        elif listed:
            order = orders[listed.group(1)] = Order(listed.group(2).split())
        else:
            findings.append(
                f"{ORDERS}:{number}: neither `TARGET: FOLDERS` nor `  FILE -> FILE: REASON.`")
    return orders, unordered, findings


def check(text, files):
    """Yields a line for each finding in the files."""
    orders, unordered, findings = read_orders(text)
    yield from findings
    folders = {}
    for path in files:
        folders.setdefault(target(path), set()).add(folder(path))
    for name in sorted(unordered & set(orders)):
        yield f"{ORDERS}: {name} has an order, and is listed as unordered"
    for name in sorted((unordered | set(orders)) - set(folders)):
        yield f"{ORDERS}: there is no target {name}"
    for name in sorted(set(folders) - unordered - set(orders)):
        if folders[name] != {"."}:
            yield f"{ORDERS}: the folders of {name} have no order"
    for name, order in orders.items():
        if name not in folders:
            continue
        for missing in sorted(folders[name] - set(order.folders)):
            yield f"{ORDERS}: {name}/{missing} is missing in the order"
        for surplus in sorted(set(order.folders) - folders[name]):
            yield f"{ORDERS}: there is no folder {name}/{surplus}"
        used = set()
        for path, line, declared, owner in arrows(name, order, files):
            start = len(f"Sources/{name}/")
            if (path[start:], owner[start:]) in order.exceptions:
                used.add((path[start:], owner[start:]))
            else:
                yield f"{path}:{line}: {declared} -> {owner}"
        for lower, upper in sorted(order.exceptions - used):
            yield f"{ORDERS}: {name} needs no exception for {lower} -> {upper}"


PLANTED_ORDER = "A: Low High\n  Low/Allowed.swift -> High/Top.swift: A reason.\n"
PLANTED_HIGH = """
/// A type.
public struct Top { enum Kind { case planted(Int), second }; static let first = 1, other = 2 }
extension Low { package func rise(by steps: Int) {} }
private struct Hidden { var concealed = 0 }
func callGlobally() {}
"""
# Code next to PLANTED_HIGH, and the number of upward uses that must be found in it.
PLANTED_USES = [
    ("let top: Top? = nil", 1), ("let kind = Low.Kind.second", 2), ("low.rise(by: 1)", 1),
    ("_ = callGlobally()", 1), ('let text = "\\(low.rise(by: 1))"', 1), ("x = y.other", 1),
    ("// The Top.", 0), ('let text = "Top"', 0), ('let text = #"\\(low.rise(by: 1))"#', 0),
    ("/* Top */", 0), ("#if Top\n#endif", 0), ("let rise = 1; f(rise: rise)", 0), ("let other = 2", 0),
    ("let hidden = Hidden()", 0), ("x.concealed = 1", 0),
    ("private struct Top {}; let top = Top()", 0),
    ("let rise = f; rise(2)", 0), ('let a = """\n  Top\n  """', 0), ("let count = a.count", 0),
]


def check_itself():
    def planted(order=PLANTED_ORDER, **texts):
        files = {"Sources/A/High/Top.swift": PLANTED_HIGH,
                 "Sources/A/Low/Low.swift": "struct Low {}\n",
                 "Sources/A/Low/Allowed.swift": "let top = Top()\n"}
        files |= {path.replace("_", "/") + ".swift": text for path, text in texts.items()}
        return list(check(order, {path: File(text) for path, text in files.items()}))

    if planted():
        sys.exit(f"folders: a correct arrangement is refused: {planted()}")
    for text, count in PLANTED_USES:
        found = planted(Sources_A_Low_Planted=f"\nfunc f() {{\n{text}\n}}\n"
                        if "struct" not in text else text)
        if len(found) != count:
            sys.exit(f"folders: {count} upward arrows expected in: {text}: {found}")
        if count and not found[0].startswith("Sources/A/Low/Planted.swift:3: "):
            sys.exit(f"folders: the line of an arrow is wrong: {found}")
        if planted(Sources_A_High_Planted=f"func f() {{\n{text}\n}}\n") and "struct" not in text:
            sys.exit(f"folders: an arrow within a folder is refused: {text}")
    wrong = {
        "a target without order": planted(Sources_B_Low_One="", Sources_B_High_Two=""),
        "a folder without order": planted(Sources_A_Other_One=""),
        "a folder that does not exist": planted(PLANTED_ORDER.replace("High", "High None", 1)),
        "a target that does not exist": planted(PLANTED_ORDER + "B: Low\n"),
        "an exception without need": planted(
            PLANTED_ORDER + "  Low/Low.swift -> High/Top.swift: A reason.\n"),
        "an exception without reason": planted(
            PLANTED_ORDER + "  Low/Low.swift -> High/Top.swift\n"),
    }
    for text, found in wrong.items():
        if len(found) != 1:
            sys.exit(f"folders: {text} must be found once: {found}")
    lower = planted(Sources_B_One="struct Other { func rise() {} }\n",
                    Sources_A_Low_Planted="import B\nlet risen = Other().rise()\n")
    if lower:
        sys.exit(f"folders: a name of an imported target is refused: {lower}")


def main():
    check_itself()
    paths = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "Sources"],
        capture_output=True, text=True, check=True).stdout.split("\n")
    files = {}
    for path in paths:
        if path.endswith(".swift"):
            try:
                files[path] = File(open(path, encoding="utf-8").read())
            except FileNotFoundError:
                continue
    with open(ORDERS, encoding="utf-8") as orders:
        found = list(check(orders.read(), files))
    print("\n".join(found), end="\n" if found else "")
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
