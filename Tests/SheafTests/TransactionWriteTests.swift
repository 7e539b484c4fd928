import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the stamps, lengths and errors of the writes of a transaction.
@Suite struct TransactionWriteTests {
    private struct NoSuchLength: Error {}

    private let clock = FakeClock()
    private let store: StoreEngine
    private let engine: DocumentEngine

    init() throws {
        (store, engine) = try DocumentEngine.inMemory(clock)
    }

    @discardableResult
    private func commit(_ changes: [DocumentChange]) throws -> DocumentReceipt {
        try engine.commit(changes) { (batch) throws(StorageError) in try store.append(batch) }
    }

    private func change(_ id: Value, _ action: DocumentChange.Action) -> DocumentChange {
        DocumentChange("cars", id, action)
    }

    private func set(_ field: String, _ value: Value) -> DocumentChange.Action {
        .edit([.set(path: [field], to: value)])
    }

    @Test func `documents that are written once share a stamp, and each further write has its own`()
        throws
    {
        let first = try commit([
            change("a", .insert(["x": 1])), change("b", .insert(["x": 1])),
            change("c", .insert(["x": 1])), change("d", .insert(["x": 1])),
        ])
        let shared = try #require(first.outcomes[0].stamp)
        #expect(shared.site == engine.site)
        #expect(shared.time == HybridTime(milliseconds: 1_780_000_000_000))
        #expect(first.outcomes.map(\.stamp) == [shared, shared, shared, shared])
        clock.advance(milliseconds: 1)
        let receipt = try commit([
            change("a", set("x", 2)), change("b", .delete), change("a", set("x", 3)),
            change("a", set("y", 4)), change("e", .insert(["x": 1])), change("none", .delete),
            change("none", set("x", 1)), change("c", .evict), change("c", .evict),
            change("d", .insert(["x": 1], onConflict: .doNothing)),
            change("b", .insert(["x": 5])), change("s", .insertInitial(["x": 1])),
        ])
        let changed = receipt.outcomes.map(\.isChanged)
        #expect(
            changed == [
                true, true, true, true, true, false, false, true, false, false, true, true,
            ])
        let time: UInt64 = 1_780_000_000_001
        let stamps = (0..<4 as Range<UInt64>).map { counter in
            Stamp(HybridTime(milliseconds: time, counter: counter), engine.site)
        }
        let expected: [Stamp?] = [
            stamps[0], stamps[0], stamps[1], stamps[2], stamps[0], nil, nil, nil, nil, nil,
            stamps[3], Stamp.initial,
        ]
        #expect(receipt.outcomes.map(\.stamp) == expected)
    }

    @Test func `a stamp that no statement has used is returned`() throws {
        var transaction = engine.begin()
        transaction.beginStatement()
        _ = try transaction.apply(change("a", .insert(["x": 1])))
        let stamp = try #require(transaction.stamp)
        transaction.rollBackStatement()
        #expect(transaction.stamp == nil && transaction.clock.latest < stamp.time)
        #expect(!transaction.hasChanges && transaction.catalog.collections == [])
        transaction.beginStatement()
        _ = try transaction.apply(change("b", .insert(["x": 1])))
        #expect(transaction.stamp == stamp && transaction.hasChanges)
        engine.rollBack(&transaction)
        #expect(!transaction.hasChanges && engine.snapshot().catalog.collections == [])
        let receipt = try commit([change("c", .insert(["x": 1]))])
        #expect(receipt.commit == 1 && receipt.outcomes[0].stamp == stamp)
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

    @Test func `documents beyond the soft limit are recorded, with all names spelled out`() throws {
        // The name gets a number, which does not count.
        for id in 1...4 as ClosedRange<Int64> {
            try commit([change(.integer(id), .insert(["x": 1]))])
        }
        #expect(engine.newestCatalog.names.number(of: Array("x".utf8)) != nil)
        var transaction = engine.begin()
        transaction.largeDocumentLength = 200
        for length in [199, 200, 201, 250] {
            let object = try object(ofLength: length)
            _ = try transaction.apply(
                change(.integer(Int64(length)), .insert(object)))
        }
        _ = try transaction.apply(
            change(199, .insert(try object(ofLength: 300), onConflict: .merge)))
        let large = transaction.largeDocuments
        #expect(large.map(\.id) == [201, 250, 199])
        #expect(large.map(\.length) == [201, 250, 300])
        #expect(large.map(\.collection) == ["cars", "cars", "cars"])
        #expect(large.map(\.limit) == [200, 200, 200])
        // Deletions are not measured.
        _ = try transaction.apply(change(250, .delete))
        #expect(transaction.largeDocuments.count == 3)
        engine.rollBack(&transaction)
    }

    @Test func `a document beyond the hard limit is refused with its length`() throws {
        var transaction = engine.begin()
        transaction.maximumLength = 200
        _ = try transaction.apply(change(1, .insert(try object(ofLength: 200))))
        let long = try object(ofLength: 201)
        let limit = EngineError.limit(name: "maximumDocumentLength", value: 201, limit: 200)
        for conflict in [.fail, .merge] as [DocumentChange.Conflict] {
            transaction.beginStatement()
            do throws(EngineError) {
                _ = try transaction.apply(change(2, .insert(long, onConflict: conflict)))
                Issue.record("a long document was accepted")
            } catch {
                #expect(error == limit)
            }
            transaction.rollBackStatement()
        }
        #expect(transaction.encoded.count + transaction.working.count == 1)
        engine.rollBack(&transaction)
    }

    @Test func `an edit without a document adds no collection, but its id is checked`() throws {
        for action in [set("x", 1), .delete, .evict, .purge] {
            let receipt = try commit([change(1, action)])
            #expect(!receipt.outcomes[0].isChanged && receipt.commit == 0)
            #expect(throws: EngineError.document(.id(.float))) {
                try commit([change(1.5, action)])
            }
        }
        #expect(engine.newestCatalog.collections == [])
        try commit([change(1, .insert(["x": 1]))])
        #expect(engine.newestCatalog.collections == ["cars"])
        #expect(throws: EngineError.document(.id(.float))) {
            try commit([change(1.5, set("x", 1))])
        }
    }

    @Test func `a deletion is one operation, and the tombstone remains until it is purged`() throws
    {
        try commit([change(1, .insert(["x": 1]))])
        try commit([change(1, .delete)])
        try store.flush()
        let key = try #require(try engine.snapshot().key(collection: "cars", id: 1))
        #expect(try engine.snapshot().document(key)?.isTombstone == true)
        #expect(engine.hasTombstones)
        // A deleted document is neither deleted nor edited again.
        let again = try commit([change(1, .delete), change(1, set("x", 1))])
        #expect(again.outcomes.map(\.isChanged) == [false, false] && again.commit == 2)
        let purged = try commit([change(1, .purge), change(1, .purge)])
        #expect(purged.outcomes.map(\.isChanged) == [true, false] && purged.commit == 3)
        try store.flush()
        #expect(try engine.snapshot().document(key) == nil)
        #expect(!engine.hasTombstones)
    }
}
