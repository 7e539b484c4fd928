package import BenchHarness

/// The ordered index: a million random 24-byte keys with 8-byte values, in memory.
package enum TreeWorkload {
    package static var workload: Workload {
        Workload(
            "tree", "a million random 24-byte keys with 8-byte values, in memory",
            cases: [
                test("tree-get", "find a key", .get),
                test("tree-insert", "insert new keys, all in one change", .insert),
                test("tree-range-100", "scan 100 entries from a key", .range),
                test("tree-count-half", "count one half of the keys", .countHalf),
                test(
                    "tree-bytes-entry", "allocated memory per entry", .bytesPerEntry,
                    unit: "bytes"),
                test("tree-snapshot", "take a snapshot and drop it", .snapshot),
            ] + [1_000, 10_000, 100_000].map(putBatch))
    }

    private static func putBatch(_ batch: Int) -> Case {
        Case(
            "tree-put-\(batch)",
            "put \(batch) random keys into a tree of a million: sorted, or one by one",
            unit: "ns", .lower,
            systems: [
                System("sheaf") { BatchPutTrial($0, batch: batch, isSorted: true) },
                System("single") { BatchPutTrial($0, batch: batch, isSorted: false) },
            ])
    }

    private static let peers = [SheafTree.peer, LMDBTree.peer]

    private static func test(
        _ name: String, _ summary: String, _ question: TreeTrial.Lookup, unit: String = "ns"
    ) -> Case {
        Case(
            name, summary, unit: unit, .lower,
            systems: peers.map { peer in
                System(peer.name) { try TreeTrial(peer, $0, question) }
            })
    }
}
