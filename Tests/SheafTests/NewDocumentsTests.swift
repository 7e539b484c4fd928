import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of documents that are encoded before the transaction that inserts them.
@Suite struct NewDocumentsTests {
    private struct Row {
        let id: Int64
        let object: Object
        let number: UInt64

        init(_ id: Int64, _ object: Object, _ number: UInt64) {
            (self.id, self.object, self.number) = (id, object, number)
        }
    }

    private struct NoSuchLength: Error {}

    private let store: StoreEngine
    private let engine: DocumentEngine

    init() throws {
        var options = LogStoreOptions()
        options.clock = FakeClock().clock
        store = try StoreEngine(opening: SimulatedVolume(seed: 1), options: options)
        engine = try DocumentEngine(store)
    }

    private func key(_ id: Int64, _ collection: UInt16 = 0) -> [UInt8] {
        StoreKey.document(collection: collection, id: SortKey.identity(of: .integer(id))).bytes
    }

    private func documents(_ rows: [Row], _ names: NameTable = NameTable()) -> NewDocuments {
        var encoder = NewDocumentEncoder()
        var documents = NewDocuments()
        for row in rows {
            encoder.encode(row.object, without: "_id", names)
            documents.append(encoder, key(row.id), row: row.number)
        }
        return documents
    }

    /// Returns a document of `length` bytes with its name spelled out.
    private func object(ofLength length: Int) throws -> Object {
        var encoder = NewDocumentEncoder()
        for count in 0..<length {
            let object: Object = ["x": .bytes([UInt8](repeating: 7, count: count))]
            encoder.encode(object, without: "_id", NameTable())
            let found = encoder.length
            if found == length { return object }
        }
        throw NoSuchLength()
    }

    @Test func `documents are sorted by key, and those with one key by row`() {
        for (ids, numbers, expected) in [
            ([3, 1, 2, 1], [10, 9, 8, 7], [7, 9, 8, 10]), ([1, 1, 2], [5, 4, 3], [4, 5, 3]),
            ([1, 2, 3], [3, 2, 1], [3, 2, 1]), ([2, 1], [1, 2], [2, 1]), ([1], [1], [1]),
            ([], [], []), ([1, 2, 2], [1, 3, 2], [1, 2, 3]),
        ] as [([Int64], [UInt64], [UInt64])] {
            var documents = documents(zip(ids, numbers).map { Row($0, ["x": 1], $1) })
            documents.sort()
            #expect(documents.rows.map(\.number) == expected, "\(ids), \(numbers)")
            let keys = documents.rows.map(\.key.bytes)
            let sorted = ids.sorted().map { key($0) }
            #expect(keys == sorted)
        }
    }

    @Test func `rows are removed by their numbers`() throws {
        var documents = documents([
            Row(1, ["x": 1], 10), Row(2, ["x": 2], 20), Row(3, ["x": 3], 30),
        ])
        #expect(documents.count == 3)
        let length = documents.byteCount
        #expect(length > 0 && length.isMultiple(of: 3))
        documents.removeRows { $0 == 20 }
        #expect(documents.count == 2 && documents.rows.map(\.number) == [10, 30])
        #expect(try documents.object(at: 0, NameTable()) == ["x": 1])
        #expect(try documents.object(at: 1, NameTable()) == ["x": 3])
        let sized = NewDocuments(sizedLike: documents)
        #expect(sized.count == 0 && sized.byteCount == 0)
    }

    @Test func `all keys get the number of the collection`() {
        var documents = documents([Row(1, [:], 1), Row(300, [:], 2), Row(-5, [:], 3)])
        for collection in [0, 2, 258, 258] as [UInt16] {
            documents.setCollection(collection)
            let keys = documents.rows.map(\.key)
            let expected = [1, 300, -5].map { DocumentKey(key($0, collection)) }
            #expect(keys == expected)
        }
    }

    @Test func `names of two documents are shared, and get numbers without other changes`() throws {
        let objects: [Object] = [
            ["a": 1, "b": ["c": 1]], ["a": 2, "d": 1], ["b": 3], [:], ["e": "text"],
        ]
        var documents = documents(
            objects.enumerated().map { Row(Int64($0), $1, UInt64(10 + $0)) })
        let shared = try documents.sharedNames()
        #expect(shared == [Array("a".utf8), Array("b".utf8)])
        let names = try #require(NameTable(["a", "b"]))
        try documents.rename(from: NameTable(), to: names)
        #expect(try documents.sharedNames() == [])
        #expect(documents.rows.map(\.number) == [10, 11, 12, 13, 14])
        for (index, object) in objects.enumerated() {
            #expect(try documents.object(at: index, names) == object)
        }
        // Documents whose names all have numbers do not change again.
        var again = documents
        try again.rename(from: names, to: names)
        #expect(again.byteCount == documents.byteCount)
        for (index, object) in objects.enumerated() {
            #expect(try again.object(at: index, names) == object)
        }
    }

