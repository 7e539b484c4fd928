/// Expressions that end with END, and literals of arrays and objects.
extension Reference {
    static let elementOperators: [ReferenceEntry] = [
        ReferenceEntry(
            .operator, "ANY", aliases: ["SATISFIES", "ANY AND EVERY"],
            syntax: [
                "ANY variable IN array [, ...] SATISFIES condition END",
                "ANY AND EVERY variable IN array [, ...] SATISFIES condition END",
            ],
            summary: """
                Whether a condition is true for an element of an array; false for an \
                empty one.
                """,
            details: [
                """
                ANY AND EVERY requires at least one element, and the condition for each of \
                them. The values of an object are visited as well. Several variables visit \
                all combinations. A loop visits at most 1048576 elements for one row, and \
                loops are nested at most 8 deep.
                """
            ],
            examples: [
                .value("ANY n IN [1, 5] SATISFIES n > 3 END", "true"),
                .value("ANY n IN [] SATISFIES n > 3 END", "false"),
                .value("ANY n IN MISSING SATISFIES n > 3 END", "MISSING"),
                .value("ANY AND EVERY n IN [] SATISFIES n > 3 END", "false"),
                ReferenceExample(
                    "SELECT _id FROM cars WHERE ANY tag IN tags SATISFIES tag = 'fast' END",
                    ["{\"_id\":\"a\"}"]),
            ]),
        ReferenceEntry(
            .operator, "EVERY",
            syntax: [
                "EVERY variable IN array [, ...] SATISFIES condition END"
            ],
            summary: """
                Whether a condition is true for all elements of an array; true for an \
                empty one.
                """,
            examples: [
                .value("EVERY n IN [4, 5] SATISFIES n > 3 END", "true"),
                .value("EVERY n IN [] SATISFIES n > 3 END", "true"),
            ]),
        ReferenceEntry(
            .operator, "WITHIN",
            syntax: [
                "ANY variable WITHIN value SATISFIES condition END"
            ],
            summary: """
                Visits the elements and fields of a value at every depth, instead of \
                IN, which visits the first level.
                """,
            examples: [
                .value("ANY n WITHIN {'a': [1, {'b': 7}]} SATISFIES n = 7 END", "true"),
                .value("ANY n IN [[7]] SATISFIES n = 7 END", "MISSING"),
            ]),
        ReferenceEntry(
            .operator, "ARRAY", aliases: ["FOR", "WHEN"],
            syntax: [
                "ARRAY element FOR variable IN array [, ...] [WHEN condition] END"
            ],
            summary: """
                Returns an array of a value for each element that meets a condition; \
                missing values are omitted.
                """,
            details: [
                """
                A missing source yields MISSING, and one that is no array or object yields \
                NULL.
                """
            ],
            examples: [
                .value("ARRAY n * 2 FOR n IN [1, 2, 3] WHEN n > 1 END", "[4,6]"),
                .value("ARRAY n FOR n IN MISSING END", "MISSING"),
                .value("ARRAY n FOR n IN 5 END", "null"),
            ]),
        ReferenceEntry(
            .operator, "OBJECT",
            syntax: [
                "OBJECT name : value FOR variable IN array [, ...] [WHEN condition] END"
            ],
            summary: """
                Returns an object with a field for each element that meets a \
                condition; a later name wins.
                """,
            examples: [
                .value(
                    "OBJECT p.k : p.v FOR p IN [{'k': 'a', 'v': 1}, {'k': 'b', 'v': 2}] END",
                    "{\"a\":1,\"b\":2}")
            ]),
        ReferenceEntry(
            .operator, "CASE", aliases: ["THEN", "ELSE", "END"],
            syntax: [
                "CASE WHEN condition THEN value [...] [ELSE value] END",
                "CASE value WHEN candidate THEN value [...] [ELSE value] END",
            ],
            summary: """
                Returns the value of the first branch whose condition is true, or \
                whose candidate is equal.
                """,
            details: [
                """
                Without ELSE, the value of no branch is NULL. A null candidate never \
                matches; `decode` matches it.
                """
            ],
            examples: [
                .value("CASE WHEN 1 > 2 THEN 'a' ELSE 'b' END", "\"b\""),
                .value("CASE 3 WHEN 1 THEN 'one' WHEN 3 THEN 'three' END", "\"three\""),
                .value("CASE 9 WHEN 1 THEN 'one' END", "null"),
            ]),
    ]
}
