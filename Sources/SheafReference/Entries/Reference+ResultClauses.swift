/// The clauses that select, group and sort rows.
extension Reference {
    static let resultClauses: [ReferenceEntry] = [
        ReferenceEntry(
            .clause, "WHERE",
            syntax: [
                "WHERE condition"
            ],
            summary: """
                Keeps the rows for which a condition is true, neither false nor \
                unknown.
                """,
            details: [
                "Aggregates are not allowed; HAVING has them."
            ],
            examples: [
                ReferenceExample(
                    "SELECT _id FROM cars WHERE color = 'blue' AND mileage < 1000",
                    ["{\"_id\":\"c\"}"]),
                ReferenceExample(
                    "SELECT _id FROM cars WHERE color = blue",
                    ["no rows"]),
            ]),
        ReferenceEntry(
            .clause, "GROUP BY", aliases: ["GROUP"],
            syntax: [
                "GROUP BY expression, ..."
            ],
            summary: "Combines the rows with equal values of the expressions into one.",
            details: [
                """
                Each column must be an expression of the clause or an aggregate. A name \
                means the field; only where the statement would be rejected that way it \
                means the alias of a column.
                """
            ],
            examples: [
                ReferenceExample(
                    "SELECT color, COUNT(*) AS n FROM cars GROUP BY color ORDER BY color",
                    ["{\"color\":\"blue\",\"n\":2}", "{\"color\":\"red\",\"n\":1}"]),
                ReferenceExample(
                    "SELECT _id, COUNT(*) AS n FROM cars GROUP BY color",
                    [
                        "error: _id is neither in GROUP BY nor in an aggregate",
                        "(add it to GROUP BY)",
                    ]),
            ]),
        ReferenceEntry(
            .clause, "HAVING",
            syntax: [
                "HAVING condition"
            ],
            summary: "Keeps the groups for which a condition is true.",
            examples: [
                ReferenceExample(
                    "SELECT color FROM cars GROUP BY color HAVING COUNT(*) > 1",
                    ["{\"color\":\"blue\"}"])
            ]),
        ReferenceEntry(
            .clause, "ORDER BY", aliases: ["ORDER", "ASC", "DESC"],
            syntax: [
                "ORDER BY expression [ASC | DESC], ..."
            ],
            summary: "Sorts the rows; ASC is the default, and DESC its exact reverse.",
            details: [
                """
                The order of types is false, true, numbers, binary values, strings by \
                their bytes, arrays, objects, null, missing. A number is the column of \
                that position, and an alias takes precedence over a field. Other constants \
                are errors.
                """
            ],
            examples: [
                ReferenceExample(
                    "SELECT _id, owner FROM cars ORDER BY owner DESC, _id",
                    [
                        "{\"_id\":\"c\",\"owner\":null}", "{\"_id\":\"b\",\"owner\":\"bob\"}",
                        "{\"_id\":\"a\",\"owner\":\"ann\"}",
                    ]),
                ReferenceExample(
                    "SELECT _id, mileage FROM cars ORDER BY 2",
                    [
                        "{\"_id\":\"c\",\"mileage\":800}", "{\"_id\":\"a\",\"mileage\":3000}",
                        "{\"_id\":\"b\",\"mileage\":52000}",
                    ]),
                ReferenceExample(
                    "SELECT _id FROM cars ORDER BY 'mileage'",
                    [
                        """
                        error: ORDER BY requires a field or column; this is the same for all \
                        rows
                        """, "(write a field, as in ORDER BY price, or the number of a column)",
                    ]),
            ]),
        ReferenceEntry(
            .clause, "LIMIT",
            syntax: [
                "LIMIT count"
            ],
            summary: """
                Returns at most a number of rows; a non-negative integer, often an \
                argument.
                """,
            examples: [
                ReferenceExample(
                    "SELECT _id FROM cars ORDER BY _id LIMIT 2",
                    ["{\"_id\":\"a\"}", "{\"_id\":\"b\"}"]),
                ReferenceExample(
                    "SELECT _id FROM cars LIMIT -1",
                    ["error: LIMIT takes a non-negative integer, not -1"]),
            ]),
        ReferenceEntry(
            .clause, "OFFSET",
            syntax: [
                "OFFSET count"
            ],
            summary: "Skips a number of rows, after sorting and before LIMIT counts.",
            examples: [
                ReferenceExample(
                    "SELECT _id FROM cars ORDER BY _id LIMIT 2 OFFSET 1",
                    ["{\"_id\":\"b\"}", "{\"_id\":\"c\"}"])
            ]),
        ReferenceEntry(
            .clause, "RETURNING",
            syntax: [
                "RETURNING column, ..."
            ],
            summary: """
                Returns columns of the changed documents: after INSERT and UPDATE, \
                before DELETE and EVICT.
                """,
            details: [
                "Aggregates are allowed."
            ],
            examples: [
                ReferenceExample(
                    """
                    UPDATE cars SET color = 'black' WHERE color = 'blue' RETURNING \
                    COUNT(*) AS changed
                    """,
                    ["{\"changed\":2}"])
            ]),
    ]
}