    /// Commits changes of the collection `cars`.
    private func commit(_ changes: (Int64, DocumentChange.Action)...) throws {
        _ = try engine.commit(
            changes.map { DocumentChange("cars", .integer($0.0), $0.1) }
        ) { (batch) throws(StorageError) in try store.append(batch) }
    }

    private func commit(_ transaction: inout DocumentTransaction) throws {
        _ = try engine.commit(&transaction) { (batch) throws(StorageError) in
            try store.append(batch)
        }
    }

    private func value(_ id: Int64) throws -> Object? {
        let snapshot = engine.snapshot()
        return try snapshot.document(key(id))?.read { bytes in
            try EncodedDocument(bytes).value(snapshot.names)
        }
    }

    @Test func `documents that exist, repeat, are long or may have tokens are left to others`()
        throws
    {
        try commit((1, .insert(["x": 1])), (2, .insert(["x": 2])))
        try commit((2, .delete))
        try store.flush()
        // These are pending: one as it was encoded, and one that was changed again.
        try commit((3, .insert(["x": 3])), (4, .insert(["x": 4])))
        try commit((4, .edit([.set(path: ["x"], to: 5)])))
        let digits = String(repeating: "0a", count: 32)
        let (longest, longer) = (try object(ofLength: 100), try object(ofLength: 101))
        var new = documents([
            Row(0, ["x": 10], 20), Row(1, ["x": 11], 19), Row(2, ["x": 12], 18),
            Row(3, ["x": 13], 17), Row(4, ["x": 14], 16), Row(5, ["x": 15], 15),
            Row(5, ["x": 16], 14), Row(6, ["x": .string(digits)], 13), Row(7, longer, 12),
            Row(8, longest, 11), Row(9, ["x": 19], 10),
        ])
        new.sort()
        var transaction = engine.begin()
        transaction.maximumLength = 3_231
        let others = try transaction.selectNew(of: &new)
        // In the order of their rows.
        let numbers = others.map { new.rows[$0].number }
        #expect(numbers == [12, 13, 14, 15, 16, 17, 18, 19])
        try transaction.insert(&new)
        #expect(transaction.encoded.count == 3 && transaction.hasChanges)
        let stamp = try #require(transaction.stamp)
        var states: [[UInt8]] = []
        for id in [0, 8, 9] as [Int64] {
            states.append(try #require(transaction.state(of: DocumentKey(key(id)))))
        }
        #expect(transaction.changedLength == states[0].count + 100 + states[2].count)
        for state in states {
            let vector = try state.withUnsafeBytes { try EncodedDocument($0).vector() }
            #expect(vector.latest == stamp.time && vector.time(of: stamp.site) == stamp.time)
        }
        try commit(&transaction)
        try store.flush()
        #expect(try value(0) == ["x": 10])
        #expect(try value(8) == longest)
        #expect(try value(9) == ["x": 19])
        for (id, x) in [(1, 1), (2, nil), (3, 3), (4, 5)] as [(Int64, Value?)] {
            #expect(try value(id)?["x"] == x, "\(id)")
        }
        for id in 5...7 as ClosedRange<Int64> { #expect(try value(id) == nil, "\(id)") }
    }

    @Test func `a stored document at either end of the rows is found`() throws {
        try commit((5, .insert(["x": 1])))
        try store.flush()
        for (ids, expected) in [
            ([5], [5]), ([5, 6], [5]), ([4, 5], [5]), ([4, 5, 6], [5]), ([3, 4], []),
            ([6, 7], []), ([], []),
        ] as [([Int64], [Int64])] {
            var new = documents(ids.map { Row($0, ["x": 2], UInt64($0)) })
            var transaction = engine.begin()
            let others = try transaction.selectNew(of: &new)
            let found = others.map { Int64(new.rows[$0].number) }
            #expect(found == expected, "\(ids)")
            engine.rollBack(&transaction)
        }
    }

    @Test func `an insertion of no new documents changes nothing`() throws {
        try commit((5, .insert(["x": 1])))
        var new = documents([Row(5, ["x": 2], 1)])
        var transaction = engine.begin()
        let others = try transaction.selectNew(of: &new)
        #expect(others == [0])
        try transaction.insert(&new)
        #expect(!transaction.hasChanges && transaction.stamp == nil)
        engine.rollBack(&transaction)
    }

    @Test func `the documents of one insertion count to the length of the transaction`() throws {
        var options = LogStoreOptions()
        options.clock = FakeClock().clock
        options.transactionLength = 199
        let store = try StoreEngine(opening: SimulatedVolume(seed: 2), options: options)
        let engine = try DocumentEngine(store)
        let object = try object(ofLength: 100)
        var new = documents([Row(1, object, 1), Row(2, object, 2)])
        var transaction = engine.begin()
        let others = try transaction.selectNew(of: &new)
        #expect(others == [])
        let limit = EngineError.limit(name: "maximumTransactionLength", value: 200, limit: 199)
        #expect(throws: limit) { try transaction.insert(&new) }
        engine.rollBack(&transaction)
        #expect(engine.snapshot().log.commit == 0)
    }
}
