/// Functions that build strings.
extension Reference {
    static let textMakingFunctions: [ReferenceEntry] = [
        ReferenceEntry(
            .function, "concat",
            syntax: [
                "concat(text...)"
            ],
            summary: "Joins strings.",
            details: [
                """
                Unlike `||`, it takes any number of strings from one on. The result of all \
                functions on strings has at most 16 MiB.
                """
            ],
            examples: [
                .value("concat('a', 'b', 'c')", "\"abc\""),
                .value("concat('a', 1)", "MISSING"),
                .value("concat('a', NULL)", "null"),
            ]),
        ReferenceEntry(
            .function, "joinstr",
            syntax: [
                "joinstr(separator, text...)"
            ],
            summary: """
                Joins strings, and the elements of arrays of strings, with a \
                separator between them.
                """,
            details: [
                """
                It is the inverse of `split`. An element that is no string yields MISSING; \
                a null element yields NULL.
                """
            ],
            examples: [
                .value("joinstr('-', 'a', 'b')", "\"a-b\""),
                .value("joinstr(', ', ['a', 'b'], 'c')", "\"a, b, c\""),
                .value("joinstr('-', 'a', NULL)", "null"),
                .value("joinstr('-', 'a', 1)", "MISSING"),
            ]),
        ReferenceEntry(
            .function, "lpad",
            syntax: [
                "lpad(text, length[, padding])"
            ],
            summary: """
                Pads the start of a string to a number of characters, with spaces by \
                default.
                """,
            details: [
                "A longer text is cut to the length. An empty padding adds nothing."
            ],
            examples: [
                .value("lpad('7', 3, '0')", "\"007\""),
                .value("lpad('hello', 3)", "\"hel\""),
                .value("lpad('a', 3, '')", "\"a\""),
            ]),
        ReferenceEntry(
            .function, "rpad",
            syntax: [
                "rpad(text, length[, padding])"
            ],
            summary: """
                Pads the end of a string to a number of characters, with spaces by \
                default.
                """,
            details: [
                "A longer text is cut to the length. An empty padding adds nothing."
            ],
            examples: [
                .value("rpad('7', 3, '.')", "\"7..\"")
            ]),
        ReferenceEntry(
            .function, "repeat",
            syntax: [
                "repeat(text, count)"
            ],
            summary: "Repeats a string; a count of zero or less yields the empty string.",
            examples: [
                .value("repeat('ab', 3)", "\"ababab\""),
                .value("repeat('ab', -1)", "\"\""),
            ]),
        ReferenceEntry(
            .function, "replace",
            syntax: [
                "replace(text, old, new)"
            ],
            summary: "Replaces all occurrences of a string from left to right.",
            details: [
                "An empty old string matches nothing."
            ],
            examples: [
                .value("replace('a-b-c', '-', '+')", "\"a+b+c\""),
                .value("replace('abc', '', '+')", "\"abc\""),
            ]),
    ]
}
