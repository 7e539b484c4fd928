import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the lengths up to which documents are inserted without being opened.
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
}
