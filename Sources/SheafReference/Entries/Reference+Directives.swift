/// Directives.
extension Reference {
    static let directives: [ReferenceEntry] = [
        ReferenceEntry(
            .directive, "#index",
            syntax: [
                "/*+ {\"#index\": \"name\"} */",
                "/*+ {\"#index\": [\"name\", ...]} */",
            ],
            summary: """
                Chooses among indexes, like USE INDEX; the empty name forbids all of \
                them.
                """,
            details: [
                """
                Directives are JSON in a comment that begins with a plus sign: at the \
                start of a statement, after SELECT, or after the name of a collection. In \
                a join they have no effect. An unknown directive, or a value of a wrong \
                type, is an error.
                """
            ],
            examples: [
                ReferenceExample(
                    """
                    /*+ {"#index": "by_color"} */ SELECT _id FROM cars WHERE color = 'red'
                    """,
                    ["{\"_id\":\"b\"}"]),
                ReferenceExample(
                    "/*+ {\"#indx\": \"by_color\"} */ SELECT _id FROM cars",
                    [
                        "error: there is no directive #indx",
                        "(did you mean #index?)",
                    ]),
            ]),
        ReferenceEntry(
            .directive, "#disable_index_scan",
            syntax: [
                "/*+ {\"#disable_index_scan\": boolean} */"
            ],
            summary: "Whether to read the collection without indexes; false by default.",
            examples: [
                ReferenceExample(
                    """
                    /*+ {"#disable_index_scan": true} */ SELECT _id FROM cars WHERE color \
                    = 'red'
                    """,
                    ["{\"_id\":\"b\"}"])
            ]),
        ReferenceEntry(
            .directive, "#prefer_order",
            syntax: [
                "/*+ {\"#prefer_order\": boolean} */"
            ],
            summary: """
                Whether to take an index in the order of ORDER BY, if there is one, \
                even if another reads fewer documents; false by default.
                """,
            examples: [
                ReferenceExample(
                    """
                    /*+ {"#prefer_order": true} */ SELECT _id FROM cars WHERE mileage > \
                    1000 ORDER BY color
                    """,
                    ["{\"_id\":\"a\"}", "{\"_id\":\"b\"}"])
            ]),
        ReferenceEntry(
            .directive, "#intersects",
            syntax: [
                "/*+ {\"#intersects\": boolean} */"
            ],
            summary: """
                Whether to intersect several indexes; without the directive, the plan \
                does so if each of them has more than 1000 entries to read.
                """,
            examples: [
                ReferenceExample(
                    """
                    /*+ {"#intersects": false} */ SELECT _id FROM cars WHERE color = 'red'
                    """,
                    ["{\"_id\":\"b\"}"])
            ]),
        ReferenceEntry(
            .directive, "#max_scans",
            syntax: [
                "/*+ {\"#max_scans\": count} */"
            ],
            summary: """
                Maximum number of index scans in the union for an OR; a positive \
                integer, and 64 by default.
                """,
            details: [
                "With more branches, the collection is read completely."
            ],
            examples: [
                ReferenceExample(
                    """
                    /*+ {"#max_scans": 1} */ SELECT _id FROM cars WHERE color = 'red' OR \
                    color = 'green'
                    """,
                    ["{\"_id\":\"b\"}"])
            ]),
        ReferenceEntry(
            .directive, "#max_joins",
            syntax: [
                "/*+ {\"#max_joins\": count} */"
            ],
            summary: "Maximum number of joins of a statement; at most 16.",
            examples: [
                ReferenceExample(
                    """
                    /*+ {"#max_joins": 0} */ SELECT c._id FROM cars c JOIN owners o ON \
                    o._id = c.owner
                    """,
                    ["error: #max_joins forbids more than 0 joins"])
            ]),
        ReferenceEntry(
            .directive, "#strict_mode",
            syntax: [
                "/*+ {\"#strict_mode\": boolean} */"
            ],
            summary: "Overrides the parameter `dql_strict_mode` for one statement.",
            details: [
                "It is not allowed after a collection, nor in `dql_default_directives`."
            ],
            examples: [
                ReferenceExample(
                    """
                    /*+ {"#strict_mode": true} */ SELECT _id FROM cars WHERE color = 'red'
                    """,
                    ["{\"_id\":\"b\"}"])
            ]),
    ]
}
