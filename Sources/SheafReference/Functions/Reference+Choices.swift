/// Functions that choose a value or test for MISSING and NULL.
extension Reference {
    static let choiceFunctions: [ReferenceEntry] = [
        ReferenceEntry(
            .function, "coalesce",
            syntax: [
                "coalesce(value...)"
            ],
            summary: """
                Returns the first value that is neither missing nor null; NULL if \
                there is none.
                """,
            examples: [
                .value("coalesce(MISSING, NULL, 3)", "3"),
                ReferenceExample(
                    "SELECT _id, coalesce(owner, 'unsold') AS owner FROM cars ORDER BY _id",
                    [
                        "{\"_id\":\"a\",\"owner\":\"ann\"}", "{\"_id\":\"b\",\"owner\":\"bob\"}",
                        "{\"_id\":\"c\",\"owner\":\"unsold\"}",
                    ]),
            ]),
        ReferenceEntry(
            .function, "ifmissingornull",
            syntax: [
                "ifmissingornull(value...)"
            ],
            summary: "Returns the same as `coalesce`.",
            examples: [
                .value("ifmissingornull(NULL, 'x')", "\"x\"")
            ]),
        ReferenceEntry(
            .function, "ifmissing",
            syntax: [
                "ifmissing(value...)"
            ],
            summary: "Returns the first value that is not missing, which may be null.",
            examples: [
                .value("ifmissing(MISSING, NULL, 3)", "null")
            ]),
        ReferenceEntry(
            .function, "ifnull",
            syntax: [
                "ifnull(value...)"
            ],
            summary: """
                Returns the first value that is not null, which may be missing; NULL \
                if all are null.
                """,
            examples: [
                .value("ifnull(NULL, 3)", "3"),
                .value("ifnull(MISSING, 3)", "MISSING"),
            ]),
        ReferenceEntry(
            .function, "nvl",
            syntax: [
                "nvl(value, otherwise)",
                "nvl(value, known, unknown)",
            ],
            summary: """
                Returns the value if it is neither missing nor null, and the second \
                argument otherwise.
                """,
            details: [
                """
                With three arguments, returns the second one if the value is known, and \
                the third one otherwise.
                """
            ],
            examples: [
                .value("nvl(NULL, 'none')", "\"none\""),
                .value("nvl(1, 'known', 'unknown')", "\"known\""),
            ]),
        ReferenceEntry(
            .function, "ismissing",
            syntax: [
                "ismissing(value)"
            ],
            summary: "Whether a value is missing; the same as `IS MISSING`.",
            examples: [
                ReferenceExample(
                    "SELECT _id FROM cars WHERE ismissing(tags)",
                    ["{\"_id\":\"c\"}"])
            ]),
        ReferenceEntry(
            .function, "isnull",
            syntax: [
                "isnull(value)"
            ],
            summary: "Whether a value is null; the same as `IS NULL`.",
            examples: [
                ReferenceExample(
                    "SELECT _id FROM cars WHERE isnull(owner)",
                    ["{\"_id\":\"c\"}"])
            ]),
        ReferenceEntry(
            .function, "ismissingornull",
            syntax: [
                "ismissingornull(value)"
            ],
            summary: "Whether a value is missing or null.",
            examples: [
                .value("ismissingornull(MISSING)", "true"),
                .value("ismissingornull(0)", "false"),
            ]),
        ReferenceEntry(
            .function, "nullif",
            syntax: [
                "nullif(value, other)"
            ],
            summary: "Returns NULL if two values are equal, and the first one otherwise.",
            examples: [
                .value("nullif('', '')", "null"),
                .value("nullif('a', '')", "\"a\""),
            ]),
        ReferenceEntry(
            .function, "missingif",
            syntax: [
                "missingif(value, other)"
            ],
            summary: "Returns MISSING if two values are equal, and the first one otherwise.",
            examples: [
                .value("missingif('', '')", "MISSING"),
                .value("missingif('a', '')", "\"a\""),
            ]),
        ReferenceEntry(
            .function, "decode",
            syntax: [
                "decode(value, candidate, result[, candidate, result]...[, default])"
            ],
            summary: """
                Returns the result after the first candidate that equals a value; \
                otherwise the default, or NULL.
                """,
            details: [
                "Unlike in CASE, null matches null, and missing matches missing."
            ],
            examples: [
                .value("decode(2, 1, 'one', 2, 'two')", "\"two\""),
                .value("decode(9, 1, 'one', 'many')", "\"many\""),
                .value("decode(NULL, NULL, 'nothing')", "\"nothing\""),
            ]),
    ]
}
