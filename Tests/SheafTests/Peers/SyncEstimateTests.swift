import Sheaf
import SheafReplication
import Testing

/// The number of documents that peers expect in a first sync.
struct SyncEstimateTests {
    /// Returns the first progress that a sender shows while it sends 200 cars and 20 boats.
    private func progress(_ queries: [String]) throws -> SyncProgress {
        var limits = ReplicatorLimits()
        (limits.part, limits.completeStep, limits.furtherStep) = (300, 2_000, 600)
        let scene = try DocumentScene(2, limits)
        for (collection, count) in [("cars", 200), ("boats", 20)] {
            let documents = (0..<count).map { "({'_id': 'document \($0)', 'n': \($0)})" }
            try scene.execute(
                0,
                DQL(
                    verbatim: "INSERT INTO \(collection) DOCUMENTS "
                        + documents.joined(separator: ", ")))
        }
        try scene.subscribe(1, queries)
        try scene.connect(0, 1)
        for _ in 0..<2_000 {
            try scene.run(steps: 1)
            let status = scene.nodes[0].replicator.allStatuses.values.first
            if let progress = status?.sending { return progress }
        }
        throw NoProgress()
    }

    private struct NoProgress: Error {}

    @Test func `the documents of complete collections are counted`() throws {
        let one = try progress(["SELECT * FROM cars"])
        #expect(one.remaining.map { $0 + one.documents } == 200)
        let two = try progress(["SELECT * FROM cars", "SELECT * FROM boats"])
        #expect(two.remaining.map { $0 + two.documents } == 220)
    }

    @Test(arguments: [
        ["SELECT * FROM cars WHERE n >= 0"],
        ["SELECT * FROM boats", "SELECT * FROM cars WHERE n < 190"],
    ])
    func `the documents that match a condition are not counted before they are sent`(
        _ queries: [String]
    ) throws {
        #expect(try progress(queries).remaining == nil)
    }
}
