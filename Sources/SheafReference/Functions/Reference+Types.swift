/// Functions on the types of values.
extension Reference {
    static let typeFunctions: [ReferenceEntry] = [
        ReferenceEntry(
            .function, "type",
            syntax: [
                "type(value)"
            ],
            summary: """
                Returns the type of a value: boolean, string, integer, float, object, \
                array, binary, null or missing.
                """,
            examples: [
                .value("type(1)", "\"integer\""),
                .value("type(1.5)", "\"float\""),
                .value("type(MISSING)", "\"missing\""),
            ]),
        ReferenceEntry(
            .function, "json_type",
            syntax: [
                "json_type(value)"
            ],
            summary: """
                Returns the type of a value as `type` does, but `number` for integers \
                and floats.
                """,
            examples: [
                .value("json_type(1)", "\"number\""),
                .value("json_type('a')", "\"string\""),
            ]),
        ReferenceEntry(
            .function, "is_boolean",
            syntax: [
                "is_boolean(value)"
            ],
            summary: "Whether a value is true or false; never missing or null.",
            examples: [
                .value("is_boolean(false)", "true"),
                .value("is_boolean(NULL)", "false"),
            ]),
        ReferenceEntry(
            .function, "is_number",
            syntax: [
                "is_number(value)"
            ],
            summary: "Whether a value is an integer or a float; never missing or null.",
            examples: [
                .value("is_number(1.5)", "true"),
                .value("is_number('1.5')", "false"),
            ]),
        ReferenceEntry(
            .function, "is_string",
            syntax: [
                "is_string(value)"
            ],
            summary: "Whether a value is a string; never missing or null.",
            examples: [
                .value("is_string('a')", "true"),
                .value("is_string(MISSING)", "false"),
            ]),
        ReferenceEntry(
            .function, "cast",
            syntax: [
                "CAST(value AS string | integer | float | boolean | binary)"
            ],
            summary: """
                Converts a value to a type; MISSING where it has no counterpart, and \
                NULL for null.
                """,
            details: [
                """
                A float becomes an integer without its fraction. A string becomes a number \
                if it is one in the syntax of JSON, without spaces. A number becomes a \
                boolean that is false for zero. Strings and binary values are converted as \
                UTF-8.
                """
            ],
            examples: [
                .value("CAST('42' AS integer)", "42"),
                .value("CAST(2.9 AS integer)", "2"),
                .value("CAST('2.5' AS integer)", "MISSING"),
                .value("CAST(1 AS string)", "\"1\""),
                .value("CAST(NULL AS string)", "null"),
                .value("CAST('yes' AS boolean)", "MISSING"),
            ]),
    ]
}
