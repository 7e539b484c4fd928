import SheafDocument
import SheafEngine
import SheafHubLog
import SheafStorage

/// When commits are hub-durable, so that the batches of clients may be acknowledged.
extension HubFeed {
    /// Records that the engine has stored a message as an entry.
    mutating func stored(_ id: HubMessageID, as entry: UInt64, at now: UInt64) {
        let index = Int(id.shard)
        guard id.author == author, shards.indices.contains(index) else { return }
        settle(shards[index].appender.acknowledge(id), of: index)
        if entry <= shards[index].reader.read, shards[index].appender.isUnread(id) {
            // This hub has read another message there: the log was truncated.
            effects.append(.log(.reread(entry...entry, shard: shards[index].id)))
        }
        advance(at: now)
    }

    /// Whether the documents of a round are stored by the engine, and by another hub if one is
    /// live.
    func isHubDurable(_ round: HubRound, at now: UInt64) -> Bool {
        round.ends.allSatisfy { number, sequence in
            let shard = shards[Int(number)]
            guard shard.isSound, let entry = shard.appender.entry(throughSequence: sequence) else {
                return false
            }
            let others = hubs.values.filter {
                $0.shards[number] != nil && $0.isLive(at: now, limits)
            }
            // Beats of others may not have arrived yet.
            guard !others.isEmpty else { return now >= openedAt + limits.listenNanoseconds }
            return others.contains { $0.confirmed[number] ?? 0 >= entry }
        }
    }

    /// Removes the first rounds, as far as they are hub-durable.
    mutating func advance(at now: UInt64) {
        let count = rounds.prefix { isHubDurable($0, at: now) }.count
        guard count > 0 else { return }
        for round in rounds[..<count] {
            for (shard, sequence) in round.ends {
                shards[Int(shard)].appender.forgetEnds(through: sequence)
            }
            // The log has the documents that loaded snapshots lack.
            guard round.areMissing else { continue }
            isSaveDue = true
            for index in shards.indices { shards[index].kept = nil }
        }
        rounds.removeFirst(count)
        effects.append(.advanced)
    }
}
