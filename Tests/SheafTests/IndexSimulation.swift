import Sheaf
import SheafBytes
import SheafDocument
import SheafDocumentModel
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// A store with indexes under random operations.
final class IndexSimulation {
    let volume: SimulatedVolume
    private let clock: FakeClock
    private(set) var store: StoreEngine
    private(set) var engine: DocumentEngine
    private var random: SeededRandom
    private var writes: RandomWrite
    /// Decides when versions are tracked.
    private var tracking: SeededRandom
    /// Whether the engine keeps the versions of documents.
    private var tracksVersions = false
    /// Older snapshots, whose contents must not change.
    private var kept: [DocumentSnapshot] = []

    static let collections = ["cars", "people"]
    static let ids: [Value] =
        [
            "a", ["x": 1, "y": [true]], ["x": "s"], .string(String(repeating: "i", count: 700)),
            .string(String(repeating: "i", count: 1_000)), true, .bytes([0, 1]),
        ] + (0..<12).map { .integer(Int64($0)) }
    static let fields: [[IndexDefinition.Field]] = [
        [.init(["a"])], [.init(["a", "x"], isDescending: true)],
        [.init(["b"], isDescending: true), .init(["a"])], [.init(["_id"])],
        [.init(["_id", "x"]), .init(["a", "x", "q"]), .init(["b", "x"], isDescending: true)],
        [.init(["caf\u{E9}"])], [.init([""]), .init(["c"])],
    ]
    private static let values: [Value] = [
        .string(String(repeating: "long ", count: 60)),
        .string(String(repeating: "long ", count: 60) + "er"),
        .string(String(repeating: "long ", count: 300)),
        .string(String(repeating: "long ", count: 300) + "er"),
        .integer(1 << 53 + 1), .integer(1 << 53), .float(0x1p53), .float(.nan), .float(-0.0), 0,
        .array((0..<90).map { .float(Double($0)) }), .array((0..<200).map { .integer(Int64($0)) }),
    ]

    init(seed: UInt64, _ clock: FakeClock) throws {
        self.clock = clock
        volume = SimulatedVolume(seed: seed)
        random = SeededRandom(seed: seed, "indexes")
        writes = RandomWrite(seed: seed)
        tracking = SeededRandom(seed: seed, "versions")
        store = try StoreEngine(opening: volume, options: Self.options(seed, clock))
        engine = try DocumentEngine(store)
    }

    static func options(_ seed: UInt64, _ clock: FakeClock) -> LogStoreOptions {
        var options = LogStoreOptions()
        options.segmentLength = 6_000
        options.history = HistoryHorizon(commits: 10, bytes: .max)
        options.clock = clock.clock
        let random = SeededSource(seed: seed)
        options.random = { random.next() }
        return options
    }

    /// Runs one random operation, which may merge documents of `others`.
    func step(_ others: [IndexSimulation]) throws {
        clock.advance(milliseconds: UInt64(random.below(3)))
        if tracking.chance(1, in: 6) { try trackVersions() }
        switch random.below(24) {
        case 0, 1: try createIndex()
        case 2: try dropIndex()
        case 3:
            try store.flush()
            store.compactEverything()
            while try store.compactionStep() {}
        case 4: try store.writeCheckpoint()
        case 5:
            if random.chance(1, in: 2) { try store.writeCheckpoint() }
            try store.close()
            try reopen()
        case 6, 7, 8: if let other = others.first { try join(other) }
        default: try commit((0...random.below(4)).map { _ in change() })
        }
        if random.chance(1, in: 8) {
            try store.flush()
            kept.append(engine.snapshot())
            if kept.count > 4 { kept.removeFirst() }
        }
    }

    private func reopen() throws {
        store = try StoreEngine(opening: volume, options: Self.options(random.next(), clock))
        engine = try DocumentEngine(store)
        #expect(engine.indexFailure == nil)
        tracksVersions = false
    }

