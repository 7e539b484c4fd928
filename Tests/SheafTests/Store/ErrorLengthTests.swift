import Sheaf
import SheafAttachments
import SheafBytes
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// The lengths of error texts for huge inputs.
struct ErrorLengthTests {
    /// Maximum number of scalars of an error: its message, hint, statement line and mark.
    private static let longest = 1_000

    /// Returns statements with a text as names, values, ids, patterns and dates; most of them fail.
    private static func statements(_ text: String) -> [String] {
        [
            "\(text)", "SELECT \(text)( FROM t", "SELECT * FROM t WHERE `\(text)` = ",
            "SELECT * FROM `\(text)` AS a JOIN `\(text)` AS a ON 1", "SELECT * FROM `\(text)`.x.y",
            "SELECT \(text)(1) FROM t", "SELECT '\(text) FROM t", "SELECT a.`\(text)` FROM t AS b",
            "SELECT * FROM t USE INDEX ('\(text)') WHERE a = 1", "CREATE INDEX `\(text)` ON t (a)",
            "DROP INDEX `\(text)` ON t", "ALTER SYSTEM SET `\(text)` = 1", "SHOW `\(text)`",
            "INSERT INTO t DOCUMENTS ({'_id': '\(text)'})",
            "INSERT INTO t DOCUMENTS ({'_id': {'a': '\(text)'}})",
            "INSERT INTO `\(text)` DOCUMENTS ({'_id': 1})", "INSERT INTO t DOCUMENTS ('\(text)')",
            "UPDATE t SET `\(text)` = 1 WHERE _id = \(text)", "UPDATE t SET _id = '\(text)'",
            "SELECT cast('\(text)' AS `\(text)`) FROM t", "SELECT :`\(text)` FROM t",
            "SELECT * FROM system:`\(text)`", "SELECT a FROM t GROUP BY `\(text)`",
            "SELECT * FROM t WHERE a SIMILAR TO '\(text)('", "SELECT date_add('\(text)', 1, 'x')",
            "SELECT * FROM t ORDER BY `\(text)`(", "EVICT FROM t WHERE `\(text)` +",
            "SELECT * FROM t LIMIT '\(text)'", "SELECT :\(text) FROM t",
        ]
    }

