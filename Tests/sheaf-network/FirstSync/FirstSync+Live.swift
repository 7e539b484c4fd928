import SheafTestSupport

/// Commits during a first sync.
extension FirstSync {
    /// Number of commits after the sync, whose delays are compared.
    private static let laterCommits = 20

    /// Measures the time until commits during a first sync reach an observer of the receiver.
    mutating func runLive() throws {
        let pair = try PeerPair(stores, receiver: "live", isLive: true)
        let end = try pair.waitForAcknowledgment().at
        func delays(_ collection: String, isLater: Bool) -> [Int] {
            pair.receiver.reports
                .filter { $0.event == collection && ($0["commit"] > end) == isLater }
                .map { $0["delay"] / 1_000_000 }.sorted()
        }
        for collection in FirstSyncStores.collections {
            try pair.wait(for: "commits in \(collection) after the first sync") {
                delays(collection, isLater: true).count >= Self.laterCommits
            }
        }
        pair.server.process.send("quiet")
        _ = try pair.waitForEqualDocuments()
        try pair.stop()
        for collection in FirstSyncStores.collections {
            let during = delays(collection, isLater: false)
            let later = delays(collection, isLater: true)
            figures.add("commits in \(collection) during the sync", during.count, atLeast: 1)
            guard let longest = during.last else { continue }
            figures.add("ms until the observer of \(collection), median", during[during.count / 2])
            figures.add("ms until the observer of \(collection), longest", longest, atMost: 100)
            figures.add("of these commits over 100 ms", during.count { $0 > 100 })
            figures.add("ms, median after the sync", later[later.count / 2])
        }
    }
}