    private func trackVersions() throws {
        try engine.trackVersions()
        tracksVersions = true
    }

    // MARK: Changes

    @discardableResult
    func commit(_ changes: [DocumentChange]) throws(EngineError) -> DocumentReceipt {
        try engine.commit(changes) { batch throws(StorageError) in try store.append(batch) }
    }

    @discardableResult
    func createIndex(
        _ name: String, on collection: String, _ fields: [IndexDefinition.Field],
        ifNotExists: Bool = false
    ) throws(EngineError) -> IndexReceipt {
        try engine.createIndex(
            name, on: collection, fields, ifNotExists: ifNotExists,
            flush: { () throws(StorageError) in try store.flush() },
            append: { batch throws(StorageError) in try store.append(batch) })
    }

    @discardableResult
    func dropIndex(
        _ name: String, on collection: String, ifExists: Bool = false
    ) throws(EngineError) -> IndexReceipt {
        try engine.dropIndex(name, on: collection, ifExists: ifExists) {
            (batch) throws(StorageError) in try store.append(batch)
        }
    }

    private func createIndex() throws {
        let number = random.below(4)
        try createIndex(
            "index \(number)", on: collection(), Self.fields[random.below(Self.fields.count)],
            ifNotExists: true)
    }

    private func dropIndex() throws {
        try dropIndex("index \(random.below(4))", on: collection(), ifExists: true)
    }

    private func collection() -> String { Self.collections[random.below(2)] }

    private func change() -> DocumentChange {
        let action: DocumentChange.Action =
            switch writes.write(isPresent: random.chance(9, in: 10)) {
            case .edit(let edits): .edit(edits)
            case .delete: random.chance(1, in: 2) ? .evict : .delete
            case .insert(let object): .insert(object, onConflict: .merge)
            case .insertDifferences(let object): .insert(object, onConflict: .mergeDifferences)
            case .insertInitial(let object): .insertInitial(object)
            }
        let id = Self.ids[random.below(Self.ids.count)]
        if random.chance(1, in: 8) { return DocumentChange(collection(), id, .delete) }
        guard random.chance(1, in: 2) else { return DocumentChange(collection(), id, action) }
        let value = Self.values[random.below(Self.values.count)]
        let name = ["a", "b"][random.below(2)]
        return DocumentChange(
            collection(), id, .insert(Object([(name, value)]), onConflict: .merge))
    }

    /// Merges some documents of another store.
    private func join(_ other: IndexSimulation) throws {
        try other.store.flush()
        let snapshot = other.engine.snapshot()
        var changes: [DocumentChange] = []
        for id in Self.ids where random.chance(1, in: 3) {
            let collection = collection()
            guard let key = try snapshot.key(collection: collection, id: id),
                let document = try snapshot.document(key)
            else { continue }
            let portable = try document.read { bytes in
                try EncodedDocument(bytes).renamed(from: snapshot.names, to: NameTable())
            }
            changes.append(DocumentChange(collection, id, .join(portable)))
        }
        try commit(changes)
    }

    // MARK: Checks

    /// The number of entries checked, by region.
    private(set) var entries: [IndexEntry.Region: Int] = [:]
    /// The number of index entries of tombstones checked.
    private(set) var tombstoneCount = 0
    /// The number of versions checked.
    private(set) var versionCount = 0
    private(set) var indexedVersionCount = 0

    /// Compares the indexes of the newest and the older snapshots with their documents.
    func check(_ comment: Comment) throws {
        try store.flush()
        for snapshot in kept + [engine.snapshot()] { try check(snapshot, comment) }
        if tracksVersions {
            let newest = engine.snapshot()
            for number in newest.catalog.collections.indices {
                #expect(newest.hasVersions(in: StoreKey.documents(of: UInt16(number))), comment)
            }
        }
        #expect(store.checkLiveBytes() == [], comment)
    }

