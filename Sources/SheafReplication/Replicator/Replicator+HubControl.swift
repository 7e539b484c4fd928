import SheafDocument
import SheafEngine
import SheafHubLog
import SheafStorage
import SheafSync

/// Control of a hub by the program that runs it.
extension Replicator {
    /// The progress of this hub; nil for a peer without a hub log.
    package var hubProgress: HubProgress? {
        guard let feed else { return nil }
        let shards = feed.shards.map { shard in
            HubProgress.Shard(
                number: shard.number, progress: shard.progress,
                hasCaughtUp: shard.hasCaughtUp, isBlocked: shard.isBlocked,
                unstoredMessages: shard.appender.pending.count { !$0.isStored },
                unstoredLength: shard.appender.pendingLength,
                firstUnstored: shard.appender.firstUnstored,
                unwrittenGroups: shard.waiting.count + shard.writing.count,
                incidents: shard.reader.incidents, newerVersion: shard.reader.newerVersion)
        }
        let commit = recent.snapshot.log.commit
        return HubProgress(
            log: feed.log, author: feed.author, shards: shards, commit: commit,
            hubDurable: min(commit, feed.hubDurable(at: now)), clientCount: connections.count,
            unacknowledgedCount: orderedConnections.reduce(0) { $0 + $1.receiver.unacknowledged },
            pendingLength: heldClients.waitingLength,
            heldNanoseconds: heldClients.since.map { now - min(now, $0) },
            faults: feed.faults)
    }

    /// Changes what the beats of this hub report, and sends one.
    package func setHubState(isReady: Bool, isDraining: Bool, at now: UInt64) {
        guard let feed, feed.servesClients != isReady || feed.isDraining != isDraining else {
            return
        }
        self.feed?.servesClients = isReady
        self.feed?.isDraining = isDraining
        sendFeedEffects(at: now)
    }

    /// Appends a mark to each shard, which shows other hubs what this one has stored.
    package func appendHubMarks(at now: UInt64) {
        guard feed != nil else { return }
        for index in feed?.shards.indices ?? 0..<0 { feed?.appendMark(to: index, at: now) }
        sendFeedEffects(at: now)
    }

    /// Sends a beat, and performs the effects of the feed.
    private func sendFeedEffects(at now: UInt64) {
        self.now = max(self.now, now)
        feed?.lastBeat = 0
        tickFeed()
        pump()
    }

    /// The numbers of the open connections, in ascending order.
    package var connectionNumbers: [UInt64] { orderedConnections.map(\.number) }

    /// Ends a connection with a close message; acknowledgments that were sent arrive before it.
    package func end(connection number: UInt64, because reason: String) {
        guard let connection = connections[number] else { return }
        fail(connection, .done, reason)
        pump()
    }
}

extension Receiver {
    /// Number of received batches, complete or not, that are not acknowledged.
    fileprivate var unacknowledged: Int {
        waiting.count + written.count + (isWriting ? 1 : 0) + (staged.isEmpty ? 0 : 1)
    }
}

extension ShardAppender {
    /// The sequence of the first message that is not stored, or of the next one.
    fileprivate var firstUnstored: UInt64 {
        pending.first { !$0.isStored }?.message.id.sequence ?? chain.sequence + 1
    }
}

extension HubFeed {
    /// Appends a mark to a shard, which shows the entries that this hub has stored.
    fileprivate mutating func appendMark(to index: Int, at now: UInt64) {
        effects.append(.log(.append(shards[index].appendMark(at: now), to: log)))
    }
}
