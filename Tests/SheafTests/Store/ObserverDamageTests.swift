import Sheaf
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafTestSupport
import Synchronization
import Testing

/// Observers of documents whose bytes are damaged on the disk.
struct ObserverDamageTests {
    private let directory = TemporaryDirectory()
    private let received = ReceivedResults()

    /// The results of callbacks, and the messages of the log.
    private struct ReceivedResults {
        let lines: AsyncStream<String>
        let results: AsyncStream<String>.Continuation

        init() {
            (lines, results) = AsyncStream.makeStream()
        }
    }

    /// An overwritten range of a file, with its original bytes.
    private struct Wound {
        let file: any VolumeFile
        let name: String
        let offset: Int
        let original: [UInt8]

        func heal() throws { try file.writeFully(original, at: offset) }
    }

    private func open() async throws -> Store {
        let continuation = received.results
        let log = StoreLog(from: .error) { _, message, _ in continuation.yield(message) }
        return try await Store.open(
            at: directory.path("t.sheaf"), options: StoreOptions(log: log))
    }

    /// Finds the last occurrence of a text in the first 128 KiB of a segment, newest segment first.
    private func find(_ text: String) throws -> (file: any VolumeFile, name: String, offset: Int) {
        let volume = try PosixVolume(path: directory.path("t.sheaf"), creatingDirectory: false)
        let text = Array(text.utf8)
        for name in try volume.names().sorted().reversed() {
            guard case .segment = FileName(name) else { continue }
            let file = try volume.open(name, .write)
            let bytes = try file.readFully(min(try file.size(), 1 << 17), at: 0)
            var offset = bytes.count - text.count
            while offset > 0, bytes[offset] != text[0] || !bytes[offset...].starts(with: text) {
                offset -= 1
            }
            if offset > 0 { return (file, name, offset) }
        }
        throw StoreMissesText(text: String(decoding: text, as: UTF8.self))
    }

    private struct StoreMissesText: Error {
        let text: String
    }

    /// Writes a checkpoint, so that the next opening does not read the log.
    private func writeCheckpoint() throws {
        let volume = try PosixVolume(path: directory.path("t.sheaf"), creatingDirectory: false)
        let engine = try StoreEngine(opening: volume)
        // The engine repairs the index entries before the checkpoint.
        _ = try DocumentEngine(engine)
        try engine.writeCheckpoint()
        try engine.close()
    }

    /// Overwrites a text on the disk with bytes that are not UTF-8.
    private func damage(_ text: String) throws -> Wound {
        let (file, name, offset) = try find(text)
        let damaged = Wound(file: file, name: name, offset: offset, original: Array(text.utf8))
        try file.writeFully(Array(repeating: 0xFF, count: text.utf8.count), at: offset)
        return damaged
    }

    /// Queries that read all rows again after a change.
    private static let rerun: [DQL] = [
        "SELECT DISTINCT text FROM t", "SELECT MAX(text) AS text FROM t",
        "SELECT text, COUNT(*) AS n FROM t GROUP BY text", "SELECT * FROM t LIMIT 9 OFFSET 1",
        "SELECT t.text AS text FROM u JOIN t ON t._id = u.n",
        "SELECT * FROM t ORDER BY text LIMIT 9 OFFSET 1",
        "SELECT * FROM t WHERE text LIKE 'n%' LIMIT 9 OFFSET 1",
    ]

    private func fill(_ store: Store) async throws {
        for id in 1...5 {
            try await store.execute(
                "INSERT INTO t DOCUMENTS ({'_id': \(id), 'n': 1, 'text': \("needle-\(id)")})")
        }
        try await store.execute("INSERT INTO u DOCUMENTS ({'_id': 1, 'n': 3})")
    }

    private func expectDamage(_ error: StoreError?, at damaged: Wound) throws {
        let error = try #require(error)
        #expect(error.reason == .damaged)
        let words = error.message.split { $0 == ":" || $0 == " " }
        let name = try #require(words.firstIndex { $0 == damaged.name }, "\(error)")
        // The message contains the offset of the damaged operation.
        let offset = try #require(Int(words[name + 1]), "\(error)")
        #expect(offset <= damaged.offset && damaged.offset - offset < 100, "\(error)")
    }

