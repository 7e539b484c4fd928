/// The clauses that name documents.
extension Reference {
    static let sourceClauses: [ReferenceEntry] = [
        ReferenceEntry(
            .clause, "FROM",
            syntax: [
                "FROM [COLLECTION] name [(types)] [AS OF ...] [[AS] alias] [USE ...]"
            ],
            summary: "Names the collection of the rows; an unknown one has no documents.",
            details: [
                "`system:dual` has one row, for statements that need no document."
            ],
            examples: [
                ReferenceExample(
                    "SELECT c.color FROM cars AS c WHERE c._id = 'a'",
                    ["{\"color\":\"blue\"}"]),
                ReferenceExample(
                    "SELECT * FROM unknown",
                    ["no rows"]),
            ]),
        ReferenceEntry(
            .clause, "AS OF", aliases: ["asof"],
            syntax: [
                "FROM name AS OF COMMIT number",
                "FROM name AS OF time",
            ],
            summary: "Reads a collection as it was after a commit, or at a time.",
            details: [
                """
                The time is a text such as `'2026-11-20T10:00:00Z'`, or milliseconds since 1970, in \
                parentheses or as a parameter. The state is that of the last commit up to then. \
                `AS OF COMMIT 0` is the empty store.
                """,
                """
                Each collection of a join has its own AS OF, so a statement can compare states. Only \
                SELECT reads earlier states, and they cannot be observed or subscribed to.
                """,
                """
                The log has at least the states of its last 10,000 commits, unless these have more \
                than 2 MiB. Compaction removes older ones; the error names the oldest state that is \
                left.
                """,
            ],
            examples: [
                ReferenceExample(
                    "SELECT COUNT(*) AS count FROM cars AS OF COMMIT 0",
                    ["{\"count\":0}"]),
                ReferenceExample(
                    """
                    SELECT now._id FROM cars AS now LEFT JOIN cars AS OF '2026-11-20T10:00:00Z' AS before \
                    ON before._id = now._id WHERE before IS MISSING
                    """, nil),
            ]),
        ReferenceEntry(
            .clause, "COLLECTION",
            syntax: [
                "COLLECTION name (field type, ...)"
            ],
            summary: "Introduces the name of a collection, and the types of its fields.",
            details: [
                "The types are MAP, REGISTER, COUNTER, PN_COUNTER and ATTACHMENT."
            ],
            examples: [
                ReferenceExample(
                    """
                    UPDATE COLLECTION cars (views COUNTER) APPLY views INCREMENT BY 1 \
                    WHERE _id = 'a' RETURNING views
                    """,
                    ["{\"views\":1}"])
            ]),
        ReferenceEntry(
            .clause, "AS", aliases: ["alias"],
            syntax: [
                "expression [AS] name",
                "collection [AS] name",
            ],
            summary: "Names a column or a collection.",
            details: [
                "Most keywords are valid names after AS."
            ],
            examples: [
                ReferenceExample(
                    "SELECT COUNT(*) AS count FROM cars",
                    ["{\"count\":3}"])
            ]),
        ReferenceEntry(
            .clause, "DISTINCT",
            syntax: [
                "SELECT DISTINCT column, ...",
                "COUNT(DISTINCT value)",
            ],
            summary: "Removes equal rows from a result, or equal values from an aggregate.",
            examples: [
                ReferenceExample(
                    "SELECT DISTINCT color FROM cars ORDER BY color",
                    ["{\"color\":\"blue\"}", "{\"color\":\"red\"}"])
            ]),
        ReferenceEntry(
            .clause, "JOIN",
            aliases: [
                "INNER JOIN", "LEFT JOIN", "RIGHT JOIN", "ON", "INNER", "LEFT", "RIGHT", "OUTER",
            ],
            syntax: [
                "[INNER] JOIN name [[AS] alias] [USE INDEX ...] ON condition",
                "LEFT [OUTER] JOIN name ... ON condition",
                "RIGHT [OUTER] JOIN name ... ON condition",
            ],
            summary: "Combines the rows of two collections; at most 16 joins.",
            details: [
                """
                The condition must compare an expression of the joined collection with \
                preceding ones by `=`. Its documents are found by `_id`, by an index, or in a \
                hash table of at most 64 MiB: if it would be larger, it is made in parts, and \
                the preceding documents are read once for each part. `USE INDEX ''` excludes \
                indexes, and allows a condition without `=`, which takes a scan for each row. \
                LEFT keeps rows without a partner, and RIGHT the documents of the joined \
                collection. `SELECT *` nests each document under its alias. There are no FULL, \
                CROSS and NATURAL joins.
                """
            ],
            examples: [
                ReferenceExample(
                    """
                    SELECT c._id AS car, o.name FROM cars c JOIN owners o ON o._id = \
                    c.owner ORDER BY car
                    """,
                    ["{\"car\":\"a\",\"name\":\"Ann\"}", "{\"car\":\"b\",\"name\":\"Bob\"}"]),
                ReferenceExample(
                    """
                    SELECT c._id AS car, o.name FROM cars c LEFT JOIN owners o ON o._id = \
                    c.owner ORDER BY car
                    """,
                    [
                        "{\"car\":\"a\",\"name\":\"Ann\"}", "{\"car\":\"b\",\"name\":\"Bob\"}",
                        "{\"car\":\"c\"}",
                    ]),
                ReferenceExample(
                    "SELECT * FROM owners o JOIN cars c ON c.mileage > 3000",
                    [
                        """
                        error: Joining to "c" disallowed without appropriate index support. \
                        Please run ADVISE for recommendations.
                        """
                    ]),
                ReferenceExample(
                    """
                    SELECT o.name, c._id AS car FROM owners o JOIN cars c USE INDEX '' ON \
                    c.owner = o._id ORDER BY car
                    """,
                    ["{\"car\":\"a\",\"name\":\"Ann\"}", "{\"car\":\"b\",\"name\":\"Bob\"}"]),
                ReferenceExample(
                    """
                    SELECT * FROM cars c JOIN owners o ON o._id = c.owner WHERE c._id = \
                    'a'
                    """,
                    [
                        """
                        {"c":{"_id":"a","color":"blue","mileage":3000,"owner":"ann","tags":["new","fast"]},"o":{"_id":"ann","city":"Berlin","name":"Ann"}}
                        """
                    ]),
            ]),
        ReferenceEntry(
            .clause, "USE IDS", aliases: ["IDS", "LIST"],
            syntax: [
                "USE IDS id, ...",
                "USE IDS LIST array",
            ],
            summary: """
                Restricts the statement to documents with these ids, which it reads \
                directly.
                """,
            details: [
                "It is not allowed in joins."
            ],
            examples: [
                ReferenceExample(
                    "SELECT _id, color FROM cars USE IDS 'b', 'x'",
                    ["{\"_id\":\"b\",\"color\":\"red\"}"]),
                ReferenceExample(
                    "SELECT _id FROM cars USE IDS LIST ['a', 'c'] ORDER BY _id",
                    ["{\"_id\":\"a\"}", "{\"_id\":\"c\"}"]),
            ]),
        ReferenceEntry(
            .clause, "USE INDEX",
            syntax: [
                "USE INDEX name",
                "USE INDEX 'name'",
                "USE INDEX (name, ...)",
                "USE INDEX ''",
            ],
            summary: "Chooses among indexes; the empty name forbids all of them.",
            details: [
                """
                Of several indexes, the statement uses the cheapest one. An unknown name \
                is ignored, with a note in the plan.
                """
            ],
            examples: [
                ReferenceExample(
                    "SELECT _id FROM cars USE INDEX by_color WHERE color = 'red'",
                    ["{\"_id\":\"b\"}"])
            ]),
        ReferenceEntry(
            .clause, "USE DIRECTIVES",
            syntax: [
                "USE DIRECTIVES '{\"name\": value}'"
            ],
            summary: "Gives directives to a collection, as JSON in quotes.",
            examples: [
                ReferenceExample(
                    """
                    SELECT _id FROM cars USE DIRECTIVES '{"#index": "by_color"}' WHERE \
                    color = 'red'
                    """,
                    ["{\"_id\":\"b\"}"])
            ]),
    ]
}
