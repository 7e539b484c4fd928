import Sheaf
import SheafAttachments
import SheafReplication
import SheafSystem

/// Leaving the other hubs without a loss and without a burst of reconnecting clients.
extension Hub {
    /// Time for the last mark, and for commits that are not hub-durable.
    package static let lastNanoseconds: UInt64 = 5_000_000_000
    /// Time in which the thread of the peer must answer a draining hub.
    package static let answerSeconds = 5
    /// Time between the ends of two connections, if there are few.
    private static let stepNanoseconds: UInt64 = 20_000_000

    /// Prepares the hub for `close()`: accepts no more connections, acknowledges what it has
    /// received, puts the files that it has into the object store, lets other hubs no longer wait
    /// for it, and ends its connections one by one.
    ///
    /// It takes at most the time of the options, and some seconds more if the peer or the engine is
    /// slow; connections that remain then are ended by `close()`.
    public nonisolated(nonsending) func drain() async {
        let drain: @Sendable () -> Void = { [self] in drainNow() }
        do { try await Thread.run(name: "sheaf-hub-drain", drain) } catch { drain() }
    }

    private func drainNow() {
        threads.beginDraining()
        threads.stopMaintenance()
        peer.sync.stopAccepting()
        let end = deadline(seconds: options.drainSeconds)
        while let count = unacknowledged(), count > 0, pause(until: end) {}
        // Other hubs have the documents then, but the engine may lack their files.
        let progress = answer { $0.hubProgress }
        let hasFiles = (try? peer.store.attachments.ids)?.isEmpty == false
        if hasFiles, let progress, let progress, progress.hasCaughtUp {
            while threads.mayHaveOnlyCopies(through: progress.commit), pause(until: end) {}
        }
        closeConnections()
        let last = Self.lastDeadline(from: Clock.system.monotonicNanoseconds())
        while let isDone = isHubDurable(), !isDone, pause(until: last) {}
        let now = Clock.system.monotonicNanoseconds()
        peer.request { $0?.appendHubMarks(at: now) }
        while let isStored = isStored(), !isStored, pause(until: last) {}
    }

    private func closeConnections() {
        guard var numbers = answer({ $0.connectionNumbers }), !numbers.isEmpty else { return }
        // Clients that connect elsewhere at once would be a burst for the other hubs.
        numbers.shuffle()
        let start = Clock.system.monotonicNanoseconds()
        for (index, number) in numbers.enumerated() {
            peer.request {
                $0?.end(connection: number, because: "the hub stops; connect to another one")
            }
            let due = Self.closingEnd(
                of: index + 1, among: numbers.count, from: start, within: options.closingSeconds)
            while pause(until: due) {}
        }
    }

    /// Returns the time until which no other connection ends, in nanoseconds.
    ///
    /// - Parameter number: The number of the connection that has ended last, from 1.
    package static func closingEnd(
        of number: Int, among count: Int, from start: UInt64, within seconds: Int
    ) -> UInt64 {
        let duration = min(
            HubOptions.nanoseconds(seconds), UInt64(count) * stepNanoseconds)
        return start + duration * UInt64(number) / UInt64(count)
    }

    /// Waits a moment; returns whether the deadline has not passed.
    private func pause(until deadline: UInt64) -> Bool {
        let now = Clock.system.monotonicNanoseconds()
        guard let end = Self.pauseEnd(at: now, until: deadline) else { return false }
        Monitor(false).wait(until: end) { !$0 }
        return true
    }

    /// Returns the end of a pause that begins now, in nanoseconds; nil if the deadline has passed.
    package static func pauseEnd(at now: UInt64, until deadline: UInt64) -> UInt64? {
        now < deadline ? min(deadline, now + stepNanoseconds) : nil
    }

    /// Returns the time until which a hub waits after it has ended its connections.
    package static func lastDeadline(from now: UInt64) -> UInt64 { now + lastNanoseconds }

    /// Returns the time until which the thread of the peer must answer a question.
    package static func answerDeadline(from now: UInt64) -> UInt64 {
        now + HubOptions.nanoseconds(answerSeconds)
    }

    private func unacknowledged() -> Int? { answer { $0.hubProgress?.unacknowledgedCount ?? 0 } }

    private func isHubDurable() -> Bool? {
        answer { replicator in
            replicator.hubProgress.map { $0.hubDurable >= $0.commit } ?? true
        }
    }

    private func isStored() -> Bool? {
        answer { replicator in
            replicator.hubProgress?.shards.allSatisfy { $0.unstoredMessages == 0 } ?? true
        }
    }

    /// Asks the peer; returns nil if it does not respond.
    private func answer<Answer: Sendable>(
        _ body: @escaping @Sendable (Replicator) -> Answer
    ) -> Answer? {
        let now = Clock.system.monotonicNanoseconds()
        return peer.answer(until: Self.answerDeadline(from: now), body)
    }

    private func deadline(seconds: Int) -> UInt64 {
        Clock.system.monotonicNanoseconds() + HubOptions.nanoseconds(seconds)
    }
}
