/// Functions that search, split, trim and compare strings.
extension Reference {
    static let textFunctions: [ReferenceEntry] = [
        ReferenceEntry(
            .function, "byte_length",
            syntax: [
                "byte_length(text)"
            ],
            summary: "Returns the number of bytes of a string in UTF-8.",
            examples: [
                .value("byte_length('café')", "5")
            ]),
        ReferenceEntry(
            .function, "char_length", aliases: ["character_length"],
            syntax: [
                "char_length(text)",
                "character_length(text)",
            ],
            summary: "Returns the number of characters of a string.",
            details: [
                "A character is a Unicode scalar: `é` may be one or two, and a flag is two."
            ],
            examples: [
                .value("char_length('café')", "4"),
                .value("char_length(12)", "MISSING"),
            ]),
        ReferenceEntry(
            .function, "contains",
            syntax: [
                "contains(text, part)"
            ],
            summary: "Whether a string contains another one.",
            details: [
                """
                Strings are compared as bytes: case matters, and there is no \
                normalization. The empty string is in every string.
                """
            ],
            examples: [
                .value("contains('database', 'base')", "true"),
                .value("contains('database', 'Base')", "false"),
            ]),
        ReferenceEntry(
            .function, "starts_with",
            syntax: [
                "starts_with(text, start)"
            ],
            summary: "Whether a string starts with another one.",
            details: [
                """
                A condition on an indexed field with a constant start reads only that \
                range of the index.
                """
            ],
            examples: [
                .value("starts_with('database', 'data')", "true")
            ]),
        ReferenceEntry(
            .function, "ends_with",
            syntax: [
                "ends_with(text, end)"
            ],
            summary: "Whether a string ends with another one.",
            examples: [
                .value("ends_with('database', 'base')", "true")
            ]),
        ReferenceEntry(
            .function, "regexp_like",
            syntax: [
                "regexp_like(text, pattern[, flag]...)"
            ],
            summary: "Whether any part of a string matches a regular expression.",
            details: [
                """
                Flags: `i` ignores case, `m` lets `^` and `$` match at line breaks, `s` \
                lets a dot match a line break, and `x` ignores spaces and comments in the \
                pattern. One string may contain several flags, and there may be up to four \
                strings. An invalid pattern or flag is an error. Matching does not \
                backtrack: its time is linear in the length of the text.
                """
            ],
            examples: [
                .value("regexp_like('order 66', '[0-9]+')", "true"),
                .value("regexp_like('Order', '^o', 'i')", "true"),
                .value("regexp_like('order', '^[0-9]+$')", "false"),
            ]),
        ReferenceEntry(
            .function, "lower",
            syntax: [
                "lower(text)"
            ],
            summary: "Returns a string with each letter in lower case.",
            examples: [
                .value("lower('CAFÉ')", "\"café\"")
            ]),
        ReferenceEntry(
            .function, "upper",
            syntax: [
                "upper(text)"
            ],
            summary: "Returns a string with each letter in upper case.",
            details: [
                "One letter may become several: `ß` becomes `SS`."
            ],
            examples: [
                .value("upper('straße')", "\"STRASSE\"")
            ]),
        ReferenceEntry(
            .function, "substr",
            syntax: [
                "substr(text, start[, length])"
            ],
            summary: "Returns the part of a string from a character, counted from zero.",
            details: [
                """
                Without a length, the part reaches to the end. A negative start counts \
                from the end of the text. A start beyond the end, or a negative length, \
                yields the empty string. Start and length must be integers: `2.0` yields \
                MISSING.
                """
            ],
            examples: [
                .value("substr('hello', 1)", "\"ello\""),
                .value("substr('hello', 1, 3)", "\"ell\""),
                .value("substr('hello', -2)", "\"lo\""),
                .value("substr('hello', 9)", "\"\""),
                .value("substr('hello', 1, -1)", "\"\""),
                .value("substr('hello', 1.0)", "MISSING"),
            ]),
        ReferenceEntry(
            .function, "pos",
            syntax: [
                "pos(text, part)"
            ],
            summary: """
                Returns the position of the first occurrence of a part, counted from \
                zero; -1 if there is none.
                """,
            examples: [
                .value("pos('hello', 'l')", "2"),
                .value("pos('hello', 'x')", "-1"),
            ]),
        ReferenceEntry(
            .function, "position",
            syntax: [
                "position(part IN text)"
            ],
            summary: "Returns the same as `pos(text, part)`.",
            examples: [
                .value("position('l' IN 'hello')", "2")
            ]),
        ReferenceEntry(
            .function, "split",
            syntax: [
                "split(text[, separator])"
            ],
            summary: "Returns the parts of a string between separators as an array.",
            details: [
                """
                Without a separator, the text is split at white space and empty parts are \
                omitted. An empty separator splits it into characters. The result has at \
                most 1048576 elements.
                """
            ],
            examples: [
                .value("split('a,b,,c', ',')", "[\"a\",\"b\",\"\",\"c\"]"),
                .value("split('  two  words ')", "[\"two\",\"words\"]"),
                .value("split('abc', '')", "[\"a\",\"b\",\"c\"]"),
            ]),
        ReferenceEntry(
            .function, "ltrim",
            syntax: [
                "ltrim(text[, characters])"
            ],
            summary: """
                Removes white space, or the given characters, from the start of a \
                string.
                """,
            examples: [
                .value("ltrim('  a ')", "\"a \""),
                .value("ltrim('xxyax', 'xy')", "\"ax\""),
            ]),
        ReferenceEntry(
            .function, "rtrim",
            syntax: [
                "rtrim(text[, characters])"
            ],
            summary: """
                Removes white space, or the given characters, from the end of a \
                string.
                """,
            examples: [
                .value("rtrim(' a  ')", "\" a\""),
                .value("rtrim('a00', '0')", "\"a\""),
            ]),
        ReferenceEntry(
            .function, "trim",
            syntax: [
                "trim(text[, characters])",
                "TRIM([BOTH | LEADING | TRAILING] [characters] FROM text)",
            ],
            summary: """
                Removes white space, or the given characters, from both ends of a \
                string, or from one of them.
                """,
            examples: [
                .value("trim('  a  ')", "\"a\""),
                .value("trim('--a--', '-')", "\"a\""),
                .value("TRIM(LEADING '0' FROM '007')", "\"7\""),
            ]),
    ]
}
