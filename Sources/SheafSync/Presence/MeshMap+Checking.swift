/// What holds of a map at any time.
extension MeshMap {
    /// What is wrong with it, if something is.
    package var violation: String? {
        let length = entries.values.reduce(0) { $0 + $1.record.length }
        if entries.count > PresenceLimits.records { return "there are \(entries.count) records" }
        if length > PresenceLimits.recordBytes { return "the records have \(length) bytes" }
        for link in links.values {
            if link.known.count > entries.count { return "a neighbor knows more than there is" }
            if link.queue.count != link.queued.count { return "a record is queued twice" }
            if link.queue.count > entries.count { return "more waits than there is" }
        }
        let reachable = reachable
        if reachable.first?.key != key { return "a peer does not know itself" }
        if Set(reachable.map(\.key)).count != reachable.count { return "a peer is told of twice" }
        let visible = entries.values.filter { $0.distance != nil }.count
        if visible != reachable.count { return "\(visible) of \(reachable.count) are reached" }
        return nil
    }
}
