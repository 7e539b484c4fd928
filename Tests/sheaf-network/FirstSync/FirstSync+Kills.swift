import SheafSystem
import SheafTestSupport

/// Kills during a first sync.
extension FirstSync {
    private static let kills = 20
    /// Maximum number of documents received again after a kill: those of a second.
    private static let repeatedDocuments = 200_000

    /// Kills the receiver and the server alternately during a first sync.
    mutating func runKills() throws {
        try makeEqual()
        var random = SeededRandom(seed: seed, "kills")
        let pair = try PeerPair(stores, receiver: "kills", isWatching: true)
        let bytesPerDocument = max((documentBytes ?? 0) / count, 1)
        var (received, most, during) = (0, 0, 0)
        for number in 0..<Self.kills {
            let (before, bytes) = (pair.receiver.visible, pair.receiver.received)
            try waitForKill(number, pair, &random)
            let isServer = number % 2 == 1
            let killed = try pair.kill(server: isServer)
            let progress = (killed.visible - before, (killed.received - bytes) / bytesPerDocument)
            let again = max(progress.1 - progress.0, 0)
            let after = pair.receiver.visible
            print(
                "kills: \(isServer ? "server" : "receiver"), \(killed.visible) documents visible, "
                    + "\(after) afterwards; \(again) received in vain")
            guard after >= killed.visible else {
                throw FirstSyncFailure("kill \(number) lost \(killed.visible - after) documents")
            }
            (received, most) = (received + progress.1, max(most, again))
            if killed.visible < count { during += 1 }
        }
        let (start, bytes) = (Clock.system.monotonicNanoseconds(), pair.receiver.received)
        try pair.wait(for: "end of the sync") { pair.receiver.visible >= count }
        let end = Clock.system.monotonicNanoseconds()
        let found = try pair.waitForEqualDocuments()
        received += (pair.receiver.received - bytes) / bytesPerDocument
        try pair.stop()
        figures.add("ms from the last kill to the end", Int(end - start) / 1_000_000)
        figures.add("kills during the sync", during, atLeast: 1)
        figures.add("documents in both stores", found["visible"], atLeast: count)
        figures.add("documents received again after a kill", most, atMost: Self.repeatedDocuments)
        figures.add("documents received in total, in percent", received * 100 / count)
    }

    /// Waits for a random time after the connection, or until the next part of the documents came.
    private func waitForKill(
        _ number: Int, _ pair: PeerPair, _ random: inout SeededRandom
    ) throws {
        let part = count / (Self.kills + 1) * (number + 1)
        // Without a limit on documents, a fast sync would end before the last kill.
        let longest = pair.receiver.visible < part ? 500_000_000 : 30_000_000
        let delay = UInt64(random.below(longest))
        try pair.wait(for: "connection") {
            pair.receiver.last("connected") != nil && pair.server.last("connected") != nil
        }
        let start = Clock.system.monotonicNanoseconds()
        let before = pair.receiver.visible
        try pair.wait(for: "kill", until: start + delay) {
            pair.receiver.visible >= part && pair.receiver.visible > before
        }
    }
}
