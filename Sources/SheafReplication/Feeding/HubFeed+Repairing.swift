import SheafBytes
import SheafDocument
import SheafEngine
import SheafHubLog
import SheafStatements
import SheafStorage

/// Messages of this author that the log has lost, although the engine had stored them.
extension HubFeed {
    /// Appends the documents of lost messages again, in their present states.
    mutating func replaceLost(
        _ snapshot: DocumentSnapshot, _ queries: QueryEngine, at now: UInt64
    ) throws(EngineError) {
        for index in shards.indices {
            let ranges = shards[index].appender.lost(at: now, limits)
            if !ranges.isEmpty { lost.append(LostMessages(shard: UInt16(index), ranges: ranges)) }
        }
        while let next = lost.popLast() {
            guard shards.indices.contains(Int(next.shard)) else { continue }
            for range in next.ranges where needsReplacement(range, of: Int(next.shard), at: now) {
                try replace(range, of: Int(next.shard), snapshot, queries, at: now)
            }
        }
    }

    /// Whether messages exist that no group has replaced in the last five seconds.
    private func needsReplacement(
        _ range: ClosedRange<UInt64>, of index: Int, at now: UInt64
    ) -> Bool {
        let appender = shards[index].appender
        guard range.upperBound <= appender.chain.sequence, appender.hasRoomForReplacement else {
            return false
        }
        return !appender.sent.contains { group in
            guard let replaced = group.replaced else { return false }
            return replaced.contains(range.lowerBound) && replaced.contains(range.upperBound)
                && now < group.appendedAt + limits.needNanoseconds
        }
    }

    private mutating func replace(
        _ range: ClosedRange<UInt64>, of index: Int, _ snapshot: DocumentSnapshot,
        _ queries: QueryEngine, at now: UInt64
    ) throws(EngineError) {
        let shard = shards[index]
        let sent = shard.appender.sent
        guard let first = sent.first, first.sequences.lowerBound <= range.lowerBound else {
            return reportLoss(in: shard)
        }
        let groups = sent.filter { $0.sequences.overlaps(range) }
        var contents: [ShardAppender.Documents] = []
        var found: [DocumentAddress: [UInt8]] = [:]
        for documents in groups.flatMap(\.documents) where !contents.contains(documents) {
            contents.append(documents)
            if let listed = documents.listed {
                for (address, key) in listed { found[address] = key }
                continue
            }
            let keys = try snapshot.keys(changedBy: documents.commits)
            let all = divided(Array(keys), snapshot).first { $0.shard == shard.number }
            for (address, key) in all?.documents ?? []
            where documents.addresses?.contains(address) ?? true {
                found[address] = key
            }
        }
        let covered = groups.reduce(range) { all, group in
            min(
                all.lowerBound, group.sequences.lowerBound)...max(
                    all.upperBound, group.sequences.upperBound)
        }
        var documents: ArraySlice<Changed> =
            found.sorted { $0.key < $1.key }.map { (address: $0.key, key: $0.value) }[...]
        let known = pausesVersion
        let payload = try payload(
            &documents, ofLength: limits.replacedLength, of: covered.upperBound, snapshot, queries,
            allowsNone: true)
        guard let payload else { return }
        guard documents.isEmpty else {
            pausesVersion = known
            // One group cannot have all documents; those of single groups may be short enough.
            guard groups.count > 1 else { return reportLoss(in: shard) }
            for group in groups {
                try replace(group.sequences, of: index, snapshot, queries, at: now)
            }
            return
        }
        let messages = shards[index].appender.replace(
            covered, by: payload, contents, shard.progress, at: now)
        for message in messages { effects.append(.log(.append(message, to: log))) }
    }

    /// Reports that this author cannot replace messages.
    private mutating func reportLoss(in shard: FedShard) {
        broadcast(
            .incident(
                ShardIncident(.loss, entry: shard.reader.read, digest: shard.reader.digest),
                shard: shard.number))
    }
}
