/// Operators on numbers, strings and truth values.
extension Reference {
    static let arithmeticOperators: [ReferenceEntry] = [
        ReferenceEntry(
            .operator, "+",
            syntax: [
                "a + b"
            ],
            summary: "Adds two numbers.",
            details: [
                """
                Two integers yield an integer, and a float with any number a float. \
                Another type yields MISSING, as do overflow, division by zero and results \
                that are not finite; NULL with a number or NULL yields NULL. Strings are \
                joined by `||`.
                """
            ],
            examples: [
                .value("1 + 2", "3"),
                .value("1 + 2.5", "3.5"),
                .value("'a' + 'b'", "MISSING"),
                .value("9223372036854775807 + 1", "MISSING"),
            ]),
        ReferenceEntry(
            .operator, "-",
            syntax: [
                "a - b",
                "-a",
            ],
            summary: "Subtracts two numbers, or negates one.",
            examples: [
                .value("5 - 7", "-2"),
                .value("-(2 + 3)", "-5"),
            ]),
        ReferenceEntry(
            .operator, "*",
            syntax: [
                "a * b"
            ],
            summary: "Multiplies two numbers.",
            examples: [
                .value("6 * 7", "42"),
                .value("2 * 1.5", "3.0"),
            ]),
        ReferenceEntry(
            .operator, "/",
            syntax: [
                "a / b"
            ],
            summary: """
                Divides two numbers; the quotient of two integers is an integer, \
                rounded toward zero.
                """,
            examples: [
                .value("5 / 2", "2"),
                .value("5.0 / 2", "2.5"),
                .value("1 / 0", "MISSING"),
            ]),
        ReferenceEntry(
            .operator, "%",
            syntax: [
                "a % b"
            ],
            summary: "Returns the remainder of a division, with the sign of the dividend.",
            examples: [
                .value("7 % 3", "1"),
                .value("-7 % 3", "-1"),
            ]),
        ReferenceEntry(
            .operator, "NEG",
            syntax: [
                "NEG a"
            ],
            summary: "Negates a number; the same as `-a`.",
            examples: [
                .value("NEG 5", "-5")
            ]),
        ReferenceEntry(
            .operator, "<<",
            syntax: [
                "a << b"
            ],
            summary: "Shifts an integer to the left; bits that are shifted out are lost.",
            details: [
                "A negative count, or a value that is no integer, yields MISSING."
            ],
            examples: [
                .value("1 << 4", "16"),
                .value("1 << -1", "MISSING"),
            ]),
        ReferenceEntry(
            .operator, ">>",
            syntax: [
                "a >> b"
            ],
            summary: "Shifts an integer to the right, keeping its sign.",
            examples: [
                .value("256 >> 4", "16"),
                .value("-16 >> 2", "-4"),
            ]),
        ReferenceEntry(
            .operator, "||",
            syntax: [
                "a || b"
            ],
            summary: "Joins two strings; any other type yields MISSING.",
            examples: [
                .value("'a' || 'b'", "\"ab\""),
                .value("'a' || 1", "MISSING"),
                .value("'a' || NULL", "null"),
            ]),
        ReferenceEntry(
            .operator, "AND",
            syntax: [
                "a AND b"
            ],
            summary: """
                True if both sides are true, and false if one is false; otherwise \
                unknown.
                """,
            details: [
                "MISSING, and values other than true and false, count as unknown."
            ],
            examples: [
                .value("true AND NULL", "null"),
                .value("false AND NULL", "false"),
                ReferenceExample(
                    "SELECT _id FROM cars WHERE color = 'blue' AND mileage > 1000",
                    ["{\"_id\":\"a\"}"]),
            ]),
        ReferenceEntry(
            .operator, "OR",
            syntax: [
                "a OR b"
            ],
            summary: """
                True if one side is true, and false if both are false; otherwise \
                unknown.
                """,
            examples: [
                .value("true OR NULL", "true"),
                ReferenceExample(
                    """
                    SELECT _id FROM cars WHERE color = 'red' OR mileage < 1000 ORDER BY \
                    _id
                    """,
                    ["{\"_id\":\"b\"}", "{\"_id\":\"c\"}"]),
            ]),
        ReferenceEntry(
            .operator, "XOR",
            syntax: [
                "a XOR b"
            ],
            summary: "True if exactly one side is true; unknown if one side is unknown.",
            details: [
                "It binds tighter than OR and looser than AND."
            ],
            examples: [
                .value("true XOR false", "true"),
                .value("true XOR true", "false"),
            ]),
        ReferenceEntry(
            .operator, "NOT",
            syntax: [
                "NOT a"
            ],
            summary: "True for false and false for true; unknown remains unknown.",
            examples: [
                .value("NOT false", "true"),
                .value("NOT NULL", "null"),
            ]),
    ]
}