    /// Checks a disk image, opened first by a reader and then by a writer.
    func checkImage(_ image: SimulatedVolume, _ comment: Comment) throws {
        let before = image.snapshotFiles()
        let reader = try LogReader(ReadOnlyVolume(image))
        try check(try QueryEngine(reading: reader).snapshot(), comment)
        let isUnchanged = Self.areEqual(image.snapshotFiles(), before)
        #expect(isUnchanged, comment)
        let store = try StoreEngine(opening: image, options: Self.options(random.next(), clock))
        let engine = try DocumentEngine(store)
        #expect(engine.indexFailure == nil, comment)
        try check(engine.snapshot(), comment)
        let change = DocumentChange("cars", "a", .insert(["a": 1], onConflict: .merge))
        _ = try engine.commit([change]) { batch throws(StorageError) in try store.append(batch) }
        try store.flush()
        try check(engine.snapshot(), comment)
    }

    /// Compares files; `==` takes several times as long in a debug build.
    private static func areEqual(_ left: [String: [UInt8]], _ right: [String: [UInt8]]) -> Bool {
        left.count == right.count
            && left.allSatisfy { name, bytes in
                guard let other = right[name] else { return false }
                return bytes.withUnsafeBytes { bytes in
                    other.withUnsafeBytes { bytes.hasSameBytes(as: $0) }
                }
            }
    }

    private func check(_ snapshot: DocumentSnapshot, _ comment: Comment) throws {
        #expect(snapshot.log.indexMark.commit == snapshot.log.commit, comment)
        // The catalog of the engine may be newer than the snapshot.
        let own = DocumentSnapshot(snapshot.log, try Catalog(snapshot.log))
        let verifier = try IndexVerifier.verify(own)
        #expect(verifier.findings == [], comment)
        #expect(snapshot.count(in: IndexChanges.all) == verifier.correctCount, comment)
        for collection in Self.collections {
            let documents = try existing(collection, in: snapshot)
            try checkTombstones(collection, documents, in: snapshot, comment)
            try checkVersions(collection, in: snapshot, comment)
            let indexes = snapshot.indexes(of: collection)
            let texts = indexes.isEmpty ? [:] : documents.mapValues { Value.object($0).json }
            for index in indexes {
                #expect(snapshot.count(in: index.entries) == documents.count, comment)
                try check(index, documents, texts, in: snapshot, comment)
            }
        }
    }

    /// Checks the index entries of tombstones, and the number of documents computed from keys.
    private func checkTombstones(
        _ collection: String, _ documents: [Value: Object], in snapshot: DocumentSnapshot,
        _ comment: Comment
    ) throws {
        guard let number = snapshot.catalog.number(ofCollection: collection) else { return }
        let tombstones = try #require(snapshot.tombstones(of: collection), comment)
        let keys = StoreKey.documents(of: number)
        let count = snapshot.count(in: keys) - snapshot.count(in: tombstones)
        #expect(count == documents.count, comment)
        try snapshot.forEachEntry(in: tombstones) { entry, pointer in
            let found = try snapshot.document(at: pointer)
            #expect(entry.dropFirst(5).elementsEqual(found.key.dropFirst(3)), comment)
            #expect(try found.document.read { try !EncodedDocument($0).exists() }, comment)
            tombstoneCount += 1
            return true
        }
    }

    /// Checks the versions that the tree has, and their sum.
    private func checkVersions(
        _ collection: String, in snapshot: DocumentSnapshot, _ comment: Comment
    ) throws {
        guard let number = snapshot.catalog.number(ofCollection: collection) else { return }
        let name = VersionHasher.hash(ofCollection: collection)
        var sum: UInt64 = 0
        try snapshot.log.tree.forEach(in: StoreKey.documents(of: number)) { key, value in
            guard let weight = value.weight else { return true }
            let document = try #require(try snapshot.document(Array(key)), comment)
            let expected = try document.read { bytes -> UInt64 in
                let document = try EncodedDocument(bytes)
                guard try document.exists() else { return 0 }
                return VersionHasher.hash(
                    id: UnsafeRawBufferPointer(rebasing: key[3...]), collection: name,
                    vector: try document.vector().hash)
            }
            #expect(weight == expected, comment)
            sum &+= weight
            versionCount += 1
            return true
        }
        let weights = snapshot.log.tree.weights(in: StoreKey.documents(of: number))
        #expect(weights.sum == sum, comment)
    }

