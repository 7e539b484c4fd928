/// Functions of the rows of a group.
extension Reference {
    static let aggregates: [ReferenceEntry] = [
        ReferenceEntry(
            .function, "count",
            syntax: [
                "COUNT(*)",
                "COUNT([DISTINCT] value)",
            ],
            summary: """
                Returns the number of rows, or of values that are neither missing, \
                null nor false.
                """,
            details: [
                "Over no rows the result is 0, unlike that of all other aggregates."
            ],
            examples: [
                ReferenceExample(
                    """
                    SELECT COUNT(*) AS rows, COUNT(owner) AS owned, COUNT(DISTINCT color) \
                    AS colors FROM cars
                    """,
                    ["{\"colors\":2,\"owned\":2,\"rows\":3}"]),
                ReferenceExample(
                    "SELECT COUNT(mileage > 1000) AS used FROM cars",
                    ["{\"used\":2}"]),
            ]),
        ReferenceEntry(
            .function, "sum",
            syntax: [
                "SUM([DISTINCT] value)"
            ],
            summary: """
                Returns the sum of the numbers, ignoring other values; MISSING if \
                there are none.
                """,
            examples: [
                ReferenceExample(
                    """
                    SELECT color, SUM(mileage) AS total FROM cars GROUP BY color ORDER BY \
                    color
                    """,
                    ["{\"color\":\"blue\",\"total\":3800}", "{\"color\":\"red\",\"total\":52000}"])
            ]),
        ReferenceEntry(
            .function, "avg",
            syntax: [
                "AVG([DISTINCT] value)"
            ],
            summary: """
                Returns the mean of the numbers as a float, ignoring other values; \
                MISSING if there are none.
                """,
            examples: [
                ReferenceExample(
                    "SELECT AVG(mileage) AS mean FROM cars WHERE color = 'blue'",
                    ["{\"mean\":1900.0}"]),
                ReferenceExample(
                    "SELECT AVG(mileage) AS mean, COUNT(*) AS n FROM unknown",
                    ["{\"n\":0}"]),
            ]),
        ReferenceEntry(
            .function, "min",
            syntax: [
                "MIN(value)"
            ],
            summary: """
                Returns the least value in the order of ORDER BY, ignoring missing \
                and null ones.
                """,
            examples: [
                ReferenceExample(
                    "SELECT MIN(mileage) AS least, MIN(color) AS first FROM cars",
                    ["{\"first\":\"blue\",\"least\":800}"])
            ]),
        ReferenceEntry(
            .function, "max",
            syntax: [
                "MAX(value)"
            ],
            summary: """
                Returns the greatest value in the order of ORDER BY, ignoring missing \
                and null ones.
                """,
            examples: [
                ReferenceExample(
                    "SELECT MAX(mileage) AS greatest FROM cars",
                    ["{\"greatest\":52000}"])
            ]),
        ReferenceEntry(
            .function, "median",
            syntax: [
                "MEDIAN([DISTINCT] value)"
            ],
            summary: """
                Returns the middle number; of two middle numbers, their mean as a \
                float.
                """,
            details: [
                "It keeps all numbers of the group in memory."
            ],
            examples: [
                ReferenceExample(
                    "SELECT MEDIAN(mileage) AS median FROM cars",
                    ["{\"median\":3000}"]),
                ReferenceExample(
                    "SELECT MEDIAN(mileage) AS median FROM cars WHERE color = 'blue'",
                    ["{\"median\":1900.0}"]),
            ]),
        ReferenceEntry(
            .function, "mid",
            syntax: [
                "MID([DISTINCT] value)"
            ],
            summary: "Returns the middle number; of two middle numbers, the lower one.",
            details: [
                "It keeps all numbers of the group in memory."
            ],
            examples: [
                ReferenceExample(
                    "SELECT MID(mileage) AS mid FROM cars WHERE color = 'blue'",
                    ["{\"mid\":800}"])
            ]),
    ]
}
