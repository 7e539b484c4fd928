package import SheafBytes

/// The stamps present in a document: those of its dots, and the epochs of its sums.
///
/// The version vector also covers writes that were replaced or removed.
extension EncodedDocument {
    /// Calls `body` with the stamp of each dot, and the epoch of each sum.
    func forEachStamp(_ body: (Stamp) -> Void) throws(Malformed) {
        let header = try header()
        guard try root.tag() != .noRoot else { return }
        let walk = StampWalk(
            header: header, root: try header.rootStamp(readingTo: bytes.count))
        try walk.visit(root, depth: 0, body)
    }

    /// Returns the latest time of a dot or an epoch; `.initial` if there is none.
    package func latestDot() throws(Malformed) -> HybridTime {
        var latest = HybridTime.initial
        try forEachStamp { latest = max(latest, $0.time) }
        return latest
    }

    /// Returns the stamps of dots and epochs that are ahead of a wall clock.
    package func stamps(ahead wallMilliseconds: UInt64) throws(Malformed) -> Set<Stamp> {
        // Most vectors have no time ahead of the clock, which makes the walk unnecessary.
        guard try header().latest.milliseconds > wallMilliseconds else { return [] }
        var found: Set<Stamp> = []
        try forEachStamp { if $0.time.milliseconds > wallMilliseconds { found.insert($0) } }
        return found
    }
}

/// A walk over the entries of a document that reads only stamps.
private struct StampWalk {
    let header: EncodedHeader
    let root: Stamp?

    func visit(
        _ field: EncodedEntry, depth: Int, _ body: (Stamp) -> Void
    ) throws(Malformed) {
        try field.forEachEntry { (entry) throws(Malformed) in
            let tag = try entry.tag()
            if Dot.Kind(tag) != nil { body(try entry.stamp(header, root: root)) }
            switch tag {
            case .sum: body(try header.stamp(try entry.epochReference()))
            case .map, .bareMap:
                guard depth < Value.maximumDepth else {
                    throw .tooDeep(at: entry.start, limit: Value.maximumDepth)
                }
                let object = try entry.object()
                for index in 0..<object.count {
                    try visit(try object.entry(index), depth: depth + 1, body)
                }
            default: break
            }
        }
    }
}
