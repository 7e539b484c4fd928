import Sheaf
import SheafBytes
import SheafDocument
import SheafDocumentModel
import SheafDocumentSimulations
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// Document stores under a power cut at any call that changes the disk.
@Suite struct DocumentCrashTests {
    private let firstSeed: UInt64 = 11_000

    /// A workload determined by a seed, with an optional power cut.
    private final class Simulation {
        let volume: SimulatedVolume
        private let seed: UInt64
        private(set) var store: StoreEngine?
        private(set) var engine: DocumentEngine?
        /// The last commit known to be durable, and the last one whose call returned.
        private(set) var durable: CommitID = 0
        private(set) var begun: CommitID = 0

        init(seed: UInt64, crashAtCall call: Int?) {
            self.seed = seed
            volume = SimulatedVolume(seed: seed)
            if let call { volume.crashAtCall(call) }
        }

        static func options(_ seed: UInt64, _ clock: FakeClock) -> LogStoreOptions {
            var options = LogStoreOptions()
            options.segmentLength = 6_000
            options.history = HistoryHorizon(commits: .max, bytes: .max)
            options.clock = clock.clock
            let random = SeededSource(seed: seed)
            options.random = { random.next() }
            return options
        }

        /// Runs the workload; throws when the power is cut.
        func run(steps: Int) throws {
            let clock = FakeClock()
            let store = try StoreEngine(opening: volume, options: Self.options(seed, clock))
            self.store = store
            let engine = try DocumentEngine(store)
            self.engine = engine
            var random = SeededRandom(seed: seed, "crashes")
            var writes = RandomWrite(seed: seed)
            for _ in 0..<steps {
                clock.advance(milliseconds: UInt64(random.below(3)))
                switch random.below(12) {
                case 0: _ = try store.compactionStep()
                case 1: try store.writeCheckpoint()
                default:
                    let changes = (0...random.below(3)).map { _ in
                        change(&random, &writes)
                    }
                    begun = try engine.commit(changes) { batch throws(StorageError) in
                        try store.append(batch)
                    }.commit
                }
                guard random.chance(1, in: 2) else { continue }
                try store.flush()
                durable = store.snapshot().commit
            }
            try store.flush()
            durable = store.snapshot().commit
        }

        private func change(
            _ random: inout SeededRandom, _ writes: inout RandomWrite
        ) -> DocumentChange {
            let name = DocumentSimulation.names[random.below(DocumentSimulation.names.count)]
            let action: DocumentChange.Action =
                switch writes.write(isPresent: random.chance(9, in: 10)) {
                case .edit(let edits): .edit(edits)
                case .delete: random.chance(1, in: 4) ? .evict : .delete
                case .insert(let object): .insert(object, onConflict: .merge)
                case .insertDifferences: .insert(Self.large, onConflict: .mergeDifferences)
                case .insertInitial(let object): .insertInitial(object)
                }
            return DocumentChange(name.collection, name.id, action)
        }

        /// A document that is large enough for delta records.
        private static let large = Object([
            ("a", .object(Object((0..<60).map { ("key\($0)", .string("value \($0) of many")) })))
        ])
    }

    /// Returns the bytes of all documents as of a commit, with all names spelled out.
    ///
    /// Name numbers are removed because they depend on the time at which a chain is read.
    private func documents(
        _ engine: DocumentEngine, asOf commit: CommitID
    ) throws -> [[UInt8]: [UInt8]] {
        let snapshot = engine.snapshot()
        var documents: [[UInt8]: [UInt8]] = [:]
        for name in DocumentSimulation.names {
            guard let key = try snapshot.key(collection: name.collection, id: name.id),
                let document = try #require(try snapshot.document(key, asOf: commit))
            else { continue }
            documents[key] = try document.read { bytes in
                try EncodedDocument(bytes).renamed(from: snapshot.names, to: NameTable())
            }
        }
        return documents
    }

    @Test func `a power cut leaves the exact documents of a commit`() throws {
        var images = 0
        for seed in firstSeed..<firstSeed + 6 {
            let whole = Simulation(seed: seed, crashAtCall: nil)
            try whole.run(steps: 40)
            let engine = try #require(whole.engine)
            var expected: [CommitID: [[UInt8]: [UInt8]]] = [:]
            for commit in 0...whole.durable {
                expected[commit] = try documents(engine, asOf: commit)
            }
            var random = SeededRandom(seed: seed, "cuts")
            var call = 1 + random.below(4)
            while true {
                let simulation = Simulation(seed: seed, crashAtCall: call)
                do {
                    try simulation.run(steps: 40)
                    break
                } catch {}
                for _ in 0..<3 {
                    images += 1
                    try check(
                        simulation.volume.powerCut(seed: random.next()), simulation, expected,
                        "seed \(seed), call \(call)")
                }
                call += 1 + random.below(4)
            }
        }
        #expect(images > 400, "\(images)")
    }

    private func check(
        _ volume: SimulatedVolume, _ simulation: Simulation,
        _ expected: [CommitID: [[UInt8]: [UInt8]]],
        _ comment: Comment
    ) throws {
        let clock = FakeClock(wallMilliseconds: 1_770_000_000_000)
        let store = try StoreEngine(opening: volume, options: Simulation.options(7, clock))
        let engine = try DocumentEngine(store)
        let commit = store.snapshot().commit
        #expect(commit >= simulation.durable && commit <= simulation.begun + 1, comment)
        #expect(try documents(engine, asOf: commit) == expected[commit], comment)
        try checkCount(engine, try #require(expected[commit], comment), comment)
        // Stamps increase even though the clock was set back.
        let latest = try expected[commit]?.values.map { bytes in
            try bytes.withUnsafeBytes { try EncodedDocument($0).vector().latest }
        }.max()
        let receipt = try engine.commit([
            DocumentChange("cars", "after", .insert(["x": 1], onConflict: .merge))
        ]) { batch throws(StorageError) in try store.append(batch) }
        if let latest, let stamp = receipt.outcomes[0].stamp {
            #expect(stamp.time > latest, comment)
        }
        try store.flush()
        #expect(store.snapshot().commit == commit + 1, comment)
        try checkCount(engine, try documents(engine, asOf: commit + 1), comment)
    }

    /// Compares the count computed from keys with the number of existing documents.
    private func checkCount(
        _ engine: DocumentEngine, _ documents: [[UInt8]: [UInt8]], _ comment: Comment
    ) throws {
        let snapshot = engine.snapshot()
        #expect(engine.indexFailure == nil, comment)
        for (number, collection) in snapshot.catalog.collections.enumerated() {
            let keys = StoreKey.documents(of: UInt16(number))
            let tombstones = try #require(snapshot.tombstones(of: collection), comment)
            let existing = try documents.filter { key, bytes in
                try keys.contains(key) && bytes.withUnsafeBytes { try EncodedDocument($0).exists() }
            }
            // The document that `check` inserts is not in `documents`.
            let others = try snapshot.document(
                StoreKey.document(collection: UInt16(number), id: DocumentID.key(of: "after")).bytes
            )
            let count = snapshot.count(in: keys) - snapshot.count(in: tombstones)
            #expect(count == existing.count + (others == nil ? 0 : 1), comment)
        }
    }
}
