import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the lengths up to which documents are changed without being opened.
@Suite struct EncodingLimitTests {
    private struct NoSuchLength: Error {}

    private let store: ReceivingStore
    /// Maximum length of documents that are always written completely.
    private let smallLength = 1_024

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

    /// Commits documents of these lengths, which are also their ids; their names have numbers.
    private func store(lengths: ClosedRange<Int>) throws {
        try commit([("names", ["n": 1, "x": ""])])
        var transaction = store.engine.begin()
        let names = transaction.catalog.names
        store.engine.rollBack(&transaction)
        var encoder = NewDocumentEncoder()
        encoder.encode(["n": 1, "x": .string(text(200))], without: "_id", names)
        // Texts of these lengths differ by one byte for each scalar.
        let rest = encoder.length - 200
        try commit(
            lengths.map { (.integer(Int64($0)), ["n": 1, "x": .string(text($0 - rest))]) })
    }

    private func text(_ count: Int) -> String { String(repeating: "z", count: count) }

    private func commit(_ documents: [(Value, Object)]) throws {
        _ = try store.engine.commit(
            documents.map { DocumentChange("cars", $0.0, .insert($0.1)) }
        ) { (batch) throws(StorageError) in try store.store.append(batch) }
        while try store.store.flush() {}
    }

    @Test func `a document is edited without being opened while it is short`() throws {
        try store(lengths: smallLength - 60...smallLength + 1)
        // An edit that leaves a short document.
        for (length, isEncoded) in [
            (smallLength - 1, true), (smallLength, true), (smallLength + 1, false),
        ] {
            let edit = DocumentChange.Action.edit([.set(path: ["x"], to: "")])
            let edited = try apply(.integer(Int64(length)), edit)
            #expect(edited.isEncoded == isEncoded, "\(length)")
        }
        // Edits that add the same number of bytes to each document.
        let edit = DocumentChange.Action.edit([.set(path: ["n"], to: .integer(1 << 40))])
        let shortest = smallLength - 60
        let added = try apply(.integer(Int64(shortest)), edit).length - shortest
        #expect((1...59).contains(added))
        for length in shortest...smallLength {
            let edited = try apply(.integer(Int64(length)), edit)
            #expect(edited.isEncoded == (length + added <= smallLength), "\(length)")
        }
        // Deletions write only the header, whatever the length of the document.
        let deletions = try [smallLength, smallLength + 1].map { length in
            try apply(.integer(Int64(length)), .delete)
        }
        #expect(deletions[0].isEncoded && deletions[1].isEncoded)
        #expect(deletions[0].length == deletions[1].length)
    }
}