    @Test func `errors for huge statements have at most 1,000 scalars`() async throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("error lengths, seed \(seed)")
        var random = SeededRandom(seed: seed, "errors")
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
        var count = 0
        for letters in ["x", "é", "e\u{301}\u{302}", "👩‍👩‍👧", "0", "\u{301}"] {
            let text = String(repeating: letters, count: 900 + random.below(40_000))
            for statement in Self.statements(text) {
                // The second run of an INSERT conflicts with the document of the first.
                for _ in 0..<2 {
                    do {
                        _ = try await store.execute(DQL(verbatim: statement), ["\(text)": 1])
                        _ = try store.observe(DQL(verbatim: statement)) { _ in }.cancel()
                    } catch let error as StoreError {
                        count += 1
                        let scalars = "\(error)".unicodeScalars.count
                        #expect(
                            scalars <= Self.longest,
                            "seed \(seed): \(statement.prefix(40)): error of length \(scalars)")
                    }
                }
            }
        }
        #expect(count > 100)
        try await store.close()
    }

    @Test(.timeLimit(.minutes(40)))
    func `a long transaction hint is truncated in errors`() async throws {
        let store = try await Store.inMemory()
        let hint = String(repeating: "hint ", count: 20_000)
        let ended = try await store.transaction(hint: hint) { $0 }
        do {
            try await ended.execute("SELECT * FROM t")
            Issue.record("The ended transaction ran a statement.")
        } catch let error as StoreError {
            #expect("\(error)".count <= Self.longest)
        }
        try await store.close()
    }

    @Test func `store errors quote at most 200 scalars of paths, names and ids`() {
        let long = LongInput.text
        let refusal = VolumeError(.open, long, .noSuchFile)
        let damage = StorageError.Damage(file: long, offset: 1, reason: "wrong")
        let within = VolumeError(.open, long + "/1.segment", .noSpace)
        let errors: [any Error] = [
            StoreError(.notAStore(path: long), openingAt: long),
            StoreError(.io(refusal), openingAt: long), StoreError(.full(within), openingAt: long),
            StoreError(.corrupt(damage), openingAt: long), StoreError(.readOnly, openingAt: long),
            AttachmentError.volume(refusal), AttachmentError.damaged(damage),
            AttachmentError.sourceChanged(long), AttachmentError.destinationExists(long),
            EngineError.storage(.io(refusal)),
            EngineError.exists(collection: long, id: .string(long)),
            EngineError.gap(collection: long, id: .string(long)),
            EngineError.indexExists(collection: long, name: long),
            EngineError.noIndex(collection: long, name: long),
        ]
        for error in errors { #expect(LongInput.problem(in: "\(error)") == nil) }
        let damaged = EngineError.damaged(
            key: Array(repeating: 7, count: 100_000), .truncated(at: 0))
        #expect("\(damaged)".count { $0 == "7" } <= 100 && "\(damaged)".contains("key 7 7 7"))
    }

    @Test func `a key conflict is described with a truncated peer name`() {
        let name = LongInput.text(scalars: 120)
        let system = LongInput.text(scalars: 32)
        let record = PeerRecord(
            key: Array(repeating: 1, count: 32),
            version: PeerRecord.Version(opening: 1, salt: 1, count: 1),
            PeerRecord.Description(name: name, operatingSystem: system), neighbors: [])
        let conflict = PeerKeyConflict(record)
        #expect(conflict.deviceName == name && conflict.operatingSystem == system)
        #expect(LongInput.problem(in: "\(conflict)", atMost: 132) == nil)
        #expect("\(conflict)".contains("…"))
    }

    @Test func `a truncated error has the path once and keeps its advice`() {
        let path = LongInput.text
        let full = VolumeError(.write, path + "/1.segment", .noSpace)
        let error = StoreError(.full(full), openingAt: path)
        #expect(error.message.hasPrefix("the disk is full: cannot write \(LongInput.character)"))
        #expect(error.message.hasSuffix("; make room, then open the store again"))
        #expect(error.message.count { $0 == "…" } == 1)
        let locked = StoreError(.locked(path: path, holder: 7), openingAt: path)
        #expect(locked.message.hasSuffix(" is in use by process 7; close it there first"))
    }

    @Test func `encoding errors truncate long field names`() async throws {
        let store = try await Store.inMemory()
        for field in [LongInput.text, "a"] {
            let unfit = [field: [LongInput.text: UInt64.max]]
            do {
                try await store.execute("SELECT \(unfit) AS a FROM system:dual")
                Issue.record("A number beyond a signed 64-bit integer was encoded.")
            } catch let error as StoreError {
                #expect(LongInput.problem(in: error.message) == nil)
            }
        }
        try await store.close()
    }

    @Test(arguments: [399, 400, 401])
    func `a message and a hint have at most 400 Unicode scalars each`(count: Int) {
        let text = String(repeating: "x", count: count)
        let error = StoreError(.argument, text, hint: text)
        for shown in [error.message, error.hint ?? ""] {
            #expect(shown.unicodeScalars.count == min(count, 400))
            #expect((shown == text) == (count <= 400))
        }
    }

    private struct LongKey: CodingKey {
        var stringValue: String { LongInput.text }
        var intValue: Int? { nil }

        init() {}
        init?(stringValue: String) {}
        init?(intValue: Int) {}
    }

    private struct Missing: Decodable {
        init(from decoder: any Decoder) throws {
            _ = try decoder.container(keyedBy: LongKey.self).decode(Int.self, forKey: LongKey())
        }
    }

    @Test func `decoding errors truncate the names of missing fields`() async throws {
        let store = try await Store.inMemory()
        let result = try await store.execute("SELECT 1 AS a FROM system:dual")
        do {
            _ = try result.items[0].decode(Missing.self)
            Issue.record("A missing field was decoded.")
        } catch DecodingError.keyNotFound(_, let context) {
            #expect(LongInput.problem(in: context.debugDescription) == nil)
        }
        try await store.close()
    }

    @Test func `a refused write is described with a truncated collection and id`() throws {
        let long = LongInput.text(scalars: 400)
        let scene = try DocumentScene(2)
        try scene.subscribe(0, ["SELECT * FROM `\(long)`"])
        try scene.connect(
            0, 1, rightsOfRight: PeerRights(read: ["cars": "true"], write: ["cars": "true"]),
            sendsRights: false)
        try scene.execute(1, "INSERT INTO \(identifier: long) DOCUMENTS ({'_id': \(long)})")
        try scene.advance(milliseconds: 1_000)
        let refused = try #require(scene.nodes[1].refused(by: scene.nodes[0]).first)
        #expect(refused.collection == long && refused.documentID == .string(long))
        let text = "\(refused)"
        #expect(LongInput.problem(in: text) == nil)
        #expect(text.hasPrefix("the peer pk:") && text.hasSuffix("\(refused.reason)"))
        #expect(text.contains(" refuses the document \"\(LongInput.character)"))
    }

    private struct LongFailure: Error, CustomStringConvertible {
        var description: String { LongInput.text }
    }

    @Test(.timeLimit(.minutes(40)))
    func `log messages truncate the errors and queries of observers`() async throws {
        let (lines, continuation) = AsyncStream<(String, String)>.makeStream()
        let log = StoreLog(from: .error) { _, message, metadata in
            continuation.yield((message, metadata["query", default: ""]))
        }
        let store = try await Store.inMemory(options: StoreOptions(log: log))
        let query = DQL(verbatim: "SELECT `\(LongInput.text)` FROM cars")
        let observer = try store.observe(query) { _ in throw LongFailure() }
        var iterator = lines.makeAsyncIterator()
        let (message, quoted) = try #require(await iterator.next())
        #expect(LongInput.problem(in: message) == nil)
        #expect(LongInput.problem(in: quoted, atMost: 1_000) == nil)
        observer.cancel()
        try await store.close()
    }

    @Test func `log messages truncate the hint of a long transaction`() throws {
        var times = TransactionTimes()
        times.begin(TransactionInfo(id: "1", hint: LongInput.text, isReadOnly: false), at: 0)
        let warnings = times.warnings(SlowTransactionSchedule(), at: 10_000_000_000)
        let warning = try #require(warnings.first)
        #expect(LongInput.problem(in: warning.message) == nil)
        #expect(LongInput.problem(in: warning.metadata["hint", default: ""]) == nil)
    }
}
