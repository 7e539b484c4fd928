extension SystemParameters {
    /// Returns the description of a parameter in `system:dql_vars`.
    package static func description(of name: String) -> String {
        switch name {
        case "dql_strict_mode": "whether a field without a declared type is a register"
        case "dql_restrict_subscriptions": "whether subscriptions refuse ORDER BY and LIMIT"
        case "user_collection_sync_scopes": "the peers that collections are synced with"
        case "tombstone_ttl_enabled": "whether tombstones expire"
        case "tombstone_ttl_hours": "hours after which a tombstone expires"
        case "days_between_reaping": "days between two tombstone collections"
        case "tombstone_reap_batch_size": "tombstones removed by one commit"
        case "attachment_grace_seconds": "seconds that an attachment without a document is kept"
        case "dql_slow_request_warn_seconds":
            "seconds after which a statement is logged; 0 is never"
        case "dql_request_timeout_seconds": "seconds after which a statement ends; 0 is never"
        case "dql_default_directives": "default directives of statements without their own"
        case "dql_request_history_size": "statements kept in system:request_history"
        case "document_size_soft_limit_bytes": "bytes of a document above which it is logged"
        case "document_size_hard_limit_bytes": "bytes that a document may have"
        case "transaction_duration_before_logging_ms":
            "milliseconds after which a transaction is logged"
        case "transaction_trace_interval_ms": "milliseconds between two logs of a transaction"
        case "transaction_wait_limit_ms":
            "milliseconds that a writer waits for one transaction"
        case "subscription_clock_interval_ms":
            "milliseconds after which subscriptions with clock() are renewed"
        case "column_cache_bytes": "maximum bytes of columns in memory; 0 keeps none"
        case "column_cache_scans":
            "full scans of a field before it gets a column; 0 is the first scan"
        case "live_query_system_collection_refresh_interval":
            "milliseconds between two results of an observed system collection"
        default: ""
        }
    }
}
