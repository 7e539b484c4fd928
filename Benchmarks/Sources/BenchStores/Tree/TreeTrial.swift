import BenchHarness

/// A measurement of one operation on a tree of a million entries.
final class TreeTrial: Trial {
    /// The measured operation.
    enum Lookup {
        case get, insert, range, countHalf, bytesPerEntry, snapshot
    }

    private let lookup: Lookup
    private let peer: TreePeer
    private let stage: Stage
    private let entries = Entries(.random)
    private let count: Int
    private let tree: (any OrderedTree)?

    /// The number of entries in one range scan.
    private static let rangeLength = 100
    /// The median of uniformly random keys.
    private static let middle = Key(1 << 63, 0, 0)

    /// Fills a tree, except for `.insert`, which fills one in each round.
    init(_ peer: TreePeer, _ stage: Stage, _ lookup: Lookup) throws {
        self.lookup = lookup
        self.peer = peer
        self.stage = stage
        count = stage.scale.pick(1_000_000, quick: 200_000)
        guard lookup != .insert else {
            tree = nil
            return
        }
        let tree = try peer.make(stage.memory.path)
        try tree.insert(entries, count: count)
        try tree.publish()
        self.tree = tree
    }

    func run(round: Int) async throws -> Sample {
        guard let tree else { return try insertAll(round) }
        let drawn = entries.drawn(from: count, draw: UInt64(round + 1))
        switch lookup {
        case .get, .insert:
            return try time(stage.scale.pick(1_000_000, quick: 200_000)) {
                sink(try tree.find(drawn, count: $0))
            }
        case .range:
            return try time(stage.scale.pick(50_000, quick: 10_000)) {
                sink(try tree.walk(drawn, count: $0, length: Self.rangeLength))
            }
        case .countHalf:
            return try time(stage.scale.pick(20, quick: 5)) { repetitions in
                for _ in 0..<repetitions { sink(UInt64(try tree.count(from: Self.middle))) }
            }
        case .snapshot:
            return try time(stage.scale.pick(2_000_000, quick: 500_000)) {
                sink(try tree.takeSnapshots($0))
            }
        case .bytesPerEntry:
            return Sample(Double(try tree.byteCount()) / Double(count))
        }
    }

    func finish() {
        tree?.close()
    }

    /// Returns the nanoseconds per repetition.
    private func time(_ count: Int, _ work: (Int) throws -> Void) rethrows -> Sample {
        let start = now()
        try work(count)
        return Sample(Double(now() - start) / Double(count))
    }

    private func insertAll(_ round: Int) throws -> Sample {
        let folder = try stage.memory.child("round-\(round)")
        defer { folder.remove() }
        let tree = try peer.make(folder.path)
        defer { tree.close() }
        return try time(count) { try tree.insert(entries, count: $0) }
    }
}
