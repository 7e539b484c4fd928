package import SheafDocument
import SheafQuery
import SheafStorage

/// The parameters of ALTER SYSTEM and SHOW, which are discarded when the store is closed.
package struct SystemParameters: Sendable {
    /// The type of a parameter.
    private enum Kind: Sendable {
        case boolean
        /// An integer that is at least this one.
        case integer(from: Int64)
        case object
        /// Any value; accepted for compatibility with the reference, without effect.
        case ignored
    }

    private struct Parameter: Sendable {
        let name: String
        let kind: Kind
        let defaultValue: Value
    }

    private static let parameters: [Parameter] = [
        Parameter(name: "dql_strict_mode", kind: .boolean, defaultValue: false),
        Parameter(name: "dql_restrict_subscriptions", kind: .boolean, defaultValue: true),
        Parameter(name: "user_collection_sync_scopes", kind: .object, defaultValue: .object([:])),
        Parameter(name: "tombstone_ttl_enabled", kind: .boolean, defaultValue: true),
        Parameter(name: "tombstone_ttl_hours", kind: .integer(from: 1), defaultValue: 168),
        Parameter(name: "days_between_reaping", kind: .integer(from: 1), defaultValue: 1),
        Parameter(name: "tombstone_reap_batch_size", kind: .integer(from: 1), defaultValue: 10_000),
        Parameter(name: "attachment_grace_seconds", kind: .integer(from: 1), defaultValue: 600),
        Parameter(name: "dql_slow_request_warn_seconds", kind: .integer(from: 0), defaultValue: 60),
        Parameter(name: "dql_request_timeout_seconds", kind: .integer(from: 0), defaultValue: 0),
        Parameter(name: "dql_default_directives", kind: .object, defaultValue: .object([:])),
        Parameter(name: "dql_request_history_size", kind: .integer(from: 0), defaultValue: 4_096),
        Parameter(
            name: "document_size_soft_limit_bytes", kind: .integer(from: 0), defaultValue: 262_144),
        Parameter(
            name: "document_size_hard_limit_bytes", kind: .integer(from: 1), defaultValue: 5_242_880
        ),
        Parameter(
            name: "transaction_duration_before_logging_ms", kind: .integer(from: 0),
            defaultValue: 10_000),
        Parameter(
            name: "transaction_trace_interval_ms", kind: .integer(from: 1), defaultValue: 5_000),
        Parameter(
            name: "transaction_wait_limit_ms", kind: .integer(from: 1), defaultValue: 30_000),
        Parameter(
            name: "live_query_system_collection_refresh_interval", kind: .integer(from: 1),
            defaultValue: 500),
        Parameter(
            name: "subscription_clock_interval_ms", kind: .integer(from: 1_000),
            defaultValue: 60_000),
        Parameter(
            name: "column_cache_bytes", kind: .integer(from: 0),
            defaultValue: .integer(Int64(ColumnCache.defaultBytes))),
        Parameter(
            name: "column_cache_scans", kind: .integer(from: 0),
            defaultValue: .integer(Int64(ColumnCache.defaultScans))),
        Parameter(name: "rotating_log_file_max_size_mb", kind: .ignored, defaultValue: 1),
        Parameter(name: "rotating_log_file_max_age_h", kind: .ignored, defaultValue: 24),
        Parameter(name: "rotating_log_file_max_files_on_disk", kind: .ignored, defaultValue: 15),
        Parameter(
            name: "mesh_chooser_avoid_redundant_bluetooth", kind: .ignored, defaultValue: true),
        Parameter(name: "transports_discovered_peers", kind: .ignored, defaultValue: []),
    ]

    /// The prefixes of the reference's parameters for transports and log files.
    private static let ignoredPrefixes = ["rotating_log_file_", "mesh_chooser_", "transports_"]

    /// The initial value of `dql_strict_mode`.
    private let initialStrictMode: Value

    private var changed: [String: Value] = [:] {
        didSet { updateCache() }
    }

    // Cached, because statements and background work read these values often.
    package private(set) var isStrict = false
    package private(set) var hardSizeLimit = Int.max
    private(set) var requestHistorySize = Int.max
    private(set) var timeoutSeconds: Int64 = 0
    private(set) var slowRequestSeconds: Int64 = 0
    private(set) var softSizeLimit = Int.max
    package private(set) var collectsTombstones = true
    package private(set) var tombstoneLifetimeMilliseconds: UInt64 = 0
    package private(set) var collectionIntervalDays: Int64 = 1
    package private(set) var tombstoneBatchSize = 1
    /// The time for which unreferenced attachments are retained.
    package private(set) var attachmentGraceMilliseconds: UInt64 = 0
    package private(set) var transactionSchedule = SlowTransactionSchedule()
    /// Maximum time that a writer waits for one transaction.
    package private(set) var transactionWaitMilliseconds: UInt64 = 30_000
    /// The interval between results of an observed system collection.
    package private(set) var systemRefreshMilliseconds = Int.max
    /// The default directives of statements without their own.
    private(set) var defaultDirectives: [Object] = []
    /// Whether ORDER BY and LIMIT are rejected in subscriptions.
    package private(set) var restrictsSubscriptions = true
    /// The peers with which collections are synchronized.
    package private(set) var syncScopes = SyncScopes()

    /// Maximum memory of fields in columns; zero turns columns off.
    private(set) var columnCacheBytes = 0
    /// The number of full scans after which the fields that they read get columns.
    private(set) var columnCacheScans = 0
    /// The interval at which subscriptions that read `clock()` are renewed.
    package private(set) var subscriptionClockNanoseconds: UInt64 = 60_000_000_000

    /// Creates the parameters of a newly opened store.
    package init(isStrict: Bool = false) {
        initialStrictMode = .bool(isStrict)
        updateCache()
    }

    private mutating func updateCache() {
        isStrict = (try? value("dql_strict_mode")) == .bool(true)
        // No parameter raises the limit of the encoding.
        hardSizeLimit = min(
            integer("document_size_hard_limit_bytes"), EncodedDocument.maximumLength)
        requestHistorySize = integer("dql_request_history_size")
        timeoutSeconds = Int64(integer("dql_request_timeout_seconds"))
        slowRequestSeconds = Int64(integer("dql_slow_request_warn_seconds"))
        softSizeLimit = integer("document_size_soft_limit_bytes")
        collectsTombstones = (try? value("tombstone_ttl_enabled")) == .bool(true)
        // The limit is a million years, so that the product cannot overflow.
        tombstoneLifetimeMilliseconds =
            UInt64(min(integer("tombstone_ttl_hours"), 8_766_000_000)) * 3_600_000
        collectionIntervalDays = Int64(integer("days_between_reaping"))
        tombstoneBatchSize = integer("tombstone_reap_batch_size")
        attachmentGraceMilliseconds =
            UInt64(min(integer("attachment_grace_seconds"), 31_557_600_000)) * 1_000
        transactionSchedule = SlowTransactionSchedule(
            firstMilliseconds: UInt64(integer("transaction_duration_before_logging_ms")),
            nextMilliseconds: UInt64(integer("transaction_trace_interval_ms")))
        // The limit is about a year, so that later products cannot overflow.
        transactionWaitMilliseconds = UInt64(
            min(integer("transaction_wait_limit_ms"), 366 * 86_400_000))
        systemRefreshMilliseconds = min(
            integer("live_query_system_collection_refresh_interval"), 366 * 86_400_000)
        subscriptionClockNanoseconds =
            UInt64(min(integer("subscription_clock_interval_ms"), 366 * 86_400_000)) * 1_000_000
        columnCacheBytes = integer("column_cache_bytes")
        columnCacheScans = integer("column_cache_scans")
        restrictsSubscriptions = (try? value("dql_restrict_subscriptions")) != .bool(false)
        syncScopes = SyncScopes()
        if case .object(let object)? = changed["user_collection_sync_scopes"],
            let scopes = try? SyncScopes(object)
        {
            syncScopes = scopes
        }
        defaultDirectives = []
        if case .object(let object)? = changed["dql_default_directives"] {
            defaultDirectives = [object]
        }
    }

    /// The parameters on which the meaning of statements depends.
    package struct Meaning: Equatable {
        package let isStrict: Bool
        /// The default directives as JSON.
        let directives: [String]
    }

    package var meaning: Meaning {
        Meaning(
            isStrict: isStrict, directives: defaultDirectives.map { Value.object($0).json })
    }

    /// Returns the value of a parameter, ignoring the case of its name.
    package func value(_ name: String) throws(StoreError) -> Value {
        let parameter = try Self.parameter(name)
        return changed[parameter.name] ?? initial(parameter)
    }

    private func initial(_ parameter: Parameter) -> Value {
        parameter.name == "dql_strict_mode" ? initialStrictMode : parameter.defaultValue
    }

    /// Sets a parameter; returns its name in lowercase.
    package mutating func set(_ name: String, to value: Value) throws(StoreError) -> String {
        let parameter = try Self.parameter(name)
        let wanted: String
        if parameter.name == "dql_default_directives", case .object(let object) = value {
            try Directives.check(object)
        }
        if parameter.name == "user_collection_sync_scopes", case .object(let object) = value {
            _ = try SyncScopes(object)
        }
        switch (parameter.kind, value) {
        case (.boolean, .bool), (.object, .object), (.ignored, _):
            changed[parameter.name] = value
            return parameter.name
        case (.integer(let least), .integer(let number)) where number >= least:
            changed[parameter.name] = value
            return parameter.name
        case (.boolean, _): wanted = "true or false"
        case (.object, _): wanted = "an object"
        case (.integer(let least), _): wanted = "an integer of at least \(least)"
        }
        throw StoreError(
            .argument, "\(parameter.name) must be \(wanted), not \(value.json)",
            page: parameter.name)
    }

    /// Resets a parameter, or all parameters if `name` is nil, to the initial value.
    package mutating func reset(_ name: String?) throws(StoreError) {
        guard let name else {
            changed = [:]
            return
        }
        changed[try Self.parameter(name).name] = nil
    }

    /// The values of all parameters, by name.
    package var all: Object {
        var all = Object(Self.parameters.map { ($0.name, changed[$0.name] ?? initial($0)) })
        for (name, value) in changed { all[name] = value }
        return all
    }

    /// Whether a parameter is accepted and has no effect.
    static func isIgnored(_ name: String) -> Bool {
        if case .ignored? = (try? parameter(name))?.kind { true } else { false }
    }

    /// The rows of `system:dql_vars`.
    package var rows: [Object] {
        all.map { field in
            var row: Object = [
                "_id": .string(field.name), "name": .string(field.name), "value": field.value,
                "description": .string(
                    Self.isIgnored(field.name)
                        ? "accepted for compatibility, without effect"
                        : Self.description(of: field.name)),
            ]
            if let known = Self.parameters.first(where: { $0.name == field.name }) {
                row["default"] = initial(known)
            }
            return row
        }
    }

    private func integer(_ name: String) -> Int {
        guard case .integer(let number)? = try? value(name) else { return .max }
        return Int(clamping: number)
    }

    private static func parameter(_ name: String) throws(StoreError) -> Parameter {
        let lower = name.lowercased()
        guard let found = parameters.first(where: { $0.name == lower }) else {
            if ignoredPrefixes.contains(where: lower.hasPrefix) {
                return Parameter(name: lower, kind: .ignored, defaultValue: .null)
            }
            throw StoreError(
                .meaning, "unknown parameter '\(name)'",
                hint: Suggestion.nearest(to: lower, among: parameters.map(\.name)).map {
                    "did you mean \($0)?"
                }, page: "parameters")
        }
        return found
    }
}
