import SheafDocument
import SheafEngine
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// Tests of edits of short documents, against the join of their deltas.
@Suite struct ShortDocumentEditTests {
    private struct NoSuchLength: Error {}

    private static let collection = "cars"

    private let clock = FakeClock()
    private let store: StoreEngine
    private let engine: DocumentEngine
    private let names: NameTable

    init() throws {
        (store, engine) = try DocumentEngine.inMemory(clock)
        names = engine.assignNumbers(to: ["a", "b", "c", "fill"].map { Array($0.utf8) })
    }

    /// The stamp of the next commit, if the clock has advanced since the last one.
    private var nextStamp: Stamp {
        Stamp(HybridTime(milliseconds: clock.clock.wallMilliseconds()), engine.site)
    }

    /// Inserts a document in a commit, durable or not, and advances the clock; returns its state.
    private func insert(_ id: Value, _ object: Object, isDurable: Bool) throws -> [UInt8] {
        let change = DocumentChange(Self.collection, id, .insert(object))
        let receipt = try engine.commit([change]) { (batch) throws(StorageError) in
            try store.append(batch)
        }
        if isDurable { try store.flush() }
        clock.advance(milliseconds: 1)
        return try encoded(object, at: try #require(receipt.outcomes[0].stamp))
    }

    private func encoded(_ object: Object, at stamp: Stamp) throws -> [UInt8] {
        var encoder = NewDocumentEncoder()
        try encoder.encode(object, without: "_id", at: stamp, names)
        var bytes: [UInt8] = []
        encoder.append(to: &bytes)
        return bytes
    }

    private func text(_ length: Int) -> Value { .string(String(repeating: "y", count: length)) }

    /// Returns a document with a state of `length` bytes, whose `a` has 60 bytes.
    private func object(ofLength length: Int) throws -> Object {
        for count in (length - 200)..<length {
            let object: Object = [
                "a": text(60), "b": 1, "fill": .bytes([UInt8](repeating: 7, count: count)),
            ]
            if try encoded(object, at: nextStamp).count == length { return object }
        }
        throw NoSuchLength()
    }

    /// Returns the delta of edits of a state; nil if they change nothing.
    private func delta(_ edits: [Edit], of state: [UInt8], at stamp: Stamp) throws -> [UInt8]? {
        try state.withUnsafeBytes { bytes in
            try DocumentEditor.delta(of: edits, in: bytes, at: stamp, names)?.bytes
        }
    }

    private func joined(
        _ left: [UInt8], _ right: [UInt8], base: VersionVector? = nil
    ) throws -> [UInt8] {
        try left.withUnsafeBytes { left in
            try right.withUnsafeBytes { right in try Join.join(left, right, names, base: base) }
        }
    }

    private func vector(_ state: [UInt8]) throws -> VersionVector {
        try state.withUnsafeBytes { try EncodedDocument($0).vector() }
    }

    private func withoutBase(_ state: [UInt8]) throws -> [UInt8] {
        try state.withUnsafeBytes { try EncodedDocument($0).settingBase(nil) }
    }

    /// Commits a transaction durably; returns the payloads of the document, newest first.
    private func commit(
        _ transaction: inout DocumentTransaction, changing id: Value
    ) throws -> [[UInt8]] {
        _ = try engine.commit(&transaction) { (batch) throws(StorageError) in
            try store.append(batch)
        }
        try store.flush()
        let snapshot = engine.snapshot()
        let key = try #require(try snapshot.key(collection: Self.collection, id: id))
        let operations = try key.withUnsafeBytes { try snapshot.log.operations(of: $0) }
        return operations.map { Array($0.operation.payload) }
    }

    private func change(_ id: Value, _ edits: [Edit]) -> DocumentChange {
        DocumentChange(Self.collection, id, .edit(edits))
    }

    @Test(arguments: [1_023, 1_024, 1_025], [1_023, 1_024, 1_025])
    func `a document of up to 1,024 bytes is written completely, and a longer one as a delta`(
        length: Int, next: Int
    ) throws {
        for isDurable in [true, false] {
            let comment: Comment = "from \(length) to \(next) bytes, durable: \(isDurable)"
            let id = Value.integer(isDurable ? 1 : 2)
            let state = try insert(id, try object(ofLength: length), isDurable: isDurable)
            #expect(state.count == length, comment)
            let (stamp, base) = (nextStamp, try vector(state))
            // An edit whose result has the wanted length.
            var found: (edits: [Edit], delta: [UInt8], state: [UInt8])?
            for count in 0...63 {
                let edits = [Edit.set(path: ["a"], to: text(count))]
                let change = try #require(try delta(edits, of: state, at: stamp))
                let result = try joined(state, change, base: base)
                if result.count == next { found = (edits, change, result) }
            }
            let expected = try #require(found, comment)
            var transaction = engine.begin()
            let outcome = try transaction.apply(change(id, expected.edits))
            #expect(outcome.isChanged && outcome.stamp == stamp, comment)
            // A document that is pending must be opened.
            let isOpened = !isDurable || length > 1_024 || next > 1_024
            let counts = [transaction.encoded.count, transaction.working.count]
            #expect(counts == (isOpened ? [0, 1] : [1, 0]), comment)
            let payloads = try commit(&transaction, changing: id)
            let isDelta = next > 1_024
            let written: [[UInt8]] =
                isDelta ? [[2] + expected.delta, [1] + state] : [[1] + expected.state]
            #expect(payloads == written, comment)
            clock.advance(milliseconds: 1)
        }
    }

    /// Returns an edit of one field, often one that replaces a short value.
    private func edit(_ random: inout SeededRandom) -> Edit {
        let path = [["a", "b", "c"][random.below(3)]]
        switch random.below(10) {
        case 0: return .unset(path: path)
        case 1: return .increment(path: ["c"], by: .integer(1))
        case 2: return .set(path: path, to: ["a": .integer(Int64(random.below(9)))])
        case 3: return .set(path: path, to: text(64 + random.below(900)))
        case 4: return .set(path: path, to: [1, .bytes(random.bytes(5))])
        case 5: return .set(path: path, to: .integer(Int64(random.below(1_000))))
        default: return .set(path: path, to: text(random.below(64)))
        }
    }

    @Test(arguments: 0..<6 as Range<UInt64>)
    func `edits of one commit lead to the join of all their deltas`(seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "edits of short documents")
        for round in 0..<15 as Range<Int64> {
            let comment: Comment = "seed \(seed), round \(round)"
            let id = Value.integer(round)
            let object = try object(ofLength: 880 + random.below(150))
            let original = try insert(id, object, isDurable: random.chance(1, in: 2))
            let base = try vector(original)
            var expected = original
            var transaction = engine.begin()
            for _ in 0...random.below(4) {
                var edits = [edit(&random)]
                if random.chance(1, in: 3) { edits.append(edit(&random)) }
                // Edits that change nothing have no stamp.
                let outcome = try transaction.apply(change(id, edits))
                let added = try delta(edits, of: expected, at: outcome.stamp ?? nextStamp)
                #expect(outcome.isChanged == (added != nil), comment)
                if let added { expected = try joined(expected, added, base: base) }
            }
            let payloads = try commit(&transaction, changing: id)
            clock.advance(milliseconds: 1)
            let snapshot = engine.snapshot()
            let key = try #require(try snapshot.key(collection: Self.collection, id: id))
            let found = try #require(try snapshot.document(key), comment).bytes
            #expect(try withoutBase(found) == withoutBase(expected), comment)
            if payloads.count == 1 { #expect(found == expected, comment) }
        }
    }

    @Test func `a short edit is part of the delta that a long one of the same commit adds`() throws
    {
        for isDurable in [true, false] {
            let id = Value.integer(isDurable ? 1 : 2)
            let original = try insert(id, try object(ofLength: 1_000), isDurable: isDurable)
            var transaction = engine.begin()
            var state = original
            var deltas: [[UInt8]] = []
            let values: [(field: String, value: Value)] = [("a", 5), ("c", text(200))]
            for (field, value) in values {
                let edits = [Edit.set(path: [field], to: value)]
                let outcome = try transaction.apply(change(id, edits))
                let stamp = try #require(outcome.stamp)
                let added = try #require(try delta(edits, of: state, at: stamp))
                deltas.append(added)
                state = try joined(state, added)
            }
            #expect(state.count > 1_024)
            let payloads = try commit(&transaction, changing: id)
            let both = try joined(deltas[0], deltas[1])
            let written: [[UInt8]] = [[2] + both, [1] + original]
            #expect(payloads == written, "durable: \(isDurable)")
            clock.advance(milliseconds: 1)
        }
    }
}
