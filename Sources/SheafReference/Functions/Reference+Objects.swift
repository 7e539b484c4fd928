/// Functions on objects and JSON.
extension Reference {
    static let objectFunctions: [ReferenceEntry] = [
        ReferenceEntry(
            .function, "object_keys",
            syntax: [
                "object_keys(object)"
            ],
            summary: "Returns the names of the fields of an object, sorted by their bytes.",
            examples: [
                .value("object_keys({'b': 1, 'a': 2})", "[\"a\",\"b\"]")
            ]),
        ReferenceEntry(
            .function, "object_values",
            syntax: [
                "object_values(object)"
            ],
            summary: """
                Returns the values of the fields of an object, in the order of their \
                names.
                """,
            examples: [
                .value("object_values({'b': 1, 'a': 2})", "[2,1]")
            ]),
        ReferenceEntry(
            .function, "object_length",
            syntax: [
                "object_length(object)"
            ],
            summary: "Returns the number of fields of an object.",
            examples: [
                .value("object_length({'a': 1, 'b': NULL})", "2")
            ]),
        ReferenceEntry(
            .function, "object_size",
            syntax: [
                "object_size(object)"
            ],
            summary: "Returns the number of bytes of an object as JSON.",
            examples: [
                .value("object_size({'a': 1})", "7")
            ]),
        ReferenceEntry(
            .function, "object_set",
            syntax: [
                "object_set(object, name, value[, replace])"
            ],
            summary: "Returns a copy of an object with a field added.",
            details: [
                """
                If the field exists, the result is MISSING unless replace is true. The \
                value may be null, but not missing.
                """
            ],
            examples: [
                .value("object_set({'a': 1}, 'b', 2)", "{\"a\":1,\"b\":2}"),
                .value("object_set({'a': 1}, 'a', 2)", "MISSING"),
                .value("object_set({'a': 1}, 'a', 2, true)", "{\"a\":2}"),
            ]),
        ReferenceEntry(
            .function, "object_unset",
            syntax: [
                "object_unset(object, name...)"
            ],
            summary: """
                Returns a copy of an object without some fields; unknown names are \
                ignored.
                """,
            examples: [
                .value("object_unset({'a': 1, 'b': 2}, 'a', 'x')", "{\"b\":2}")
            ]),
        ReferenceEntry(
            .function, "object_concat",
            syntax: [
                "object_concat(object...)"
            ],
            summary: """
                Returns an object with the fields of all objects; the last of several \
                equal names wins.
                """,
            examples: [
                .value("object_concat({'a': 1, 'b': 1}, {'b': 2})", "{\"a\":1,\"b\":2}")
            ]),
        ReferenceEntry(
            .function, "object_rename",
            syntax: [
                "object_rename(object, old, new)"
            ],
            summary: "Returns a copy of an object with a field renamed.",
            details: [
                """
                An object without the old field is returned unchanged. If the new name is \
                in use, the result is MISSING.
                """
            ],
            examples: [
                .value("object_rename({'a': 1}, 'a', 'b')", "{\"b\":1}"),
                .value("object_rename({'a': 1, 'b': 2}, 'a', 'b')", "MISSING"),
            ]),
        ReferenceEntry(
            .function, "serialize_json",
            syntax: [
                "serialize_json(value)"
            ],
            summary: "Returns a value as JSON text.",
            examples: [
                .value("serialize_json({'a': [1, NULL]})", "\"{\\\"a\\\":[1,null]}\"")
            ]),
        ReferenceEntry(
            .function, "deserialize_json",
            syntax: [
                "deserialize_json(text)"
            ],
            summary: "Returns the value of a JSON text; invalid JSON yields MISSING.",
            examples: [
                .value("deserialize_json('{\"a\": [1, 2.5]}')", "{\"a\":[1,2.5]}"),
                .value("deserialize_json('{')", "MISSING"),
            ]),
    ]
}
