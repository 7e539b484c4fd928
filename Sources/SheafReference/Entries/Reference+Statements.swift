/// Statements.
extension Reference {
    static let statements: [ReferenceEntry] = [
        ReferenceEntry(
            .statement, "SELECT",
            syntax: [
                "SELECT [DISTINCT] column [, ...]",
                "  FROM [COLLECTION] name [(types)] [[AS] alias] [USE ...]",
                """
                  [[INNER | LEFT [OUTER] | RIGHT [OUTER]] JOIN name [[AS] alias] [USE \
                INDEX ...] ON condition]...
                """,
                "  [WHERE condition] [GROUP BY expression, ...] [HAVING condition]",
                "  [ORDER BY expression [ASC | DESC], ...] [LIMIT count] [OFFSET count]",
            ],
            summary: "Returns rows of documents.",
            details: [
                """
                A path is named by its last name, a column with AS by its alias, and any \
                other column by its number, such as `($2)`. `*` beside other columns must \
                be qualified. Two columns of one name are an error. A missing column is \
                left out of its row. There are no subqueries, and no UNION, INTERSECT and \
                EXCEPT.
                """
            ],
            examples: [
                ReferenceExample(
                    """
                    SELECT _id, mileage * 2 AS twice FROM cars WHERE color = 'blue' ORDER \
                    BY mileage
                    """,
                    ["{\"_id\":\"c\",\"twice\":1600}", "{\"_id\":\"a\",\"twice\":6000}"]),
                ReferenceExample(
                    "SELECT upper(color) FROM cars WHERE _id = 'a'",
                    ["{\"($1)\":\"BLUE\"}"]),
                ReferenceExample(
                    "SELECT *, mileage FROM cars",
                    [
                        "error: unqualified * with other projection elements is not supported",
                        "(write cars.*)",
                    ]),
            ]),
        ReferenceEntry(
            .statement, "INSERT",
            syntax: [
                """
                INSERT INTO [COLLECTION] name [(types)] {DOCUMENTS | VALUES} (document) [, \
                (document)]...
                """,
                "  [ON ID CONFLICT ...] [RETURNING column, ...]",
                """
                INSERT INTO [COLLECTION] name [(types)] INITIAL {DOCUMENTS | VALUES} \
                (document) [, (document)]...
                """,
                """
                INSERT INTO [COLLECTION] name SELECT ... [ON ID CONFLICT ...] [RETURNING \
                column, ...]
                """,
            ],
            summary: "Writes new documents; a collection exists once a document is in it.",
            details: [
                """
                The `_id` is a string, an integer, a boolean, an array or an object; a \
                float or null is an error, and an absent one is generated. The statement \
                is atomic: one existing id fails all of it, unless ON ID CONFLICT decides \
                otherwise.
                """
            ],
            examples: [
                ReferenceExample(
                    """
                    INSERT INTO cars DOCUMENTS ({ '_id': 'd', 'color': 'green' }) \
                    RETURNING *
                    """,
                    ["{\"_id\":\"d\",\"color\":\"green\"}"]),
                ReferenceExample(
                    "INSERT INTO cars DOCUMENTS ({ '_id': 'a' })",
                    [
                        "error: there is a document with the _id \"a\" in cars already",
                        """
                        (ON ID CONFLICT DO UPDATE merges the two, DO NOTHING keeps the old \
                        one)
                        """,
                    ]),
                ReferenceExample(
                    "INSERT INTO archive SELECT * FROM cars WHERE color = 'blue'",
                    ["2 documents changed"]),
            ]),
        ReferenceEntry(
            .statement, "UPDATE",
            syntax: [
                "UPDATE name [USE IDS ...]",
                "UPDATE COLLECTION name [(types)] [USE IDS ...]",
                """
                  [APPLY path operation, ...] [SET path = expression, ...] [UNSET path, \
                ...]
                """,
                "  [WHERE condition] [RETURNING column, ...]",
            ],
            summary: """
                Changes fields of documents: at least one of APPLY, SET and UNSET, in \
                this order.
                """,
            details: [
                """
                Types require the word COLLECTION. SET merges objects, so that only UNSET \
                removes a field. The `_id` cannot change.
                """
            ],
            examples: [
                ReferenceExample(
                    """
                    UPDATE cars SET mileage = mileage + 10 WHERE _id = 'a' RETURNING \
                    mileage
                    """,
                    ["{\"mileage\":3010}"]),
                ReferenceExample(
                    "UPDATE cars SET mileage = 0",
                    ["3 documents changed"]),
                ReferenceExample(
                    "UPDATE cars SET _id = 'x'",
                    ["error: _id cannot be changed", "(insert a new document instead)"]),
            ]),
        ReferenceEntry(
            .statement, "DELETE",
            syntax: [
                "DELETE FROM [COLLECTION] name [(types)] [USE IDS ...]",
                """
                  [WHERE condition] [ORDER BY ...] [LIMIT count] [OFFSET count] [RETURNING \
                column, ...]
                """,
            ],
            summary: "Removes documents from all peers.",
            details: [
                """
                It leaves a tombstone, which is replicated; the parameter \
                `tombstone_ttl_hours` is its lifetime. RETURNING shows the document \
                before its removal.
                """
            ],
            examples: [
                ReferenceExample(
                    "DELETE FROM cars WHERE color = 'red' RETURNING _id",
                    ["{\"_id\":\"b\"}"])
            ]),
        ReferenceEntry(
            .statement, "EVICT",
            syntax: [
                "EVICT FROM [COLLECTION] name [(types)] [USE IDS ...]",
                """
                  [WHERE condition] [ORDER BY ...] [LIMIT count] [OFFSET count] [RETURNING \
                column, ...]
                """,
            ],
            summary: "Removes documents from this device only.",
            details: [
                """
                Other peers keep them, and a subscription that selects them fetches them \
                again.
                """
            ],
            examples: [
                ReferenceExample(
                    "EVICT FROM cars WHERE mileage > 50000 RETURNING _id",
                    ["{\"_id\":\"b\"}"])
            ]),
        ReferenceEntry(
            .statement, "CREATE INDEX", aliases: ["IF NOT EXISTS"],
            syntax: [
                "CREATE INDEX [IF NOT EXISTS] name ON collection (path [ASC | DESC], ...)"
            ],
            summary: """
                Creates an index of at most 16 fields, which survives a restart and \
                is local to this device.
                """,
            details: [
                """
                Documents without the field are in the index as well. There is no CREATE \
                COLLECTION.
                """
            ],
            examples: [
                ReferenceExample(
                    "CREATE INDEX by_mileage ON cars (mileage DESC, _id)",
                    ["no rows"]),
                ReferenceExample(
                    "CREATE INDEX by_color ON cars (color)",
                    ["error: cars has an index by_color already"]),
                ReferenceExample(
                    "CREATE INDEX IF NOT EXISTS by_color ON cars (color)",
                    ["no rows"]),
            ]),
        ReferenceEntry(
            .statement, "DROP INDEX", aliases: ["IF EXISTS"],
            syntax: [
                "DROP INDEX [IF EXISTS] name ON collection"
            ],
            summary: "Removes an index.",
            examples: [
                ReferenceExample(
                    "DROP INDEX by_color ON cars",
                    ["no rows"]),
                ReferenceExample(
                    "DROP INDEX IF EXISTS unknown ON cars",
                    ["no rows"]),
            ]),
        ReferenceEntry(
            .statement, "EXPLAIN",
            syntax: [
                "EXPLAIN statement"
            ],
            summary: "Returns the plan of a statement in one row, and does not run it.",
            details: [
                """
                All statements can be explained. The first child of a `join` is its outer \
                side, which is the cheaper one of the first two sources. `inner` says how the \
                other one is found: `by _id`, `by index`, `by hash` of the terms in `hashed`, \
                or `by scan`. `matches` is `first` if one match of a row is enough, and \
                `none` if a match removes the row.
                """
            ],
            examples: [
                ReferenceExample(
                    "EXPLAIN SELECT * FROM cars WHERE color = 'blue'",
                    [
                        """
                        {"plan":{"#operator":"projection","children":[{"#operator":"filter","children":[{"#operator":"scan","collection":"cars","direction":"forward","rows":3}],"condition":"color \
                        = 'blue'","on":"bytes"}],"columns":["*"]}}
                        """
                    ])
            ]),
        ReferenceEntry(
            .statement, "PROFILE",
            syntax: [
                "PROFILE statement"
            ],
            summary: """
                Runs a SELECT, INSERT, UPDATE, DELETE or EVICT, and adds a row with \
                the documents and nanoseconds of each operator.
                """,
            examples: [
                ReferenceExample(
                    "PROFILE SELECT * FROM cars WHERE color = 'blue'",
                    nil)
            ]),
        ReferenceEntry(
            .statement, "ADVISE", aliases: ["PROVISION", "ADVISE AND PROVISION"],
            syntax: [
                "ADVISE statement",
                "ADVISE AND PROVISION statement",
            ],
            summary: """
                Suggests indexes for a statement in one row; AND PROVISION creates \
                them.
                """,
            details: [
                """
                `suggestedIndexes` would help, and `existingIndexes` are used, or would be \
                on a larger collection.
                """
            ],
            examples: [
                ReferenceExample(
                    "ADVISE SELECT * FROM cars WHERE owner = 'ann'",
                    [
                        """
                        {"advice":{"existingIndexes":[],"outcome":"1 index \
                        suggested","suggestedIndexes":[{"collection":"cars","reason":"finds \
                        documents by owner","statement":"CREATE INDEX cars_owner ON cars \
                        (owner)"}]}}
                        """
                    ])
            ]),
        ReferenceEntry(
            .statement, "ALTER SYSTEM", aliases: ["RESET", "ALTER"],
            syntax: [
                "ALTER SYSTEM SET parameter {= | TO} expression",
                "ALTER SYSTEM SET parameter TO DEFAULT",
                "ALTER SYSTEM RESET parameter",
                "ALTER SYSTEM RESET ALL",
            ],
            summary: "Sets a parameter of the store until it is closed, or resets it.",
            details: [
                """
                Names of parameters are not case-sensitive. The row has the name and the \
                new value.
                """
            ],
            examples: [
                ReferenceExample(
                    "ALTER SYSTEM SET dql_request_timeout_seconds = 5",
                    ["{\"dql_request_timeout_seconds\":5}"]),
                ReferenceExample(
                    "ALTER SYSTEM RESET dql_request_timeout_seconds",
                    ["{\"dql_request_timeout_seconds\":0}"]),
                ReferenceExample(
                    "ALTER SYSTEM SET dql_request_timeout = 5",
                    ["error: unknown parameter 'dql_request_timeout'"]),
            ]),
        ReferenceEntry(
            .statement, "SHOW",
            syntax: [
                "SHOW parameter",
                "SHOW ALL [LIKE pattern | ILIKE pattern]",
            ],
            summary: """
                Returns the value of one parameter, or the values of all whose name \
                matches a pattern.
                """,
            examples: [
                ReferenceExample(
                    "SHOW dql_strict_mode",
                    ["{\"dql_strict_mode\":false}"]),
                ReferenceExample(
                    "SHOW ALL LIKE 'document_size%'",
                    [
                        """
                        {"document_size_hard_limit_bytes":5242880,"document_size_soft_limit_bytes":262144}
                        """
                    ]),
            ]),
    ]
}
