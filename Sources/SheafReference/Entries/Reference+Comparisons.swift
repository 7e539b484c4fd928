/// Operators that compare values.
extension Reference {
    static let comparisonOperators: [ReferenceEntry] = [
        ReferenceEntry(
            .operator, "=", aliases: ["=="],
            syntax: [
                "a = b",
                "a == b",
            ],
            summary: "Whether two values are equal.",
            details: [
                """
                Values of different types are neither equal nor unequal: the result is \
                MISSING. Integers and floats are compared by number. NULL on either side \
                yields NULL. Arrays and objects are compared as complete values, objects \
                regardless of the order of their fields.
                """
            ],
            examples: [
                .value("1 = 1.0", "true"),
                .value("1 = '1'", "MISSING"),
                .value("NULL = NULL", "null"),
                .value("{'a': 1, 'b': 2} = {'b': 2, 'a': 1}", "true"),
            ]),
        ReferenceEntry(
            .operator, "!=", aliases: ["<>"],
            syntax: [
                "a != b",
                "a <> b",
            ],
            summary: "Whether two values of one type differ; MISSING for different types.",
            examples: [
                .value("1 != 2", "true"),
                .value("1 != 'a'", "MISSING"),
            ]),
        ReferenceEntry(
            .operator, "<",
            syntax: [
                "a < b"
            ],
            summary: "Whether a value is less than another one of the same type.",
            details: [
                "Strings are compared by their UTF-8 bytes, and false is less than true."
            ],
            examples: [
                .value("2 < 10", "true"),
                .value("'B' < 'a'", "true"),
                .value("1 < 'a'", "MISSING"),
            ]),
        ReferenceEntry(
            .operator, "<=",
            syntax: [
                "a <= b"
            ],
            summary: """
                Whether a value is less than or equal to another one of the same \
                type.
                """,
            examples: [
                .value("2 <= 2", "true")
            ]),
        ReferenceEntry(
            .operator, ">",
            syntax: [
                "a > b"
            ],
            summary: "Whether a value is greater than another one of the same type.",
            examples: [
                ReferenceExample(
                    "SELECT _id FROM cars WHERE mileage > 2000 ORDER BY mileage",
                    ["{\"_id\":\"a\"}", "{\"_id\":\"b\"}"])
            ]),
        ReferenceEntry(
            .operator, ">=",
            syntax: [
                "a >= b"
            ],
            summary: """
                Whether a value is greater than or equal to another one of the same \
                type.
                """,
            examples: [
                .value("'b' >= 'a'", "true")
            ]),
        ReferenceEntry(
            .operator, "BETWEEN", aliases: ["NOT BETWEEN"],
            syntax: [
                "a [NOT] BETWEEN low AND high"
            ],
            summary: "Whether a value lies between two others, including both ends.",
            details: [
                "The ends are never swapped: no value is between 5 and 1."
            ],
            examples: [
                .value("3 BETWEEN 1 AND 5", "true"),
                .value("3 BETWEEN 5 AND 1", "false"),
                ReferenceExample(
                    """
                    SELECT _id FROM cars WHERE mileage NOT BETWEEN 1000 AND 10000 ORDER BY \
                    _id
                    """,
                    ["{\"_id\":\"b\"}", "{\"_id\":\"c\"}"]),
            ]),
        ReferenceEntry(
            .operator, "IN", aliases: ["NOT IN"],
            syntax: [
                "a [NOT] IN (value, ...)",
                "a [NOT] IN array",
            ],
            summary: "Whether a value equals an element of a list or of an array.",
            details: [
                """
                Without parentheses, an array, such as an argument, is the list. `IN \
                (:array)` is a list whose only element is the array, so it matches no \
                element of it. IN also separates the variable and the array of ANY, EVERY, \
                ARRAY and OBJECT.
                """
            ],
            examples: [
                .value("2 IN (1, 2, 3)", "true"),
                .value("2 IN [1, 2, 3]", "true"),
                .value("2 IN ([1, 2, 3])", "false"),
                ReferenceExample(
                    "SELECT _id FROM cars WHERE color NOT IN ('red', 'green') ORDER BY _id",
                    ["{\"_id\":\"a\"}", "{\"_id\":\"c\"}"]),
            ]),
        ReferenceEntry(
            .operator, "IS NULL", aliases: ["IS UNKNOWN", "IS NOT NULL", "IS NOT UNKNOWN"],
            syntax: [
                "a IS [NOT] NULL",
                "a IS [NOT] UNKNOWN",
            ],
            summary: "Whether a value is null; never missing.",
            details: [
                """
                A missing field is not null: `owner IS NOT NULL` is true where the field \
                is absent.
                """
            ],
            examples: [
                .value("NULL IS NULL", "true"),
                .value("MISSING IS NULL", "false"),
                ReferenceExample(
                    "SELECT _id FROM cars WHERE tags IS NOT NULL ORDER BY _id",
                    ["{\"_id\":\"a\"}", "{\"_id\":\"b\"}", "{\"_id\":\"c\"}"]),
            ]),
        ReferenceEntry(
            .operator, "IS MISSING", aliases: ["IS NOT MISSING"],
            syntax: [
                "a IS [NOT] MISSING"
            ],
            summary: "Whether a field is absent.",
            examples: [
                .value("MISSING IS MISSING", "true"),
                .value("NULL IS MISSING", "false"),
                ReferenceExample(
                    "SELECT _id FROM cars WHERE tags IS NOT MISSING ORDER BY _id",
                    ["{\"_id\":\"a\"}", "{\"_id\":\"b\"}"]),
            ]),
        ReferenceEntry(
            .operator, "IS TRUE", aliases: ["IS FALSE", "IS NOT TRUE", "IS NOT FALSE"],
            syntax: [
                "a IS [NOT] TRUE",
                "a IS [NOT] FALSE",
            ],
            summary: "Whether a value is true, or false; the result is never unknown.",
            examples: [
                .value("NULL IS NOT TRUE", "true"),
                .value("false IS FALSE", "true"),
            ]),
    ]
}