    @Test func `an observer of damaged rows gets an error and other observers continue`()
        async throws
    {
        let store = try await open()
        try await fill(store)
        var sequences: [StoreObservation.AsyncIterator] = []
        for query in Self.rerun {
            var results = try store.observe(query).makeAsyncIterator()
            _ = try await results.next()
            sequences.append(results)
        }
        var others = try store.observe("SELECT * FROM u").makeAsyncIterator()
        #expect(try await others.next()?.items.count == 1)
        let damaged = try damage("needle-3")
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 6, 'n': 2, 'text': 'nix'})")
        try await store.execute("INSERT INTO u DOCUMENTS ({'_id': 2, 'n': 3})")
        for index in sequences.indices {
            let query = Self.rerun[index].text
            var error: StoreError?
            do {
                // A query that does not read the text returns an unreadable row.
                let result = try #require(try await sequences[index].next(), "\(query)")
                #expect(result.items.count >= 5, "\(query)")
                for item in result.items { _ = try item.value }
            } catch let thrown as StoreError {
                error = thrown
            }
            try expectDamage(error, at: damaged)
        }
        #expect(try await others.next()?.items.count == 2)
        try await store.close()
    }

    @Test func `a damaged row stays in the result and reports its position`() async throws {
        let store = try await open()
        try await fill(store)
        var results = try store.observe("SELECT * FROM t").makeAsyncIterator()
        let first = try #require(try await results.next())
        let damaged = try damage("needle-3")
        try await store.execute("DELETE FROM t WHERE _id = 1")
        let second = try #require(try await results.next())
        for (result, index) in [(first, 2), (second, 1)] {
            let item = result.items[index]
            try expectDamage(#expect(throws: StoreError.self) { try item.value }, at: damaged)
            try expectDamage(#expect(throws: StoreError.self) { try item["text"] }, at: damaged)
            try expectDamage(#expect(throws: StoreError.self) { try item.jsonString }, at: damaged)
            try expectDamage(
                #expect(throws: StoreError.self) { try item.materialize() }, at: damaged)
            #expect(try item["_id"] == 3)
        }
        #expect(first.items.count == 5 && second.items.count == 4)
        try damaged.heal()
        #expect(try second.items[1]["text"] == "needle-3")
        try await store.close()
    }

    @Test func `a callback continues after damage is repaired`() async throws {
        let store = try await open()
        try await fill(store)
        let observer = try store.observe("SELECT MAX(text) AS text FROM t") { [received] result in
            received.results.yield(try result.items[0]["text"]?.json ?? "")
        }
        defer { observer.cancel() }
        var lines = received.lines.makeAsyncIterator()
        #expect(await lines.next() == #""needle-5""#)
        let damaged = try damage("needle-3")
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 6, 'text': 'needle-6'})")
        let message = try #require(await lines.next())
        #expect(message.contains("an observer has failed: ") && message.contains(damaged.name))
        // The same damage is reported once.
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 7, 'text': 'needle-7'})")
        var others = try store.observe("SELECT _id FROM t").makeAsyncIterator()
        #expect(try await others.next()?.items.count == 7)
        try damaged.heal()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 8, 'text': 'needle-8'})")
        #expect(await lines.next() == #""needle-8""#)
        try await store.close()
    }

    @Test func `each damaged byte of a newly read document is reported or harmless`()
        async throws
    {
        let ids = 1_000..<1_400
        var store = try await open()
        for id in ids {
            try await store.execute(
                "INSERT INTO u DOCUMENTS ({'_id': \(id), 'text': \("needle-\(id)")})")
        }
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'n': 0})")
        try await store.close()
        try writeCheckpoint()
        store = try await open()
        let query: DQL = "SELECT u._id AS id, u.text AS text FROM t JOIN u ON u._id = t.n"
        var others = try store.observe("SELECT * FROM t").makeAsyncIterator()
        _ = try await others.next()
        let (file, name, first) = try find("needle-1000")
        let length = try find("needle-1001").offset - first
        try #require(length < ids.count)
        let bytes = try file.readFully(min(try file.size(), 1 << 17), at: 0)
        var reported = 0
        var position = first
        // The planner reads some documents at both ends.
        for id in ids.dropFirst(8).dropLast(8) {
            let text = Array("needle-\(id)".utf8)
            while !bytes[position...].starts(with: text) { position += 1 }
            var results = try store.observe(query).makeAsyncIterator()
            _ = try await results.next()
            // Each id damages another byte, from the record header to the end of the document.
            let offset = position + text.count + 8 - id % length
            let original = try file.readFully(1, at: offset)
            let damaged = Wound(file: file, name: name, offset: offset, original: original)
            try file.writeFully([original[0] ^ 0x55], at: offset)
            try await store.execute("UPDATE t SET n = \(id) WHERE _id = 1")
            #expect(try await others.next()?.items.count == 1)
            do {
                let result = try #require(try await results.next())
                let texts = try result.items.map { try $0["text"] }
                #expect(texts == [.string("needle-\(id)")], "byte \(id % length)")
            } catch let error as StoreError {
                #expect(error.reason == .damaged, "\(error)")
                #expect(error.message.contains("\(name):"), "\(error)")
                reported += 1
            }
            // The next iterations read the adjacent documents, which must be intact.
            try damaged.heal()
        }
        #expect(reported > ids.count / 2)
        try await store.close()
    }
}
