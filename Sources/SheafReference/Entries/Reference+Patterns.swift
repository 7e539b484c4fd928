/// Operators that match strings with patterns.
extension Reference {
    static let patternOperators: [ReferenceEntry] = [
        ReferenceEntry(
            .operator, "LIKE", aliases: ["NOT LIKE", "ESCAPE"],
            syntax: [
                "text [NOT] LIKE pattern [ESCAPE character]"
            ],
            summary: """
                Whether a complete string matches a pattern: `%` is any text, and `_` \
                one character.
                """,
            details: [
                """
                No character is an escape unless ESCAPE names one. A pattern such as \
                `'abc%'` uses an index on the field.
                """
            ],
            examples: [
                .value("'database' LIKE 'data%'", "true"),
                .value("'cat' LIKE 'c_t'", "true"),
                .value("'100%' LIKE '100!%' ESCAPE '!'", "true"),
                ReferenceExample(
                    "SELECT _id FROM cars WHERE color NOT LIKE 'b%'",
                    ["{\"_id\":\"b\"}"]),
            ]),
        ReferenceEntry(
            .operator, "ILIKE", aliases: ["NOT ILIKE"],
            syntax: [
                "text [NOT] ILIKE pattern [ESCAPE character]"
            ],
            summary: "LIKE that ignores case.",
            examples: [
                .value("'Database' ILIKE 'DATA%'", "true"),
                .value("'Database' LIKE 'DATA%'", "false"),
            ]),
        ReferenceEntry(
            .operator, "SIMILAR TO", aliases: ["NOT SIMILAR TO", "SIMILAR"],
            syntax: [
                "text [NOT] SIMILAR TO pattern [ESCAPE character]"
            ],
            summary: """
                Whether a complete string matches a pattern of LIKE wildcards with \
                `|`, `*`, `+`, `?`, `{n}`, `( )` and `[ ]`.
                """,
            details: [
                """
                The time of a match is linear in the length of the text, as for all \
                patterns.
                """
            ],
            examples: [
                .value("'abab' SIMILAR TO '(ab)+'", "true"),
                .value("'a7' SIMILAR TO '[a-c][0-9]'", "true"),
                .value("'xabab' SIMILAR TO '(ab)+'", "false"),
            ]),
    ]
}
