/// The parameters of statements.
extension Reference {
    static let languageParameters: [ReferenceEntry] = [
        ReferenceEntry(
            .parameter, "dql_strict_mode",
            syntax: [
                "ALTER SYSTEM SET dql_strict_mode = boolean"
            ],
            summary: "Whether a field without a declared type is a register.",
            details: [
                """
                The default is false; that of `Ditto` is true, and `StoreOptions.isStrict` \
                changes it.
                """
            ],
            examples: [
                ReferenceExample(
                    "SHOW dql_strict_mode",
                    ["{\"dql_strict_mode\":false}"])
            ]),
        ReferenceEntry(
            .parameter, "dql_restrict_subscriptions",
            syntax: [
                "ALTER SYSTEM SET dql_restrict_subscriptions = boolean"
            ],
            summary: "Whether subscriptions refuse ORDER BY and LIMIT; true by default.",
            examples: [
                ReferenceExample(
                    "SHOW dql_restrict_subscriptions",
                    ["{\"dql_restrict_subscriptions\":true}"])
            ]),
        ReferenceEntry(
            .parameter, "dql_slow_request_warn_seconds",
            syntax: [
                "ALTER SYSTEM SET dql_slow_request_warn_seconds = seconds"
            ],
            summary: """
                Seconds after which a statement is logged; 60 by default, and 0 is \
                never.
                """,
            examples: [
                ReferenceExample(
                    "SHOW dql_slow_request_warn_seconds",
                    ["{\"dql_slow_request_warn_seconds\":60}"])
            ]),
        ReferenceEntry(
            .parameter, "dql_request_timeout_seconds",
            syntax: [
                "ALTER SYSTEM SET dql_request_timeout_seconds = seconds"
            ],
            summary: """
                Seconds after which a statement ends with an error; 0 by default, \
                which is never.
                """,
            examples: [
                ReferenceExample(
                    "SHOW dql_request_timeout_seconds",
                    ["{\"dql_request_timeout_seconds\":0}"])
            ]),
        ReferenceEntry(
            .parameter, "dql_default_directives",
            syntax: [
                "ALTER SYSTEM SET dql_default_directives = object"
            ],
            summary: """
                Directives of all statements, which their own directives override; \
                empty by default.
                """,
            examples: [
                ReferenceExample(
                    "ALTER SYSTEM SET dql_default_directives = { '#intersects': false }",
                    ["{\"dql_default_directives\":{\"#intersects\":false}}"])
            ]),
        ReferenceEntry(
            .parameter, "dql_request_history_size",
            syntax: [
                "ALTER SYSTEM SET dql_request_history_size = count"
            ],
            summary: """
                Number of statements kept in `system:request_history`; 4096 by \
                default.
                """,
            examples: [
                ReferenceExample(
                    "SHOW dql_request_history_size",
                    ["{\"dql_request_history_size\":4096}"])
            ]),
        ReferenceEntry(
            .parameter, "column_cache_bytes",
            syntax: [
                "ALTER SYSTEM SET column_cache_bytes = bytes"
            ],
            summary: """
                Maximum memory of columns: the values of fields that full scans use often. \
                Conditions and groups are evaluated without reading documents, and a sort \
                with a limit skips documents. Above the maximum, the columns of the least \
                recently scanned collection are released. 67108864 (64 MiB) by default; 0 \
                keeps none.
                """,
            examples: [
                ReferenceExample(
                    "SHOW column_cache_bytes",
                    ["{\"column_cache_bytes\":67108864}"])
            ]),
        ReferenceEntry(
            .parameter, "column_cache_scans",
            syntax: [
                "ALTER SYSTEM SET column_cache_scans = count"
            ],
            summary: """
                Number of full scans of at least 1,000 documents that use a field before \
                it gets a column; 3 by default. With 0, each full scan makes columns of the \
                fields it uses, also of smaller collections.
                """,
            examples: [
                ReferenceExample(
                    "SHOW column_cache_scans",
                    ["{\"column_cache_scans\":3}"])
            ]),
        ReferenceEntry(
            .parameter, "live_query_system_collection_refresh_interval",
            syntax: [
                """
                ALTER SYSTEM SET live_query_system_collection_refresh_interval = \
                milliseconds
                """
            ],
            summary: """
                Milliseconds between two results of an observed system collection; \
                500 by default.
                """,
            examples: [
                ReferenceExample(
                    "SHOW live_query_system_collection_refresh_interval",
                    ["{\"live_query_system_collection_refresh_interval\":500}"])
            ]),
    ]
}
