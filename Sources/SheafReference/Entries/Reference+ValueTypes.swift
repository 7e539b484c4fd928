/// The types of values.
extension Reference {
    static let valueTypes: [ReferenceEntry] = [
        ReferenceEntry(
            .type, "missing",
            summary: "The absence of a value; not a value, so that it is never stored.",
            examples: [
                ReferenceExample(
                    "SELECT _id, type(tags) AS type FROM cars ORDER BY _id",
                    [
                        "{\"_id\":\"a\",\"type\":\"array\"}", "{\"_id\":\"b\",\"type\":\"array\"}",
                        "{\"_id\":\"c\",\"type\":\"missing\"}",
                    ])
            ]),
        ReferenceEntry(
            .type, "null",
            summary: "A value that is known to be empty.",
            examples: [
                .value("type(NULL)", "\"null\"")
            ]),
        ReferenceEntry(
            .type, "boolean",
            syntax: [
                "true",
                "false",
            ],
            summary: "True or false.",
            examples: [
                .value("type(true)", "\"boolean\"")
            ]),
        ReferenceEntry(
            .type, "integer",
            summary: """
                A whole number of 64 bits, distinct from a float of the same value, \
                but equal to it.
                """,
            examples: [
                .value("type(7 / 2)", "\"integer\""),
                .value("1 = 1.0", "true"),
            ]),
        ReferenceEntry(
            .type, "float",
            summary: """
                A binary floating-point number of 64 bits; infinities and NaN are \
                never results.
                """,
            examples: [
                .value("type(7.0 / 2)", "\"float\""),
                .value("0.1 + 0.2", "0.30000000000000004"),
            ]),
        ReferenceEntry(
            .type, "string",
            summary: "A text in Unicode, compared by its UTF-8 bytes.",
            examples: [
                .value("type('text')", "\"string\"")
            ]),
        ReferenceEntry(
            .type, "binary",
            summary: "Bytes, from an argument or from CAST; JSON shows them in base 64.",
            examples: [
                .value("type(CAST('text' AS binary))", "\"binary\""),
                .value("CAST('text' AS binary)", "\"dGV4dA==\""),
            ]),
        ReferenceEntry(
            .type, "array",
            summary: "A list of values; a field that holds one is replaced as a unit.",
            examples: [
                .value("type([1, 'a', NULL])", "\"array\"")
            ]),
        ReferenceEntry(
            .type, "object",
            summary: "Names with values; the order of the names has no meaning.",
            examples: [
                .value("type({})", "\"object\"")
            ]),
    ]
}
