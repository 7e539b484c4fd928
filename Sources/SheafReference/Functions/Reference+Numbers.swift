/// Functions on numbers.
extension Reference {
    static let numberFunctions: [ReferenceEntry] = [
        ReferenceEntry(
            .function, "abs",
            syntax: [
                "abs(number)"
            ],
            summary: """
                Returns the absolute value; MISSING for the least integer, which has \
                no counterpart.
                """,
            examples: [
                .value("abs(-3)", "3"),
                .value("abs('3')", "MISSING"),
            ]),
        ReferenceEntry(
            .function, "ceil",
            syntax: [
                "ceil(number)"
            ],
            summary: "Rounds a number up; a float remains a float.",
            examples: [
                .value("ceil(1.2)", "2.0"),
                .value("ceil(3)", "3"),
            ]),
        ReferenceEntry(
            .function, "floor",
            syntax: [
                "floor(number)"
            ],
            summary: "Rounds a number down; a float remains a float.",
            examples: [
                .value("floor(-1.2)", "-2.0")
            ]),
        ReferenceEntry(
            .function, "round",
            syntax: [
                "round(number[, digits])"
            ],
            summary: """
                Rounds a number, with halves away from zero, to a number of decimal \
                digits.
                """,
            details: [
                """
                Negative digits round before the point. A float is rounded as its shortest \
                decimal text, so that 1.005 becomes 1.01. Digits must be an integer.
                """
            ],
            examples: [
                .value("round(2.5)", "3.0"),
                .value("round(1.005, 2)", "1.01"),
                .value("round(1250, -2)", "1300"),
                .value("round(1.5, 1.0)", "MISSING"),
            ]),
        ReferenceEntry(
            .function, "sqrt",
            syntax: [
                "sqrt(number)"
            ],
            summary: "Returns the square root as a float; MISSING for a negative number.",
            examples: [
                .value("sqrt(9)", "3.0"),
                .value("sqrt(-1)", "MISSING"),
            ]),
        ReferenceEntry(
            .function, "power",
            syntax: [
                "power(base, exponent)"
            ],
            summary: """
                Returns a power: an integer for integers, unless the exponent is \
                negative.
                """,
            details: [
                """
                An integer that exceeds 64 bits, and a result that is not a finite number, \
                yield MISSING.
                """
            ],
            examples: [
                .value("power(2, 10)", "1024"),
                .value("power(2, -1)", "0.5"),
                .value("power(2, 0.5)", "1.4142135623730951"),
                .value("power(10, 19)", "MISSING"),
            ]),
        ReferenceEntry(
            .function, "sign",
            syntax: [
                "sign(number)"
            ],
            summary: "Returns -1, 0 or 1 as an integer.",
            examples: [
                .value("sign(-2.5)", "-1"),
                .value("sign(0)", "0"),
            ]),
    ]
}
