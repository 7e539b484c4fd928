import Sheaf
import SheafStorage
import SheafTestSupport
import Synchronization
import Testing

/// What observers hear when the bytes of documents are damaged under them.
struct ObserverDamageTests {
    private let directory = TemporaryDirectory()
    private let told = Told()

    /// What callbacks were told, and what the log says of those that could not be told anything.
    private struct Told {
        let lines: AsyncStream<String>
        let teller: AsyncStream<String>.Continuation

        init() {
            (lines, teller) = AsyncStream.makeStream()
        }
    }

    /// Bytes of a file that were overwritten, and what they were.
    private struct Wound {
        let file: any VolumeFile
        let name: String
        let offset: Int
        let original: [UInt8]

        func heal() throws { try file.writeFully(original, at: offset) }
    }

    private func open() async throws -> Store {
        let teller = told.teller
        let log = StoreLog(from: .error) { _, message, _ in teller.yield(message) }
        return try await Store.open(
            at: directory.path("t.sheaf"), options: StoreOptions(log: log))
    }

    /// Where a text stands last in the files of the store, of which it reads no more than tests write.
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

    /// Makes the next opening do without reading what there is.
    private func writeCheckpoint() throws {
        let volume = try PosixVolume(path: directory.path("t.sheaf"), creatingDirectory: false)
        let engine = try StoreEngine(opening: volume)
        // Links are right before they are written down.
        _ = try DocumentEngine(engine)
        try engine.writeCheckpoint()
        try engine.close()
    }

    /// Overwrites a text on the disk with bytes that are none.
    private func damage(_ text: String) throws -> Wound {
        let (file, name, offset) = try find(text)
        let wound = Wound(file: file, name: name, offset: offset, original: Array(text.utf8))
        try file.writeFully(Array(repeating: 0xFF, count: text.utf8.count), at: offset)
        return wound
    }

    /// Queries that have to read rows again when something has changed.
    private static let rerun: [Query] = [
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

    private func expectDamage(_ error: StoreError?, at wound: Wound) throws {
        let error = try #require(error)
        #expect(error.reason == .damaged)
        let words = error.message.split { $0 == ":" || $0 == " " }
        let name = try #require(words.firstIndex { $0 == wound.name }, "\(error)")
        // Where the operation begins that has these bytes.
        let offset = try #require(Int(words[name + 1]), "\(error)")
        #expect(offset <= wound.offset && wound.offset - offset < 100, "\(error)")
    }

    @Test func `who reads damaged rows again hears where they are, and others go on`()
        async throws
    {
        let store = try await open()
        try await fill(store)
        var sequences: [Observation.AsyncIterator] = []
        for query in Self.rerun {
            var results = try store.observe(query).makeAsyncIterator()
            _ = try await results.next()
            sequences.append(results)
        }
        var others = try store.observe("SELECT * FROM u").makeAsyncIterator()
        #expect(try await others.next()?.items.count == 1)
        let wound = try damage("needle-3")
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 6, 'n': 2, 'text': 'nix'})")
        try await store.execute("INSERT INTO u DOCUMENTS ({'_id': 2, 'n': 3})")
        for index in sequences.indices {
            let query = Self.rerun[index].text
            var error: StoreError?
            do {
                // One that does not look at the text has rows, of which one cannot be read.
                let result = try #require(try await sequences[index].next(), "\(query)")
                #expect(result.items.count >= 5, "\(query)")
                for item in result.items { _ = try item.value }
            } catch let thrown as StoreError {
                error = thrown
            }
            try expectDamage(error, at: wound)
        }
        #expect(try await others.next()?.items.count == 2)
        try await store.close()
    }

    @Test func `a damaged row stays where it is, and says where it is damaged`() async throws {
        let store = try await open()
        try await fill(store)
        var results = try store.observe("SELECT * FROM t").makeAsyncIterator()
        let first = try #require(try await results.next())
        let wound = try damage("needle-3")
        try await store.execute("DELETE FROM t WHERE _id = 1")
        let second = try #require(try await results.next())
        for (result, index) in [(first, 2), (second, 1)] {
            let item = result.items[index]
            try expectDamage(#expect(throws: StoreError.self) { try item.value }, at: wound)
            try expectDamage(#expect(throws: StoreError.self) { try item["text"] }, at: wound)
            try expectDamage(#expect(throws: StoreError.self) { try item.jsonString }, at: wound)
            try expectDamage(
                #expect(throws: StoreError.self) { try item.materialize() }, at: wound)
            #expect(try item["_id"] == 3)
        }
        #expect(first.items.count == 5 && second.items.count == 4)
        try wound.heal()
        #expect(try second.items[1]["text"] == "needle-3")
        try await store.close()
    }

    @Test func `a callback that has missed results by damage goes on when it is gone`()
        async throws
    {
        let store = try await open()
        try await fill(store)
        try store.observe("SELECT MAX(text) AS text FROM t") { [told] result in
            told.teller.yield(try result.items[0]["text"]?.json ?? "")
        }
        var lines = told.lines.makeAsyncIterator()
        #expect(await lines.next() == #""needle-5""#)
        let wound = try damage("needle-3")
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 6, 'text': 'needle-6'})")
        let message = try #require(await lines.next())
        #expect(message.contains("an observer has failed: ") && message.contains(wound.name))
        // It hears of the same damage once.
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 7, 'text': 'needle-7'})")
        var others = try store.observe("SELECT _id FROM t").makeAsyncIterator()
        #expect(try await others.next()?.items.count == 7)
        try wound.heal()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 8, 'text': 'needle-8'})")
        #expect(await lines.next() == #""needle-8""#)
        try await store.close()
    }

    @Test func `each damaged byte of what is read first is told, or changes nothing`()
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
        let query: Query = "SELECT u._id AS id, u.text AS text FROM t JOIN u ON u._id = t.n"
        var others = try store.observe("SELECT * FROM t").makeAsyncIterator()
        _ = try await others.next()
        let (file, name, first) = try find("needle-1000")
        let length = try find("needle-1001").offset - first
        try #require(length < ids.count)
        let bytes = try file.readFully(min(try file.size(), 1 << 17), at: 0)
        var reported = 0
        var place = first
        // The planner reads some documents at both ends.
        for id in ids.dropFirst(8).dropLast(8) {
            let text = Array("needle-\(id)".utf8)
            while !bytes[place...].starts(with: text) { place += 1 }
            var results = try store.observe(query).makeAsyncIterator()
            _ = try await results.next()
            // One byte after the other, from the record's header to the end of the document.
            let offset = place + text.count + 8 - id % length
            let original = try file.readFully(1, at: offset)
            let wound = Wound(file: file, name: name, offset: offset, original: original)
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
            // Those beside it are read next, and shall be whole.
            try wound.heal()
        }
        #expect(reported > ids.count / 2)
        try await store.close()
    }
}
