/// System collections.
extension Reference {
    static let systemCollections: [ReferenceEntry] = [
        ReferenceEntry(
            .collection, "system:dual",
            summary: "One empty row, for statements that need no document.",
            examples: [
                ReferenceExample(
                    "SELECT 1 + 1 AS sum FROM system:dual",
                    ["{\"sum\":2}"])
            ]),
        ReferenceEntry(
            .collection, "system:collections", aliases: ["__collections"],
            summary: """
                The collections of the store: `name`, the number of `documents`, and the `bytes` of \
                their newest operations in the log.
                """,
            examples: [
                ReferenceExample(
                    "SELECT name, documents FROM system:collections ORDER BY name",
                    [
                        "{\"documents\":3,\"name\":\"cars\"}",
                        "{\"documents\":2,\"name\":\"owners\"}",
                    ])
            ]),
        ReferenceEntry(
            .collection, "system:indexes",
            summary: """
                The indexes: `collection`, and `fields`, each with a `direction` and \
                the path as `key`.
                """,
            examples: [
                ReferenceExample(
                    "SELECT * FROM system:indexes",
                    [
                        """
                        {"_id":"cars.by_color","collection":"cars","fields":[{"direction":"asc","key":["color"]}]}
                        """
                    ])
            ]),
        ReferenceEntry(
            .collection, "system:fields",
            summary: """
                The fields of each `collection`: `field`, the number of documents with it as `count`, \
                and how often it has which of the `types`.
                """,
            details: [
                """
                At most 1,000 documents of a collection are read, evenly distributed by `_id`; their \
                number is `sampled`. At most 500 fields of a collection are listed, and those of \
                embedded objects up to a path of four names.
                """
            ],
            examples: [
                ReferenceExample(
                    "SELECT field, types FROM system:fields WHERE collection = 'owners'", nil)
            ]),
        ReferenceEntry(
            .collection, "system:history",
            summary: """
                The changes of documents, commit by commit: `commit`, its `time`, `collection`, \
                `document`, `action`, and the changed `fields`.
                """,
            details: [
                """
                The action is `insert`, `update`, `delete` or `evict`. `site` is the store that wrote \
                the change first, `writtenAt` the time by its clock, and `isLocal` is false if a peer \
                sent the commit. Times are milliseconds since 1970.
                """,
                """
                A compacted commit may lack changes. Its `time` is null, and so is `isLocal` if the \
                sender is not known any more.
                """,
                """
                Conditions on `commit`, and on `collection` with `document`, limit what is read of the \
                log; ORDER BY commit DESC with LIMIT reads only its end.
                """,
            ],
            examples: [
                ReferenceExample(
                    """
                    SELECT action, fields FROM system:history WHERE collection = 'cars' AND \
                    document = 'a' ORDER BY commit DESC LIMIT 1
                    """,
                    setup: ["UPDATE cars SET color = 'red' WHERE _id = 'a'"],
                    ["{\"action\":\"update\",\"fields\":[\"color\"]}"])
            ]),
        ReferenceEntry(
            .collection, "system:log",
            summary: """
                The commits: `commit`, `time`, `bytes`, the number of `operations` and of changed \
                `documents`, `site`, `isLocal` and `isCompacted`.
                """,
            details: [
                """
                A compacted commit has only the operations that are still needed, and no time; \
                commits without any are missing.
                """
            ],
            examples: [
                ReferenceExample(
                    "SELECT commit, time, bytes FROM system:log ORDER BY commit DESC LIMIT 10", nil)
            ]),
        ReferenceEntry(
            .collection, "system:conflicts",
            summary: """
                Fields with several values that stores wrote without knowing each other: \
                `collection`, `document`, `field` and `values`.
                """,
            details: [
                """
                Each of the values has its `value`, `site`, `time`, and whether it `isShown`, because \
                it is the latest. The next write to the field replaces all of them.
                """
            ],
            examples: [
                ReferenceExample("SELECT * FROM system:conflicts", ["no rows"])
            ]),
        ReferenceEntry(
            .collection, "system:observers",
            summary: """
                The observers of this process: `statement`, how often it was run (`runs`) and its \
                result was updated from changes (`updates`), `microseconds`, `lastMicroseconds`, \
                `rows` and `error`.
                """,
            details: [
                "`kind` is `incremental` if the last result was updated from changes, and `run` otherwise."
            ],
            examples: [
                ReferenceExample(
                    "SELECT statement, rows FROM system:observers", ["no rows"])
            ]),
        ReferenceEntry(
            .collection, "system:health",
            summary: """
                Numbers about the store in this process: `name` and `value`, such as `log_bytes`, \
                `live_bytes`, `flushes`, `flush_longest_nanoseconds` and `process_memory_bytes`.
                """,
            examples: [
                ReferenceExample(
                    "SELECT value FROM system:health WHERE name = 'is_writable'",
                    ["{\"value\":1}"])
            ]),
        ReferenceEntry(
            .collection, "system:hub",
            summary: """
                Numbers about the hub in this process: `name` and `value`, such as `hub_ready`, \
                `hub_durable_lag_ms`, `hub_clients_held` and `hub_incidents`.
                """,
            details: ["It is empty in stores that are not those of a hub."],
            examples: [
                ReferenceExample(
                    "SELECT value FROM system:hub WHERE name = 'hub_ready'", ["no rows"])
            ]),
        ReferenceEntry(
            .collection, "system:presence",
            summary: """
                The peers that are reachable: `peer`, `name`, `site`, `distance`, `connections` and \
                `metadata`; `kind` is `local`, `remote` or `disconnected`.
                """,
            details: [
                """
                Each connection has the `peer` at its other end and its `transport`. Those of the \
                local peer also have `bytesSent`, `bytesReceived`, the progress of a long sync as \
                `receiving` and `sending`, and the number of newest commits that the other peer \
                has not confirmed as `lag`, which is null until it confirms one.
                """,
                """
                `site` is that of stamps, known of the local peer and of those that were connected to \
                it. Peers that are reachable also have `isServer`, `operatingSystem` and the \
                `version` of Sheaf. A disconnected peer has `address`, `reason` and `since`. Without \
                a running peer there are no rows.
                """,
            ],
            examples: [
                ReferenceExample("SELECT name FROM system:presence", ["no rows"])
            ]),
        ReferenceEntry(
            .collection, "system:subscriptions",
            summary: "The subscriptions of the peer in this process: `statement`.",
            examples: [
                ReferenceExample("SELECT statement FROM system:subscriptions", ["no rows"])
            ]),
        ReferenceEntry(
            .collection, "system:system_info",
            summary: """
                Facts about the store and all parameters: `namespace`, `key`, \
                `value`, and the time of the statement as `timestamp`.
                """,
            examples: [
                ReferenceExample(
                    """
                    SELECT key, value FROM system:system_info WHERE namespace = 'store' \
                    AND key != 'commit_id' ORDER BY key
                    """,
                    [
                        "{\"key\":\"collection_count\",\"value\":2}",
                        "{\"key\":\"index_count\",\"value\":1}",
                    ])
            ]),
        ReferenceEntry(
            .collection, "system:dql_vars",
            summary: "The parameters: `name`, `value`, `default` and `description`.",
            examples: [
                ReferenceExample(
                    """
                    SELECT name, value, description FROM system:dql_vars WHERE name = \
                    'tombstone_ttl_hours'
                    """,
                    [
                        """
                        {"description":"hours after which a tombstone \
                        expires","name":"tombstone_ttl_hours","value":168}
                        """
                    ])
            ]),
        ReferenceEntry(
            .collection, "system:active_requests",
            summary: """
                The running statements, the oldest first: `text`, `state`, \
                `startTime`, `elapsedNanoseconds` and `resultCount`.
                """,
            details: [
                "Point lookups by `_id` are too short to be shown."
            ],
            examples: [
                ReferenceExample(
                    "SELECT text, state FROM system:active_requests",
                    [
                        """
                        {"state":"running","text":"SELECT text, state FROM \
                        system:active_requests"}
                        """
                    ])
            ]),
        ReferenceEntry(
            .collection, "system:request_history",
            summary: """
                The statements that finished last, the oldest first: the fields of \
                `system:active_requests`, and `error` if one failed.
                """,
            details: [
                "The parameter `dql_request_history_size` is their maximum number."
            ],
            examples: [
                ReferenceExample(
                    """
                    SELECT text, state FROM system:request_history WHERE text LIKE \
                    'CREATE%'
                    """,
                    [
                        """
                        {"state":"completed","text":"CREATE INDEX by_color ON cars (color)"}
                        """
                    ])
            ]),
        ReferenceEntry(
            .collection, "system:shared_statements",
            summary: """
                The parsed statements in the cache, the most recently used first: \
                `statement` and `parameters`.
                """,
            examples: [
                ReferenceExample(
                    "SELECT COUNT(*) > 0 AS cached FROM system:shared_statements",
                    ["{\"cached\":true}"])
            ]),
        ReferenceEntry(
            .collection, "system:metrics",
            summary: "Counters since the store was opened: `name` and `value`.",
            details: [
                """
                The names are requests, requests_active, requests_failed, \
                request_nanoseconds, rows_returned, statements_parsed, observers_failed \
                and documents_mutated.
                """
            ],
            examples: [
                ReferenceExample(
                    "SELECT value FROM system:metrics WHERE name = 'requests_failed'",
                    ["{\"value\":0}"])
            ]),
        ReferenceEntry(
            .collection, "system:data_sync_info",
            summary: """
                The peers: the key as `_id`, `is_ditto_server`, `clock`, \
                `attachments`, and in `documents` the state of replication.
                """,
            details: [
                """
                The fields of `documents` are `sync_session_status` (Connected, Not \
                Connected or Disabled), `last_close_reason`, \
                `synced_up_to_local_commit_id`, `delivered_up_to_local_commit_id`, `receiving`, \
                `sending` and `last_update_received_time`. A store without a peer has no rows.
                """,
                """
                `receiving` and `sending` are null except in a long sync. Then `documents` is the \
                number received or sent so far, and `remaining` the estimated number of those that \
                follow, or null.
                """,
            ],
            examples: [
                ReferenceExample(
                    "SELECT * FROM system:data_sync_info",
                    ["no rows"])
            ]),
        ReferenceEntry(
            .collection, "system:transports_info",
            summary: """
                The transports of the peer: `transport` is the name of its type, and \
                `is_active` is whether it is started.
                """,
            examples: [
                ReferenceExample(
                    "SELECT * FROM system:transports_info",
                    ["no rows"])
            ]),
        ReferenceEntry(
            .collection, "system:refused_writes",
            summary: """
                The writes that other peers refused: `collection`, `document_id`, \
                `peer`, `reason`, `message`, `commit_ids` and `refused_at`.
                """,
            examples: [
                ReferenceExample(
                    "SELECT * FROM system:refused_writes",
                    ["no rows"])
            ]),
    ]
}
