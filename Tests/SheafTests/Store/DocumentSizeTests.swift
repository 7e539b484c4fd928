import Sheaf
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafTestSupport
import Synchronization
import Testing

/// The sizes above which a document is logged or refused.
@Suite struct DocumentSizeTests {
    /// The texts of the log of a store.
    private final class Messages: Sendable {
        private let texts = Mutex<[String]>([])

        func append(_ text: String) { texts.withLock { $0.append(text) } }

        /// Returns the texts about large documents since the last call.
        func takeSizes() -> [String] {
            texts.withLock { texts in
                defer { texts = [] }
                return texts.filter { $0.hasPrefix("a document has ") }
            }
        }
    }

    private let messages = Messages()

    private func store() async throws -> Store {
        let messages = messages
        let random = SeededSource(seed: 1)
        var options = StoreOptions(
            log: StoreLog(from: .warning) { _, text, _ in messages.append(text) })
        options.storage.clock = FakeClock().clock
        options.storage.random = { random.next() }
        return try await Store.inMemory(options: options)
    }

    private func set(_ name: String, _ value: Int, in store: Store) async throws {
        try await store.execute(DQL(verbatim: "ALTER SYSTEM SET \(name) = \(value)"))
    }

    /// Inserts a document with a text of a given length.
    private func insert(_ id: String, _ length: Int, into store: Store) async throws {
        let text = Value.string(String(repeating: "x", count: length))
        let car = Value.object(Object([("_id", .string(id)), ("t", text)]))
        try await store.execute("INSERT INTO cars DOCUMENTS (:car)", QueryArguments(["car": car]))
    }

    @Test(arguments: [262_144, 65_536, 1_000])
    func `a document above the soft limit is logged, and one of exactly its length is not`(
        limit: Int
    ) async throws {
        let store = try await store()
        let name = "document_size_soft_limit_bytes"
        try await set(name, 0, in: store)
        let sample = limit - 200
        try await insert("sample", sample, into: store)
        let warning = try #require(messages.takeSizes().first)
        let length = try #require(
            warning.split(separator: " ").dropFirst(3).first.flatMap { Int($0) })
        #expect(warning == "a document has \(length) bytes, more than \(name), which is 0")
        // The default is one of the limits.
        if limit == 262_144 {
            try await store.execute("ALTER SYSTEM RESET document_size_soft_limit_bytes")
        } else {
            try await set(name, limit, in: store)
        }
        let longest = sample + limit - length
        try await insert("within", longest, into: store)
        #expect(messages.takeSizes() == [])
        try await insert("beyond", longest + 1, into: store)
        #expect(
            messages.takeSizes() == [
                "a document has \(limit + 1) bytes, more than \(name), which is \(limit)"
            ])
        try await store.execute("DELETE FROM cars WHERE _id = 'beyond'")
        #expect(messages.takeSizes() == [])
        try await store.close()
    }

    /// Returns the length that the text of a refused document states; nil if it was accepted.
    private func refusedLength(
        _ id: String, _ length: Int, limit: Int, in store: Store
    ) async throws -> Int? {
        do {
            try await insert(id, length, into: store)
            return nil
        } catch let error as StoreError {
            #expect(error.reason == .limit)
            let start = "a document may have at most \(limit) bytes, and this one would have "
            try #require(error.message.hasPrefix(start), "\(error.message)")
            let isFixed = error.hint?.hasPrefix("no parameter raises this limit") == true
            #expect(isFixed == (limit == 15 << 20), "\(error.hint ?? "")")
            let length: Int = try #require(Int(error.message.dropFirst(start.count)))
            return length
        }
    }

    @Test(arguments: [5_242_880, 1_000, 15_728_640])
    func `a document of the hard limit is accepted, and one that is a byte longer is refused`(
        limit: Int
    ) async throws {
        let store = try await store()
        switch limit {
        // The default.
        case 5_242_880: break
        // No parameter raises the limit further.
        case 15_728_640: try await set("document_size_hard_limit_bytes", 20_000_000, in: store)
        default: try await set("document_size_hard_limit_bytes", limit, in: store)
        }
        var longest = limit
        var rounds = 0
        while let length = try await refusedLength("within", longest, limit: limit, in: store) {
            // One of exactly the limit is not refused, or this would not end.
            try #require(length > limit && rounds < 4)
            longest -= length - limit
            rounds += 1
        }
        let length = try await refusedLength("beyond", longest + 1, limit: limit, in: store)
        #expect(length == limit + 1)
        let stored = try await store.execute("SELECT _id FROM cars").items
        #expect(try stored.map { try $0["_id"] } == ["within"])
        try await store.close()
    }

    @Test func `the limits of the encoding are those of the documentation`() {
        #expect(EncodedDocument.maximumLength == 15 << 20)
        #expect(SystemParameters().hardSizeLimit == 5 << 20)
    }
}
