import Sheaf
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// Collections and ids at and one beyond their limits.
@Suite struct EngineLimitTests {
    private let clock = FakeClock()
    private let store: StoreEngine
    private let engine: DocumentEngine

    init() throws {
        (store, engine) = try DocumentEngine.inMemory(clock)
    }

    private func insert(_ id: Value, into collection: String) throws(EngineError) {
        _ = try engine.commit([DocumentChange(collection, id, .insert([:]))]) {
            batch throws(StorageError) in try store.append(batch)
        }
    }

    @Test func `a catalog has at most 65,536 collections`() throws {
        var catalog = Catalog()
        for number in 0..<65_536 {
            let added = try catalog.add(collection: "c\(number)")
            guard added == number else {
                Issue.record("the collection \(number) has the number \(added)")
                return
            }
        }
        #expect(catalog.number(ofCollection: "c65535") == 65_535)
        let limit = EngineError.limit(name: "maximumCollections", value: 65_537, limit: 65_536)
        #expect(throws: limit) { try catalog.add(collection: "more") }
        #expect(catalog.collections.count == 65_536)
    }

    @Test(arguments: ["n", "\u{E9}", "\u{1F600}"])
    func `the name of a collection has at most 1,024 bytes`(letter: String) throws {
        let name = String(repeating: letter, count: 1_024 / letter.utf8.count)
        #expect(name.utf8.count == 1_024)
        try insert("a", into: name)
        try store.flush()
        #expect(engine.snapshot().catalog.collections == [name])
        #expect(throws: EngineError.invalidCollection(name + "n")) {
            try insert("a", into: name + "n")
        }
    }

    /// Returns an id with `count` letters or bytes.
    private static func id(_ kind: Value.Kind, _ count: Int) -> Value {
        switch kind {
        case .bytes: .bytes([UInt8](repeating: 7, count: count))
        case .array: [.string(String(repeating: "x", count: count))]
        default: .string(String(repeating: "x", count: count))
        }
    }

    @Test(arguments: [Value.Kind.string, .bytes, .array])
    func `an encoded id has at most 1,021 bytes`(kind: Value.Kind) throws {
        // Letters have one byte each; the rest of the encoding depends on the kind.
        let rest = SortKey.identity(of: Self.id(kind, 100)).count - 100
        let longest = Self.id(kind, 1_021 - rest)
        #expect(try DocumentID.key(of: longest).count == 1_021)
        try insert(longest, into: "cars")
        try store.flush()
        #expect(try engine.snapshot().key(collection: "cars", id: longest) != nil)
        let long = Self.id(kind, 1_022 - rest)
        let refusal = DocumentError.id(.tooLong(byteCount: 1_022, limit: 1_021))
        #expect(throws: refusal) { try DocumentID.key(of: long) }
        #expect(throws: EngineError.document(refusal)) { try insert(long, into: "cars") }
    }

    @Test func `a text of 1,019 letters is an id`() throws {
        try insert(.string(String(repeating: "x", count: 1_019)), into: "cars")
        #expect(throws: EngineError.self) {
            try insert(.string(String(repeating: "x", count: 1_020)), into: "cars")
        }
    }

    /// Inserts a document with `count` bytes; returns the length in the error, nil without one.
    private func refusedLength(_ id: Value, _ count: Int) throws -> Int? {
        let bytes = Value.bytes([UInt8](repeating: 7, count: count))
        let change = DocumentChange("cars", id, .insert(["x": bytes]))
        do {
            _ = try engine.commit([change]) { batch throws(StorageError) in
                try store.append(batch)
            }
            return nil
        } catch EngineError.limit(let name, let length, let limit) {
            #expect(name == "maximumDocumentLength" && limit == 15_728_640)
            return length
        }
    }

    @Test func `an encoded document has at most 15,728,640 bytes`() throws {
        let first = try #require(try refusedLength("a", 15_728_640))
        let longest = 15_728_640 - (first - 15_728_640)
        #expect(try refusedLength("b", longest) == nil)
        #expect(try refusedLength("c", longest + 1) == 15_728_641)
    }

    @Test func `a store numbers at most 65,536 names, of at most 64 bytes`() {
        var names = NameTable()
        let longest = Array(String(repeating: "n", count: 64).utf8)
        let refused = names.add(longest + [0x6E])
        let first = names.add(longest)
        #expect(refused == nil && first == 0)
        for number in 1..<65_536 {
            guard names.add(Array("n\(number)".utf8)) == UInt16(number) else {
                Issue.record("the name \(number) has another number")
                return
            }
        }
        let more = names.add(Array("more".utf8))
        #expect(more == nil && names.count == 65_536 && names.number(of: longest) == 0)
        #expect(names.number(of: Array("n65535".utf8)) == 65_535)
    }
}
