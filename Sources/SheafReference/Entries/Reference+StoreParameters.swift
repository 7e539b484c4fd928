/// The parameters of documents, transactions and replication.
extension Reference {
    static let storeParameters: [ReferenceEntry] = [
        ReferenceEntry(
            .parameter, "user_collection_sync_scopes",
            syntax: [
                "ALTER SYSTEM SET user_collection_sync_scopes = { 'collection': 'scope' }"
            ],
            summary: """
                The peers to which collections are sent: AllPeers, BigPeerOnly, \
                SmallPeersOnly or LocalPeerOnly.
                """,
            details: [
                """
                A collection without a scope is sent to all peers. A big peer is one \
                with `PeerConfiguration.isServer`, or `--server` of the tool; all others are \
                small peers. The default is an empty object.
                """
            ],
            examples: [
                ReferenceExample(
                    """
                    ALTER SYSTEM SET user_collection_sync_scopes = { 'cars': \
                    'LocalPeerOnly' }
                    """,
                    ["{\"user_collection_sync_scopes\":{\"cars\":\"LocalPeerOnly\"}}"])
            ]),
        ReferenceEntry(
            .parameter, "tombstone_ttl_enabled",
            syntax: [
                "ALTER SYSTEM SET tombstone_ttl_enabled = boolean"
            ],
            summary: "Whether tombstones of deleted documents expire; true by default.",
            examples: [
                ReferenceExample(
                    "SHOW tombstone_ttl_enabled",
                    ["{\"tombstone_ttl_enabled\":true}"])
            ]),
        ReferenceEntry(
            .parameter, "tombstone_ttl_hours",
            syntax: [
                "ALTER SYSTEM SET tombstone_ttl_hours = hours"
            ],
            summary: """
                Hours after which a tombstone expires; 168 by default, and at least \
                1.
                """,
            details: [
                "A peer that was away for longer may bring deleted documents back."
            ],
            examples: [
                ReferenceExample(
                    "SHOW tombstone_ttl_hours",
                    ["{\"tombstone_ttl_hours\":168}"]),
                ReferenceExample(
                    "ALTER SYSTEM SET tombstone_ttl_hours = 0",
                    ["error: tombstone_ttl_hours must be an integer of at least 1, not 0"]),
            ]),
        ReferenceEntry(
            .parameter, "days_between_reaping",
            syntax: [
                "ALTER SYSTEM SET days_between_reaping = days"
            ],
            summary: "Days between two collections of expired tombstones; 1 by default.",
            examples: [
                ReferenceExample(
                    "SHOW days_between_reaping",
                    ["{\"days_between_reaping\":1}"])
            ]),
        ReferenceEntry(
            .parameter, "tombstone_reap_batch_size",
            syntax: [
                "ALTER SYSTEM SET tombstone_reap_batch_size = count"
            ],
            summary: "Number of tombstones that one commit removes; 10000 by default.",
            examples: [
                ReferenceExample(
                    "SHOW tombstone_reap_batch_size",
                    ["{\"tombstone_reap_batch_size\":10000}"])
            ]),
        ReferenceEntry(
            .parameter, "attachment_grace_seconds",
            syntax: [
                "ALTER SYSTEM SET attachment_grace_seconds = seconds"
            ],
            summary: """
                Seconds for which an attachment without a document is kept; 600 by \
                default.
                """,
            examples: [
                ReferenceExample(
                    "SHOW attachment_grace_seconds",
                    ["{\"attachment_grace_seconds\":600}"])
            ]),
        ReferenceEntry(
            .parameter, "document_size_soft_limit_bytes",
            syntax: [
                "ALTER SYSTEM SET document_size_soft_limit_bytes = bytes"
            ],
            summary: "Bytes of a document above which a write is logged; 262144 by default.",
            examples: [
                ReferenceExample(
                    "SHOW document_size_soft_limit_bytes",
                    ["{\"document_size_soft_limit_bytes\":262144}"])
            ]),
        ReferenceEntry(
            .parameter, "document_size_hard_limit_bytes",
            syntax: [
                "ALTER SYSTEM SET document_size_hard_limit_bytes = bytes"
            ],
            summary: "Bytes of a document above which a write fails; 5242880 by default.",
            details: [
                "A merge of changes from several peers may exceed it."
            ],
            examples: [
                ReferenceExample(
                    "SHOW document_size_hard_limit_bytes",
                    ["{\"document_size_hard_limit_bytes\":5242880}"])
            ]),
        ReferenceEntry(
            .parameter, "transaction_duration_before_logging_ms",
            syntax: [
                "ALTER SYSTEM SET transaction_duration_before_logging_ms = milliseconds"
            ],
            summary: "Milliseconds after which a transaction is logged; 10000 by default.",
            examples: [
                ReferenceExample(
                    "SHOW transaction_duration_before_logging_ms",
                    ["{\"transaction_duration_before_logging_ms\":10000}"])
            ]),
        ReferenceEntry(
            .parameter, "transaction_trace_interval_ms",
            syntax: [
                "ALTER SYSTEM SET transaction_trace_interval_ms = milliseconds"
            ],
            summary: """
                Milliseconds between two log messages about one transaction; 5000 by \
                default.
                """,
            examples: [
                ReferenceExample(
                    "SHOW transaction_trace_interval_ms",
                    ["{\"transaction_trace_interval_ms\":5000}"])
            ]),
        ReferenceEntry(
            .parameter, "transaction_wait_limit_ms",
            syntax: [
                "ALTER SYSTEM SET transaction_wait_limit_ms = milliseconds"
            ],
            summary: """
                Milliseconds that a writer waits for one transaction before it fails; \
                30000 by default.
                """,
            examples: [
                ReferenceExample(
                    "SHOW transaction_wait_limit_ms",
                    ["{\"transaction_wait_limit_ms\":30000}"])
            ]),
        ReferenceEntry(
            .parameter, "subscription_clock_interval_ms",
            syntax: [
                "ALTER SYSTEM SET subscription_clock_interval_ms = milliseconds"
            ],
            summary: """
                Milliseconds after which the time of subscriptions with `clock()` is \
                renewed; 60000 by default.
                """,
            details: [
                """
                The minimum is 1000, and values above 366 days count as 366 days. A new \
                value applies to the interval that has begun.
                """
            ],
            examples: [
                ReferenceExample(
                    "SHOW subscription_clock_interval_ms",
                    ["{\"subscription_clock_interval_ms\":60000}"])
            ]),
    ]
}
