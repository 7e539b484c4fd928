import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import SheafTestSupport
import Testing

/// Document counts computed from keys and tombstones alone.
@Suite struct TombstoneTests {
    private let clock = FakeClock()
    private let simulation: IndexSimulation

    init() throws {
        simulation = try IndexSimulation(seed: 1, clock)
    }

    private func insert(_ ids: Range<Int64>, into simulation: IndexSimulation) throws {
        try simulation.commit(
            ids.map { DocumentChange("cars", .integer($0), .insert(["a": 1], onConflict: .merge)) })
    }

    private func counts(_ simulation: IndexSimulation) throws -> [Int] {
        try simulation.check("\(simulation.store.snapshot().commit)")
        let snapshot = simulation.engine.snapshot()
        let keys = snapshot.count(in: StoreKey.documents(of: 0))
        let tombstones = try #require(snapshot.tombstones(of: "cars"))
        return [keys, snapshot.count(in: tombstones)]
    }

    @Test func `deleted, reinserted and evicted documents are counted correctly`() throws {
        try insert(0..<9, into: simulation)
        #expect(try counts(simulation) == [9, 0])
        try simulation.commit([4, 5, 6].map { DocumentChange("cars", $0, .delete) })
        #expect(try counts(simulation) == [9, 3])
        try insert(5..<6, into: simulation)
        #expect(try counts(simulation) == [9, 2])
        try simulation.commit([
            DocumentChange("cars", 4, .evict), DocumentChange("cars", 7, .evict),
        ])
        // The remnant of an evicted document counts as a tombstone.
        #expect(try counts(simulation) == [9, 3])
        try simulation.commit([
            DocumentChange("cars", 4, .purge), DocumentChange("cars", 7, .purge),
        ])
        #expect(try counts(simulation) == [7, 1])
        // One commit contains two opposite changes of a document.
        try simulation.commit([
            DocumentChange("cars", 1, .delete),
            DocumentChange("cars", 1, .insert(["a": 2], onConflict: .merge)),
            DocumentChange("cars", 2, .delete), DocumentChange("cars", 2, .purge),
        ])
        #expect(try counts(simulation) == [6, 1])
    }

    @Test func `a received deletion of an unknown document becomes a tombstone`() throws {
        let other = try IndexSimulation(seed: 2, clock)
        try insert(0..<3, into: other)
        try other.commit([DocumentChange("cars", 1, .delete)])
        try other.store.flush()
        let snapshot = other.engine.snapshot()
        let changes = try (0..<3 as Range<Int64>).map { id in
            let key = try #require(try snapshot.key(collection: "cars", id: .integer(id)))
            let document = try #require(try snapshot.document(key))
            let bytes = try document.read {
                try EncodedDocument($0).renamed(from: snapshot.names, to: NameTable())
            }
            return DocumentChange("cars", .integer(id), .join(bytes))
        }
        try simulation.commit(changes)
        #expect(try counts(simulation) == [3, 1])
        // A new insertion restores the document.
        try insert(1..<2, into: simulation)
        #expect(try counts(simulation) == [3, 0])
        #expect(try counts(other) == [3, 1])
    }

    @Test
    func `deletion, eviction, purging and reinsertion change index entries, and edits do not`()
        throws
    {
        func touchesIndexEntries(_ action: DocumentChange.Action) throws -> Bool {
            var touches = false
            _ = try simulation.engine.commit([DocumentChange("cars", 1, action)]) {
                batch throws(StorageError) in
                touches = !batch.indexChanges.isEmpty
                return try simulation.store.append(batch)
            }
            return touches
        }
        #expect(try !touchesIndexEntries(.insert(["a": 1], onConflict: .fail)))
        #expect(try !touchesIndexEntries(.edit([.set(path: ["a"], to: 2)])))
        #expect(try touchesIndexEntries(.delete))
        #expect(try touchesIndexEntries(.insert(["a": 1], onConflict: .fail)))
        #expect(try !touchesIndexEntries(.insert(["a": 3], onConflict: .merge)))
        #expect(try touchesIndexEntries(.evict))
        #expect(try counts(simulation) == [1, 1])
        #expect(try touchesIndexEntries(.purge))
        #expect(try counts(simulation) == [0, 0])
    }

