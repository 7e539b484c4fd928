package import SheafDocument

extension HubStatus {
    /// The status as an object, for JSON; with the keys that `sheaf help hub status` lists.
    package var data: Object {
        [
            "key": .string("\(key)"), "isReady": .bool(isReady), "isLive": .bool(isLive),
            "isDraining": .bool(isDraining), "reasons": .array(reasons.map(Value.string)),
            "log": .string(log), "logNumber": .integer(Int64(clamping: logNumber)),
            "format": .integer(Int64(format)), "formats": Self.value(formats),
            "commit": .integer(Int64(clamping: commit)),
            "hubDurableCommit": .integer(Int64(clamping: hubDurableCommit)),
            "lagMilliseconds": .integer(Int64(clamping: lagMilliseconds)),
            "clients": .integer(Int64(clientCount)),
            "unacknowledged": .integer(Int64(unacknowledgedCount)),
            "pendingBytes": .integer(Int64(pendingBytes)),
            "heldMilliseconds": heldMilliseconds.map { .integer(Int64(clamping: $0)) } ?? .null,
            "unstoredFiles": .integer(Int64(unstoredFileCount)),
            "fileFailure": fileFailure.map(Value.string) ?? .null,
            "shards": .array(shards.map { .object($0.data) }),
            "hubs": .array(hubs.map { .object($0.data) }),
            "counts": .object(countData),
        ]
    }

    /// The rows of `system:hub`, and with them of `/metrics`.
    package var metrics: [Object] {
        var rows: [(String, Value)] = [
            ("hub_ready", .bool(isReady)), ("hub_live", .bool(isLive)),
            ("hub_draining", .bool(isDraining)),
            ("hub_durable_commit", .integer(Int64(clamping: hubDurableCommit))),
            (
                "hub_durable_lag_commits",
                .integer(Int64(clamping: commit - min(commit, hubDurableCommit)))
            ),
            ("hub_durable_lag_ms", .integer(Int64(clamping: lagMilliseconds))),
            ("hub_clients", .integer(Int64(clientCount))),
            ("hub_unacknowledged_batches", .integer(Int64(unacknowledgedCount))),
            ("hub_pending_bytes", .integer(Int64(pendingBytes))),
            ("hub_clients_held", .bool(heldMilliseconds != nil)),
            ("hub_clients_held_ms", .integer(Int64(clamping: heldMilliseconds ?? 0))),
            (
                "hub_unstored_messages",
                .integer(shards.reduce(0) { $0 + Int64($1.unstoredMessages) })
            ),
            ("hub_unstored_bytes", .integer(shards.reduce(0) { $0 + Int64($1.unstoredBytes) })),
            ("hub_incidents", .integer(shards.reduce(0) { $0 + Int64($1.incidents.count) })),
            ("hub_unstored_files", .integer(Int64(unstoredFileCount))),
            ("hub_live_hubs", .integer(Int64(hubs.count(where: \.isLive)))),
            ("hub_log_number", .integer(Int64(clamping: logNumber))),
        ]
        rows += counts.sorted { $0.key < $1.key }
            .map { ("hub_" + $0.key, .integer(Int64(clamping: $0.value))) }
        return rows.map { ["_id": .string($0.0), "name": .string($0.0), "value": $0.1] }
    }

    private var countData: Object {
        var object = Object()
        for (name, count) in counts.sorted(by: { $0.key < $1.key }) {
            object[name] = .integer(Int64(clamping: count))
        }
        return object
    }

    fileprivate static func value(_ range: ClosedRange<Int>) -> Value {
        .array([.integer(Int64(range.lowerBound)), .integer(Int64(range.upperBound))])
    }
}

extension HubStatus.Shard {
    fileprivate var data: Object {
        [
            "shard": .integer(Int64(number)), "read": .integer(Int64(clamping: readEntry)),
            "stored": .integer(Int64(clamping: storedEntry)), "hasCaughtUp": .bool(hasCaughtUp),
            "unstoredMessages": .integer(Int64(unstoredMessages)),
            "unstoredBytes": .integer(Int64(unstoredBytes)),
            "incidents": .array(incidents.map(Value.string)),
        ]
    }
}

extension HubStatus.OtherHub {
    fileprivate var data: Object {
        [
            "hub": .string("\(key)"), "isLive": .bool(isLive), "isReady": .bool(isReady),
            "isDraining": .bool(isDraining), "clients": .integer(Int64(clientCount)),
            "formats": HubStatus.value(formats),
            "clockDifferenceMilliseconds": .integer(clockDifferenceMilliseconds),
            "silentMilliseconds": .integer(Int64(clamping: silentMilliseconds)),
        ]
    }
}
