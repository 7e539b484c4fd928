/// Functions on arrays.
extension Reference {
    static let arrayFunctions: [ReferenceEntry] = [
        ReferenceEntry(
            .function, "array_contains",
            syntax: [
                "array_contains(array, value)"
            ],
            summary: "Whether an array has an element that is equal to a value.",
            details: [
                "A null value yields NULL; `array_contains_null` finds nulls."
            ],
            examples: [
                .value("array_contains([1, 2], 2)", "true"),
                .value("array_contains([1, 2], '2')", "false"),
                .value("array_contains([NULL], NULL)", "null"),
                .value("array_contains('text', 't')", "MISSING"),
            ]),
        ReferenceEntry(
            .function, "array_contains_null",
            syntax: [
                "array_contains_null(array)"
            ],
            summary: "Whether an array has a null element.",
            examples: [
                .value("array_contains_null([1, NULL])", "true")
            ]),
        ReferenceEntry(
            .function, "array_length",
            syntax: [
                "array_length(array)"
            ],
            summary: "Returns the number of elements of an array.",
            examples: [
                .value("array_length(['a', 'b'])", "2"),
                .value("array_length('ab')", "MISSING"),
            ]),
        ReferenceEntry(
            .function, "value_at",
            syntax: [
                "value_at(value, step...)"
            ],
            summary: """
                Returns the element at an index, counted from zero, or the field with \
                a name; further steps descend.
                """,
            details: [
                "A step that leads nowhere yields MISSING."
            ],
            examples: [
                .value("value_at(['a', 'b'], 1)", "\"b\""),
                .value("value_at({'list': [{'n': 7}]}, 'list', 0, 'n')", "7"),
                .value("value_at(['a'], 1)", "MISSING"),
                .value("value_at({'a': 1}, 'b')", "MISSING"),
            ]),
    ]
}