    @Test func `wrong index entries of tombstones are reported`() throws {
        try insert(1..<3, into: simulation)
        try simulation.commit([DocumentChange("cars", 2, .delete)])
        try simulation.store.flush()
        let snapshot = simulation.engine.snapshot()
        var entries: [[UInt8]] = []
        snapshot.forEachEntry(in: TombstoneTests.indexEntries) { entry, _ in
            entries.append(Array(entry))
            return true
        }
        let living = TombstoneTests.indexEntries.lower + SortKey.identity(of: 1)
        let key = StoreKey.document(collection: 0, id: SortKey.identity(of: 1)).bytes
        let pointer = try #require(key.withUnsafeBytes { snapshot.log.recordPointer(of: $0) })
        func damage(_ change: (inout IndexChanges) throws -> Void) throws -> [String] {
            var batch = WriteBatch()
            try change(&batch.indexChanges)
            batch.keepsIndexProgress = true
            try batch.put(
                StoreKey.site.bytes, SiteRecord(site: simulation.engine.site, directory: 0).bytes)
            _ = try simulation.store.append(batch)
            try simulation.store.flush()
            return try IndexVerifier.verify(simulation.engine.snapshot()).findings.map(\.reason)
        }
        #expect(entries.count == 1)
        #expect(try damage { _ in } == [])
        let elsewhere = try damage { try $0.addEntry(entries[0], to: pointer) }
        #expect(elsewhere.map { $0.hasPrefix("a tombstone index entry points to ") } == [true])
        #expect(try damage { try $0.removeEntries(entries[0]) } == ["the tombstone has no entry"])
        #expect(
            try damage { try $0.addEntry(living, to: pointer) }.sorted() == [
                "a tombstone index entry points to no tombstone", "the tombstone has no entry",
            ])
    }

    private func removeIndexEntriesOfTombstones() throws {
        var batch = WriteBatch()
        batch.keepsIndexProgress = true
        batch.indexChanges.removeEntries(in: TombstoneTests.indexEntries)
        try batch.put(
            StoreKey.site.bytes, SiteRecord(site: simulation.engine.site, directory: 0).bytes)
        _ = try simulation.store.append(batch)
        try simulation.store.flush()
    }

    @Test(arguments: [63, 64, 65, 130] as [Int64])
    func `up to 64 wrong index entries are reported`(count: Int64) throws {
        try insert(0..<count, into: simulation)
        try simulation.commit((0..<count).map { DocumentChange("cars", .integer($0), .delete) })
        try simulation.store.flush()
        try removeIndexEntriesOfTombstones()
        let findings = try IndexVerifier.verify(simulation.engine.snapshot()).findings
        #expect(findings.count == min(Int(count), 64))
    }

    @Test(arguments: [false, true])
    func `a checkpoint without index entries of tombstones is not misread`(
        _ isFollowed: Bool
    ) throws {
        try insert(0..<9, into: simulation)
        try simulation.createIndex("by a", on: "cars", [.init(["a"])])
        try simulation.commit([4, 5, 6].map { DocumentChange("cars", $0, .delete) })
        // Stores of older versions have no index entries of tombstones.
        try removeIndexEntriesOfTombstones()
        try simulation.store.writeCheckpoint()
        let name = try #require(try simulation.volume.names().first { $0.hasSuffix(".checkpoint") })
        if isFollowed { try insert(6..<7, into: simulation) }
        try simulation.store.close()
        try makeEarlier(name)
        let store = try StoreEngine(
            opening: simulation.volume, options: IndexSimulation.options(3, clock))
        let indexMark = store.snapshot().indexMark
        let engine = try DocumentEngine(store)
        #expect(indexMark == .none && engine.indexFailure == nil)
        let verified = try IndexVerifier.verify(engine.snapshot())
        #expect(verified.findings == [] && verified.correctCount == 9)
        let tombstones = try #require(engine.snapshot().tombstones(of: "cars"))
        #expect(engine.snapshot().count(in: tombstones) == (isFollowed ? 2 : 3))
    }

    /// The range of all tombstone index entries of the first collection.
    private static let indexEntries = KeyRange.prefix([0xFF, 0, 0, 0xFF, 0xFF])

    /// Moves the index progress in a checkpoint header to its offset in older versions.
    private func makeEarlier(_ name: String) throws {
        let file = try simulation.volume.open(name, .write)
        defer { file.close() }
        var header = Array(try #require(simulation.volume.snapshotFiles()[name]).prefix(4_160))
        #expect(header[88..<96].contains { $0 != 0 })
        header.replaceSubrange(80..<96, with: header[88..<96] + [UInt8](repeating: 0, count: 8))
        let checksum = header.prefix(4_152).withUnsafeBytes { XXH3.hash64($0) }
        header.replaceSubrange(
            4_152..., with: withUnsafeBytes(of: checksum.littleEndian, Array.init))
        try header.span.withUnsafeBytes { try file.writeFully($0, at: 0) }
        try file.synchronize()
    }
}
