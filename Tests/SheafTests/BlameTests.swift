import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the commits that brought the values of documents into a store.
@Suite struct BlameTests {
    private let clock = FakeClock()
    private let store: StoreEngine
    private let engine: DocumentEngine

    init() throws {
        (store, engine) = try DocumentEngine.inMemory(clock) { options in
            options.segmentLength = 1_000
            options.history = HistoryHorizon(commits: 0, bytes: .max)
        }
    }

    @discardableResult
    private func commit(_ changes: (String, DocumentChange.Action)...) throws -> DocumentReceipt {
        clock.advance(milliseconds: 1)
        let receipt = try engine.commit(
            changes.map { DocumentChange("cars", .string($0.0), $0.1) }
        ) { (batch) throws(StorageError) in try store.append(batch) }
        while try store.flush() {}
        return receipt
    }

    private func set(_ path: String..., to value: Value) -> DocumentChange.Action {
        .edit([.set(path: path, to: value)])
    }

    private func blame(_ id: String) throws -> Blame? {
        let snapshot = engine.snapshot()
        return try snapshot.blame(
            try #require(try snapshot.key(collection: "cars", id: .string(id))))
    }

    /// Describes the lines of plain values; a question mark follows a commit that is not exact.
    private func values(_ id: String) throws -> [String] {
        let lines = try #require(try blame(id)).lines
        return lines.compactMap { line in
            guard case .value = line.kind, let value = line.value else { return nil }
            let path = line.path.joined(separator: "/")
            return "\(path) = \(value.json) \(line.commit)\(line.isExact ? "" : "?")"
        }
    }

    @Test func `each value has the commit of its stamp, in order of its path`() throws {
        // Two documents with a name give it a number.
        for id in ["p", "q"] { try commit((id, .insert(["z": 1]))) }
        let foreign = Stamp(HybridTime(milliseconds: 1_779_999_999_000), Site(rawValue: 5))
        let received = try Insertion.document(["z": 9], at: foreign, NameTable())
        var commits = [foreign: CommitID(5)]
        var stamps: [Stamp] = []
        for (action, number) in [
            (.insert(["x": 1, "m": ["k": 1], "c": 0]), 3), (set("y", to: 2), 4),
            (.join(received), 5), (set("x", to: 5), 6),
            (.edit([.increment(path: ["n"], by: .integer(3))]), 7),
        ] as [(DocumentChange.Action, CommitID)] {
            let receipt = try commit(("a", action))
            #expect(receipt.commit == number)
            if let stamp = receipt.outcomes[0].stamp {
                commits[stamp] = number
                stamps.append(stamp)
            }
        }
        #expect(stamps.count == 4)
        let found = try #require(try blame("a"))
        #expect(found.exists && found.deletion == nil)
        #expect(
            try values("a") == [
                "c = 0 3", "m/k = 1 3", "x = 5 6", "y = 2 4", "z = 9 5",
            ])
        let paths = found.lines.map { $0.path.joined(separator: "/") }
        #expect(paths == paths.sorted())
        // The object and the map have lines, too, and so has the counter.
        #expect(Set(paths) == ["", "c", "m", "m/k", "n", "x", "y", "z"])
        for line in found.lines {
            #expect(line.commit == commits[line.stamp] && line.isExact, "\(line.path)")
        }
    }

    @Test func `a deleted document has no lines, and the stamp of its last deletion`() throws {
        try commit(("a", .insert(["x": 1])))
        let deleted = try commit(("a", .delete)).outcomes[0].stamp
        let found = try #require(try blame("a"))
        #expect(!found.exists && found.lines.isEmpty && found.deletion == deleted)
        #expect(deleted != nil)
        try commit(("a", .insert(["x": 2])))
        let again = try #require(try blame("a"))
        #expect(again.exists && again.deletion == deleted)
        #expect(try values("a") == ["x = 2 3"])
        let key = StoreKey.document(collection: 0, id: [1]).bytes
        let isUnknown = try engine.snapshot().blame(key) == nil
        #expect(isUnknown)
    }

    @Test func `a value from before the removal of its document has the later commit`() throws {
        let seeds: Object = ["x": 9]
        try commit(("a", .insertInitial(seeds)))
        try commit(("a", .purge))
        try commit(("a", .insertInitial(seeds)))
        try commit(("a", set("y", to: 2)))
        #expect(try values("a") == ["x = 9 3", "y = 2 4"])
    }

    @Test func `seeds have the oldest commit with their path, kind and value`() throws {
        try commit(("a", .insertInitial(["x": 9, "y": 9])))
        try commit(("a", set("y", to: 2)))
        let other = try Insertion.initial(["x": 9, "z": 9], NameTable())
        try commit(("a", .join(other)))
        #expect(try values("a") == ["x = 9 1", "y = 2 2", "z = 9 3"])
    }

    @Test func `a value from before the retained history has its oldest commit, inexactly`() throws
    {
        try commit(("a", .insert(["x": 1])), ("s", .insertInitial(["x": 9])))
        try commit(("a", set("y", to: 2)), ("s", set("y", to: 2)))
        #expect(try values("a") == ["x = 1 1", "y = 2 2"])
        #expect(try values("s") == ["x = 9 1", "y = 2 2"])
        for number in 0..<20 { try commit(("filler\(number)", .insert(["f": 1]))) }
        for _ in 0..<2 {
            store.compactEverything()
            while try store.compactionStep() {}
        }
        #expect(try values("a") == ["x = 1 2?", "y = 2 2"])
        #expect(try values("s") == ["x = 9 2?", "y = 2 2"])
    }
}