    /// Returns the existing documents of a collection by id.
    private func existing(
        _ collection: String, in snapshot: DocumentSnapshot
    ) throws -> [Value: Object] {
        var found: [Value: Object] = [:]
        for id in Self.ids {
            guard let key = try snapshot.key(collection: collection, id: id) else { continue }
            found[id] = try snapshot.document(key)?.read { bytes in
                let document = try EncodedDocument(bytes)
                return try document.exists() ? try document.value(snapshot.names) : nil
            }
        }
        return found
    }

    /// Reads an index like a scan, and compares order, values and documents, also as JSON.
    private func check(
        _ index: IndexDefinition, _ documents: [Value: Object], _ texts: [Value: String],
        in snapshot: DocumentSnapshot, _ comment: Comment
    ) throws {
        let reader = IndexEntryReader(index)
        var before: [Value?]?
        var forward: [Value] = []
        try checkVersions(of: index, in: snapshot, comment)
        try snapshot.forEachEntry(in: index.entries) { key, pointer in
            let entry = try reader.read(key)
            let found = try snapshot.document(at: pointer)
            let storedKey = StoreKey.document(
                collection: index.collection, id: try DocumentID.key(of: entry.id))
            #expect(StoreKey(found.key) == storedKey, comment)
            let object = try found.document.read { bytes in
                try EncodedDocument(bytes).value(snapshot.names)
            }
            let expected = try #require(documents[entry.id], comment)
            #expect(object.map { Value.object($0).json } == texts[entry.id], comment)
            entries[entry.region, default: 0] += 1
            forward.append(entry.id)
            guard entry.region == .complete else { return true }
            let values = index.fields.map { field in
                Self.value(field.path, expected, entry.id)
            }
            #expect(entry.values.map { $0?.json } == values.map { $0?.json }, comment)
            if let before { #expect(Self.isInOrder(before, values, index), comment) }
            before = values
            return true
        }
        var backward: [Value] = []
        try snapshot.forEachEntry(in: index.entries, reversed: true) { key, _ in
            backward.append(try IndexEntry(key, of: index).id)
            return true
        }
        #expect(backward == forward.reversed(), comment)
    }

    /// Checks that index entries have the versions of their documents, or none.
    private func checkVersions(
        of index: IndexDefinition, in snapshot: DocumentSnapshot, _ comment: Comment
    ) throws {
        let reader = IndexEntryReader(index)
        try snapshot.log.tree.forEach(in: index.entries) { key, value in
            guard let weight = value.weight else { return true }
            let id = try DocumentID.key(of: try reader.read(key).id)
            let document = StoreKey.document(collection: index.collection, id: id).bytes
            let found = document.withUnsafeBytes { snapshot.log.tree.find($0) }
            #expect(found?.weight == weight, comment)
            indexedVersionCount += 1
            return true
        }
    }

    private static func value(_ path: [String], _ object: Object, _ id: Value) -> Value? {
        var value: Value? = path[0] == "_id" ? id : object[path[0]]
        for step in path.dropFirst() {
            guard case .object(let object)? = value else { return nil }
            value = object[step]
        }
        return value
    }

    private static func isInOrder(
        _ left: [Value?], _ right: [Value?], _ index: IndexDefinition
    ) -> Bool {
        for ((left, right), field) in zip(zip(left, right), index.fields) {
            let order: Int =
                switch (left, right) {
                case (nil, nil): 0
                case (nil, _): 1
                case (_, nil): -1
                case (let left?, let right?): left.compare(right)
                }
            if order != 0 { return (order < 0) != field.isDescending }
        }
        return true
    }
}
