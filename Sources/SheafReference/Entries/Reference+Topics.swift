/// The notation of statements.
extension Reference {
    static let topics: [ReferenceEntry] = [
        ReferenceEntry(
            .topic, "names", aliases: ["identifiers", "backticks"],
            syntax: [
                "[A-Za-z_][A-Za-z0-9_]*",
                "`any characters`",
            ],
            summary: """
                Names of collections, fields, indexes and aliases are case-sensitive; \
                keywords and functions are not.
                """,
            details: [
                """
                Any name can be in backticks, with a backtick doubled. A keyword needs \
                them only where it would be ambiguous. `_id` is the id of a document, \
                names that begin with `__` are reserved, and `system:` is the namespace of \
                virtual collections.
                """
            ],
            examples: [
                ReferenceExample(
                    "SELECT `color` FROM cars WHERE _id = 'b'",
                    ["{\"color\":\"red\"}"])
            ]),
        ReferenceEntry(
            .topic, "paths", aliases: ["dots"],
            syntax: [
                "name.name.name"
            ],
            summary: """
                Dots descend into objects; reading through a value that is no object \
                yields MISSING.
                """,
            details: [
                """
                After a dot, a keyword or a quoted string is a name as well. A path may \
                begin with the name or the alias of its collection. There are no brackets: \
                `value_at` reads elements of arrays. A path has at most 64 names.
                """
            ],
            examples: [
                ReferenceExample(
                    "SELECT items.\"item-1\".qty, items.x.y AS absent FROM carts",
                    setup: [
                        """
                        INSERT INTO carts DOCUMENTS ({ '_id': 1, 'items': { 'item-1': { 'qty': \
                        2 } } })
                        """
                    ],
                    ["{\"qty\":2}"])
            ]),
        ReferenceEntry(
            .topic, "literals", aliases: ["strings", "numbers", "quotes"],
            syntax: [
                """
                'text' "text" 42 -1 2.5 1e3 0xFF true false NULL MISSING [1, 2] { 'name': \
                1 }
                """
            ],
            summary: """
                Strings are in single or double quotes; integers have 64 bits and \
                differ from floats.
                """,
            details: [
                """
                Escapes are those of JSON, and `\\'`; any other escape drops its \
                backslash. A doubled quote is an error. The names of an object need no \
                quotes.
                """
            ],
            examples: [
                .value("'it\\'s'", "\"it's\""),
                .value("0xFF", "255"),
                .value("{ a: 1e3 }", "{\"a\":1000.0}"),
            ]),
        ReferenceEntry(
            .topic, "comments",
            syntax: [
                "-- to the end of the line",
                "/* to the closing sign */",
            ],
            summary: """
                Comments are ignored; those that begin with a plus sign are \
                directives.
                """,
            examples: [
                ReferenceExample(
                    "SELECT _id /* the id */ FROM cars LIMIT 1 -- one row",
                    ["{\"_id\":\"a\"}"])
            ]),
        ReferenceEntry(
            .topic, "arguments", aliases: ["placeholders"],
            syntax: [
                ":name"
            ],
            summary: """
                Stands for a value in an expression: a whole document, a limit, or an \
                operand.
                """,
            details: [
                """
                An argument is never a name or a path. An argument without a value is an \
                error; a value without an argument is ignored. In Swift, an interpolated \
                value becomes an argument, and `\\(identifier: name)` a name in backticks.
                """
            ],
            examples: [
                ReferenceExample(
                    "SELECT * FROM cars WHERE color = :color",
                    ["error: Parameter color was not provided"])
            ]),
        ReferenceEntry(
            .topic, "MISSING and NULL", aliases: ["three-valued logic", "unknown"],
            summary: """
                An absent field is MISSING, which differs from NULL; a comparison \
                with either is not true.
                """,
            details: [
                """
                A function or an operator with a missing operand, or an operand of a wrong \
                type, yields MISSING and no error. Otherwise a null operand yields NULL. \
                WHERE, HAVING and ON keep the rows for which the condition is true. A \
                missing column is left out of the row.
                """
            ],
            examples: [
                ReferenceExample(
                    "SELECT _id, owner, tags FROM cars WHERE _id = 'c'",
                    ["{\"_id\":\"c\",\"owner\":null}"]),
                ReferenceExample(
                    "SELECT _id FROM cars WHERE NOT (owner = 'ann')",
                    ["{\"_id\":\"b\"}"]),
            ]),
        ReferenceEntry(
            .topic, "precedence",
            syntax: [
                "unary - and NEG",
                "* / %",
                "+ -",
                "<< >>",
                "||",
                "= == != <> < <= > >= BETWEEN IN",
                "LIKE ILIKE SIMILAR TO",
                "IS",
                "NOT",
                "AND",
                "XOR",
                "OR",
            ],
            summary: "The operators from the tightest to the loosest.",
            details: [
                """
                Two comparisons cannot follow each other without parentheses. Expressions \
                are nested at most 128 deep.
                """
            ],
            examples: [
                .value("1 + 2 * 3", "7"),
                .value("NOT false AND false", "false"),
            ]),
    ]
}
