/// The clauses of INSERT and UPDATE.
extension Reference {
    static let writingClauses: [ReferenceEntry] = [
        ReferenceEntry(
            .clause, "DOCUMENTS", aliases: ["VALUES"],
            syntax: [
                "{DOCUMENTS | VALUES} (document) [, (document)]...",
                "DOCUMENTS (:array)",
            ],
            summary: """
                The documents to insert, each in its own parentheses: objects or \
                arguments.
                """,
            details: [
                """
                An argument that is an array inserts each of its elements. A list of \
                columns is an error.
                """
            ],
            examples: [
                ReferenceExample(
                    "INSERT INTO owners DOCUMENTS ({ '_id': 'cem' }), ({ '_id': 'dua' })",
                    ["2 documents changed"]),
                ReferenceExample(
                    "INSERT INTO owners (name, city) VALUES ('Eva', 'Rome')",
                    [
                        "error: INSERT takes documents, not columns",
                        "(write INSERT INTO owners DOCUMENTS ({ 'name': .., 'city': .. }))",
                    ]),
            ]),
        ReferenceEntry(
            .clause, "INITIAL",
            syntax: [
                "INSERT INTO name INITIAL DOCUMENTS (document), ..."
            ],
            summary: """
                Inserts default documents at time zero: existing ones remain, and any \
                other write wins.
                """,
            details: [
                "Equal seeds of several peers merge to one document."
            ],
            examples: [
                ReferenceExample(
                    """
                    INSERT INTO owners INITIAL DOCUMENTS ({ '_id': 'ann', 'city': 'Rome' \
                    }), ({ '_id': 'new' })
                    """,
                    ["1 document changed"])
            ]),
        ReferenceEntry(
            .clause, "ON ID CONFLICT",
            aliases: [
                "DO NOTHING", "DO UPDATE", "DO MERGE", "DO UPDATE_LOCAL_DIFF", "DO FAIL", "FAIL",
                "CONFLICT",
            ],
            syntax: [
                "ON ID CONFLICT [DO] FAIL",
                "ON ID CONFLICT DO NOTHING",
                "ON ID CONFLICT DO UPDATE",
                "ON ID CONFLICT DO MERGE",
                "ON ID CONFLICT DO UPDATE_LOCAL_DIFF",
            ],
            summary: "Decides about documents whose id exists: an error by default.",
            details: [
                """
                UPDATE and MERGE are the same: they write the given fields and keep all \
                others. UPDATE_LOCAL_DIFF writes only fields whose values differ. No \
                policy removes a field.
                """
            ],
            examples: [
                ReferenceExample(
                    """
                    INSERT INTO owners DOCUMENTS ({ '_id': 'ann', 'city': 'Rome' }) ON ID \
                    CONFLICT DO UPDATE RETURNING *
                    """,
                    ["{\"_id\":\"ann\",\"city\":\"Rome\",\"name\":\"Ann\"}"]),
                ReferenceExample(
                    """
                    INSERT INTO owners DOCUMENTS ({ '_id': 'ann' }) ON ID CONFLICT DO \
                    NOTHING
                    """,
                    ["0 documents changed"]),
                ReferenceExample(
                    """
                    INSERT INTO owners DOCUMENTS ({ '_id': 'ann', 'city': 'Berlin' }) ON \
                    ID CONFLICT DO UPDATE_LOCAL_DIFF
                    """,
                    ["0 documents changed"]),
            ]),
        ReferenceEntry(
            .clause, "SET",
            syntax: [
                "SET path = expression, ..."
            ],
            summary: "Assigns values to fields, and creates the objects on the way.",
            details: [
                """
                An object is merged into an existing one. Of two assignments to a path, or \
                to a path and one below it, the later one wins. MISSING assigns nothing. \
                Elements of arrays cannot be assigned.
                """
            ],
            examples: [
                ReferenceExample(
                    """
                    UPDATE cars SET engine.power = 90, color = 'grey' WHERE _id = 'a' \
                    RETURNING color, engine
                    """,
                    ["{\"color\":\"grey\",\"engine\":{\"power\":90}}"]),
                ReferenceExample(
                    """
                    UPDATE cars SET n = {'v': 1, 'w': 2}, n.w.z = 3 WHERE _id = 'a' \
                    RETURNING n
                    """,
                    ["{\"n\":{\"v\":1,\"w\":{\"z\":3}}}"]),
                ReferenceExample(
                    "UPDATE owners SET city = MISSING WHERE _id = 'ann' RETURNING city",
                    ["0 documents changed"]),
            ]),
        ReferenceEntry(
            .clause, "UNSET",
            syntax: [
                "UNSET path, ..."
            ],
            summary: "Removes fields.",
            examples: [
                ReferenceExample(
                    "UPDATE cars UNSET owner, tags WHERE _id = 'a' RETURNING *",
                    ["{\"_id\":\"a\",\"color\":\"blue\",\"mileage\":3000}"])
            ]),
        ReferenceEntry(
            .clause, "APPLY",
            aliases: [
                "INCREMENT BY", "RESTART WITH", "PN_INCREMENT BY", "RESTART", "INCREMENT",
                "PN_INCREMENT",
            ],
            syntax: [
                "APPLY path INCREMENT BY number, ...",
                "APPLY path RESTART [WITH number], ...",
                "APPLY path PN_INCREMENT BY number, ...",
            ],
            summary: "Changes counters, whose concurrent increments add up.",
            details: [
                """
                INCREMENT and RESTART are for a COUNTER, whose start is 0 by default; \
                PN_INCREMENT is for a PN_COUNTER, the older kind.
                """
            ],
            examples: [
                ReferenceExample(
                    """
                    UPDATE COLLECTION cars (views COUNTER) APPLY views INCREMENT BY 3 \
                    WHERE _id = 'a' RETURNING views
                    """,
                    ["{\"views\":3}"]),
                ReferenceExample(
                    """
                    UPDATE COLLECTION cars (views COUNTER) APPLY views RESTART WITH 10 \
                    WHERE _id = 'a' RETURNING views
                    """,
                    ["{\"views\":10}"]),
                ReferenceExample(
                    """
                    UPDATE COLLECTION cars (votes PN_COUNTER) APPLY votes PN_INCREMENT BY \
                    2 WHERE _id = 'a' RETURNING votes
                    """,
                    ["{\"votes\":2}"]),
            ]),
        ReferenceEntry(
            .clause, "->", aliases: ["tombstone", "default"],
            syntax: [
                "SET path -> tombstone()",
                "SET path -> default()",
                "SET path -> increment(number)",
                "SET path -> (path = expression, ...)",
            ],
            summary: "The older forms of UNSET, APPLY and assignments below a path.",
            details: [
                "`tombstone()` and `default()` remove the field."
            ],
            examples: [
                ReferenceExample(
                    """
                    UPDATE cars SET owner -> tombstone() WHERE _id = 'a' RETURNING owner \
                    IS MISSING AS removed
                    """,
                    ["{\"removed\":true}"]),
                ReferenceExample(
                    """
                    UPDATE cars SET engine -> (power = 90) WHERE _id = 'a' RETURNING \
                    engine
                    """,
                    ["{\"engine\":{\"power\":90}}"]),
            ]),
    ]
}
