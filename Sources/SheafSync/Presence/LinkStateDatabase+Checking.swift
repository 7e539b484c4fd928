/// Invariants of the database, checked by tests.
extension LinkStateDatabase {
    /// A description of the first violated invariant, or nil.
    package var violation: String? {
        let length = entries.values.reduce(0) { $0 + $1.record.length }
        if entries.count > PresenceLimits.records { return "there are \(entries.count) records" }
        if length > PresenceLimits.recordBytes { return "the records have \(length) bytes" }
        if length != totalLength { return "the records have \(length) bytes, not \(totalLength)" }
        let hidden = Set(entries.filter { $0.value.distance == nil }.keys)
        if hidden != hiddenKeys { return "\(hidden.count) records are hidden" }
        let numbers = Set(entries.values.map(\.number.record))
        if numbers.count != entries.count { return "two records have one number" }
        for connection in adjacentPeers.values {
            if connection.isBusy, !busyConnections.contains(connection.number) {
                return "connection \(connection.number) is busy and not listed"
            }
            if connection.queue.count != connection.queued.count {
                return "a record is queued twice"
            }
            if connection.queue.count > entries.count {
                return "more records are queued than stored"
            }
        }
        let shown = hubs.distant.subtracting(hubs.withheld).count { hubs.openings[$0] == nil }
        if shown > PresenceLimits.distantPeers { return "\(shown) distant peers are shown" }
        if !hubs.withheld.isSubset(of: hubs.distant) { return "a near peer is withheld" }
        let reachable = reachable
        if reachable.first?.key != key { return "the local peer is not reachable from itself" }
        if Set(reachable.map(\.key)).count != reachable.count { return "a peer is listed twice" }
        let visible = entries.values.filter { $0.distance != nil }.count
        if visible != reachable.count { return "\(visible) distances for \(reachable.count) peers" }
        return nil
    }
}
