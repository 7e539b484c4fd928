import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the lengths up to which documents are inserted and edited without being opened.
@Suite struct EncodingLimitTests {
    private struct NoSuchLength: Error {}

    private let store: ReceivingStore

    init() throws {
        store = try ReceivingStore(SimulatedVolume(seed: 1), FakeClock())
    }

    /// Returns a document of `length` bytes with its name spelled out.
    private func object(ofLength length: Int) throws -> Object {
        var encoder = NewDocumentEncoder()
        for count in max(length - 100, 0)..<length {
            let object: Object = ["x": .bytes([UInt8](repeating: 7, count: count))]
            encoder.encode(object, without: "_id", NameTable())
            let found = encoder.length
            if found == length { return object }
        }
        throw NoSuchLength()
    }

    /// Applies a change, and returns whether the document was not opened, and its length.
    private func apply(
        _ id: Value, _ action: DocumentChange.Action,
        _ prepare: (inout DocumentTransaction) -> Void = { _ in }
    ) throws -> (isEncoded: Bool, length: Int) {
        var transaction = store.engine.begin()
        prepare(&transaction)
        let outcome = try transaction.apply(DocumentChange("cars", id, action))
        #expect(outcome.isChanged)
        let encodedCount = transaction.encoded.count
        #expect(encodedCount + transaction.working.count == 1)
        let length = transaction.changedLength
        store.engine.rollBack(&transaction)
        return (encodedCount == 1, length)
    }

    @Test func `an inserted document is not opened up to a part of each limit`() throws {
        for length in [99, 100, 101] {
            let insertion = DocumentChange.Action.insert(try object(ofLength: length))
            for (limit, isEncoded) in [
                (99 * 32 + 31, length <= 99), (100 * 32, length <= 100),
                (100 * 32 + 31, length <= 100),
            ] {
                let hard = try apply("n", insertion) { $0.maximumLength = limit }
                let soft = try apply("n", insertion) { $0.largeDocumentLength = limit }
                let found = [hard.isEncoded, soft.isEncoded]
                #expect(found == [isEncoded, isEncoded], "\(length), \(limit)")
                #expect(hard.length == length && soft.length == length)
            }
            let free = try apply("n", insertion)
            #expect(free.isEncoded && free.length == length)
        }
    }

    // MARK: Edits

    private func bytes(_ count: Int) -> Value { .bytes([UInt8](repeating: 7, count: count)) }

    /// Inserts a document whose fields `x` and `y` have numbers, and makes it durable.
    private func log(_ id: String, _ object: Object) throws {
        _ = store.engine.assignNumbers(to: [Array("x".utf8), Array("y".utf8)])
        try store.commit(.string(id), .insert(object))
        try store.store.flush()
    }

    /// Edits a document in a transaction that is rolled back.
    private func edited(_ id: String, _ edit: Edit) throws -> (isOpened: Bool, length: Int?) {
        var transaction = store.engine.begin()
        let key = try store.key(id, in: &transaction)
        _ = try transaction.apply(DocumentChange("cars", .string(id), .edit([edit])))
        let found = (transaction.encoded.count == 0, transaction.state(of: key)?.count)
        store.engine.rollBack(&transaction)
        return found
    }

    // A document of this store has a header of 19 bytes, which an edit extends by a base (11) and
    // an older stamp (10), and a root of 2 bytes. With two fields, the object ends with 8 bytes.
    // `x` has one byte more than its value, and the stamp of an edited field takes one byte.

    @Test func `a document that was just written, or needs a delta, is opened`() throws {
        try log("a", ["x": 1, "y": 1])
        let set = Edit.set(path: ["y"], to: 2)
        #expect(try !edited("a", set).isOpened)
        #expect(try edited("a", .unset(path: ["y"])).isOpened)
        try store.commit("b", .insert(["x": 1, "y": 1]))
        #expect(try edited("b", set).isOpened)
        try store.store.flush()
        #expect(try !edited("b", set).isOpened)
    }

    @Test(arguments: [1_023, 1_024, 1_025])
    func `an edit of a document is logged as a delta if that has more than 1,024 bytes`(
        length: Int
    ) throws {
        // Without `y`, the object ends with 5 bytes.
        let edits: [(edit: Edit, rest: Int)] = [
            (edit: .set(path: ["y"], to: 2), rest: 54), (edit: .unset(path: ["y"]), rest: 48),
        ]
        for (number, (edit, rest)) in edits.enumerated() {
            for opensFirst in [false, true] {
                let id = "\(number) \(opensFirst)"
                try log(id, ["x": bytes(length - rest), "y": 1])
                var transaction = store.engine.begin()
                let key = try store.key(id, in: &transaction)
                if opensFirst { _ = try transaction.open(key) }
                _ = try transaction.apply(DocumentChange("cars", .string(id), .edit([edit])))
                let found = transaction.state(of: key)
                #expect(found?.count == length, "\(id)")
                try store.commit(&transaction)
                try store.store.flush()
                let snapshot = store.store.snapshot()
                let pointer = key.bytes.withUnsafeBytes { snapshot.recordPointer(of: $0) }
                #expect(pointer?.isDelta == (length > 1_024), "\(id)")
            }
        }
    }

    @Test(arguments: [4_095, 4_096, 4_097])
    func `new names of a partly changed document are counted if it has at most 4,096 bytes`(
        length: Int
    ) throws {
        // The new field has 5 bytes with its name, and the object ends with 8 bytes.
        try log("a", ["x": bytes(length - 56)])
        let edit = Edit.set(path: ["z"], to: 1)
        #expect(try edited("a", edit).length == length)
        try store.commit("a", .edit([edit]))
        // A name gets a number when it occurs for the second time.
        try store.commit("b", .insert(["z": 1]))
        try store.commit("c", .insert([:]))
        let number = store.engine.newestCatalog.names.number(of: Array("z".utf8))
        #expect((number != nil) == (length <= 4_096))
    }

    // MARK: Deltas

    /// Edits a document in a commit of its own; returns whether the log has a delta of it then.
    private func writesDelta(_ id: String, _ edit: Edit) throws -> Bool? {
        try store.commit(.string(id), .edit([edit]))
        try store.store.flush()
        var transaction = store.engine.begin()
        let key = try store.key(id, in: &transaction)
        store.engine.rollBack(&transaction)
        let snapshot = store.store.snapshot()
        return key.bytes.withUnsafeBytes { snapshot.recordPointer(of: $0) }?.isDelta
    }

    @Test func `a state follows 64 deltas`() throws {
        try log("a", ["x": bytes(20_000), "y": 0])
        for number in 1...66 {
            let edit = Edit.set(path: ["y"], to: .integer(Int64(number)))
            let isDelta = try writesDelta("a", edit)
            #expect(isDelta == (number != 65), "\(number)")
        }
    }

    @Test(arguments: [1_976, 1_977, 1_978])
    func `a delta is at most half as long as the document`(length: Int) throws {
        // The delta has 38 bytes beside those of `y`, and the state 53 beside those of both fields.
        try log("a", ["x": bytes(2_000), "y": 0])
        let isDelta = try writesDelta("a", .set(path: ["y"], to: bytes(length)))
        #expect(isDelta == (length <= 1_977))
    }
}
