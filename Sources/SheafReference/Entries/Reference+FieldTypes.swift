/// The types that statements declare for fields.
extension Reference {
    static let fieldTypes: [ReferenceEntry] = [
        ReferenceEntry(
            .type, "MAP",
            syntax: [
                "field MAP",
                "field MAP(field type, ...)",
            ],
            summary: """
                An object whose fields merge independently; the type of undeclared \
                objects unless `dql_strict_mode` is true.
                """,
            examples: [
                ReferenceExample(
                    """
                    UPDATE COLLECTION cars (engine MAP) SET engine.power = 90 WHERE _id = \
                    'a' RETURNING engine
                    """,
                    ["{\"engine\":{\"power\":90}}"])
            ]),
        ReferenceEntry(
            .type, "REGISTER",
            syntax: [
                "field REGISTER"
            ],
            summary: """
                One value, of which the last write wins as a unit; the type of \
                scalars and arrays.
                """,
            examples: [
                ReferenceExample(
                    """
                    UPDATE COLLECTION cars (engine REGISTER) SET engine = { 'power': 90 } \
                    WHERE _id = 'a' RETURNING engine
                    """,
                    ["{\"engine\":{\"power\":90}}"])
            ]),
        ReferenceEntry(
            .type, "COUNTER",
            syntax: [
                "field COUNTER"
            ],
            summary: """
                A number whose concurrent increments add up, and which can be \
                restarted.
                """,
            examples: [
                ReferenceExample(
                    """
                    UPDATE COLLECTION cars (views COUNTER) APPLY views INCREMENT BY 1 \
                    WHERE _id = 'b' RETURNING views
                    """,
                    ["{\"views\":1}"])
            ]),
        ReferenceEntry(
            .type, "PN_COUNTER",
            syntax: [
                "field PN_COUNTER"
            ],
            summary: "The older kind of counter, with PN_INCREMENT and without a restart.",
            examples: [
                ReferenceExample(
                    """
                    UPDATE COLLECTION cars (votes PN_COUNTER) APPLY votes PN_INCREMENT BY \
                    1 WHERE _id = 'b' RETURNING votes
                    """,
                    ["{\"votes\":1}"])
            ]),
        ReferenceEntry(
            .type, "ATTACHMENT",
            syntax: [
                "field ATTACHMENT"
            ],
            summary: """
                A token of a file beside the documents, which peers fetch on request; \
                the last write wins.
                """,
            examples: [
                ReferenceExample(
                    """
                    INSERT INTO COLLECTION photos (file ATTACHMENT) DOCUMENTS ({ '_id': 1, \
                    'file': NULL })
                    """,
                    ["1 document changed"])
            ]),
    ]
}
