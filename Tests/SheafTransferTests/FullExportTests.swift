import Sheaf
import SheafAttachments
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafTestSupport
import SheafTransfer
import Testing

@Suite struct FullExportTests {
    /// A store with everything that an export must preserve.
    private static func richFixture() async throws -> ExportFixture {
        let fixture = ExportFixture()
        try await fixture.write { store in
            let photo = try await store.newAttachment(
                data: [UInt8](repeating: 7, count: 300_000), metadata: ["type": "image"])
            let empty = try await store.newAttachment(data: [])
            for statement in [
                "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'm': {'x': 1}, 'n': 1.0, 'e': {}})",
                "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'n': 2}), ({'_id': 'c'}), ({'_id': 'd'})",
                "UPDATE COLLECTION cars (hits COUNTER) APPLY hits INCREMENT BY 5",
                "UPDATE COLLECTION cars (hits COUNTER) APPLY hits RESTART WITH 2 WHERE _id = 'b'",
                "UPDATE COLLECTION cars (old PN_COUNTER) APPLY old PN_INCREMENT BY -3",
                "UPDATE COLLECTION cars (r REGISTER) SET r = {'k': {}} WHERE _id = 'a'",
                "UPDATE cars SET m.y = 2 WHERE _id = 'a'", "UPDATE cars UNSET m.x WHERE _id = 'a'",
                "INSERT INTO seeds INITIAL DOCUMENTS ({'_id': [1, 'x'], 'v': null})",
                "DELETE FROM cars WHERE _id = 'c'", "EVICT FROM cars WHERE _id = 'd'",
                "CREATE INDEX `by n` ON cars (n DESC, m.y)", "CREATE INDEX i ON later (x)",
                "INSERT INTO `größe|x` DOCUMENTS ({'_id': 1})",
                "DELETE FROM `größe|x` WHERE _id = 1",
            ] {
                try await store.execute(DQL(verbatim: statement))
            }
            for token in [photo.token, empty.token] {
                try await store.execute(
                    "INSERT INTO files DOCUMENTS ({'p': :p, 'q': :p, '_id': :id})",
                    QueryArguments(["p": token.value, "id": .string("\(token.length)")]))
            }
        }
        return fixture
    }

    /// The complete export of a rich store, and its lines, for tests that do not change the store.
    private static let export = Task { try await FullExportTests.richFixture().fullExport() }
    private static let lines = Task {
        String(decoding: try await FullExportTests.export.value, as: UTF8.self)
            .split(separator: "\n").map(String.init)
    }

    @Test func `an import of a complete export gives an equal store`() async throws {
        let fixture = try await Self.richFixture()
        let bytes = try fixture.fullExport()
        let copy = ExportFixture()
        let report = try copy.importFull(bytes)
        #expect(report.read.documents == 6 - 1)
        #expect(report.read.tombstones == 2)
        #expect(report.read.attachments == 2)
        #expect(report.read.indexes == 2)
        #expect(report.changedCount == 7)
        #expect(try copy.checksum() == fixture.checksum())
        #expect(try copy.fullExport() == bytes)
        for statement in ["SELECT * FROM cars ORDER BY _id", "SELECT * FROM system:indexes"] {
            #expect(
                try copy.text(.jsonl, statement: statement)
                    == fixture.text(.jsonl, statement: statement))
        }
        try await copy.write { store in
            let result = try await store.execute("SELECT * FROM files WHERE _id = '300000'")
            let token = try AttachmentToken(try result.items[0]["p"] ?? .null)
            let data = try await store.attachment(token)?.data()
            #expect(data == [UInt8](repeating: 7, count: 300_000))
        }
    }

    @Test(
        arguments: [(1, [1, 2, 3, 4, 5, 6, 7]), (3, [3, 6]), (7, [7]), (8, [])] as [(Int, [Int])])
    func `a commit of an import has at most the given number of documents`(
        _ count: Int, _ committed: [Int]
    ) async throws {
        let fixture = ExportFixture()
        try await fixture.write { store in
            let documents = (1...7).map { "({'_id': \($0)})" }.joined(separator: ", ")
            try await store.execute(DQL(verbatim: "INSERT INTO cars DOCUMENTS \(documents)"))
        }
        var found: [Int] = []
        let bytes = try fixture.fullExport()
        let copy = ExportFixture()
        let report = try copy.importFull(bytes, batchCount: count) { found.append($0.changedCount) }
        #expect(found == committed)
        #expect(report.changedCount == 7)
        #expect(try copy.fullExport() == bytes)
    }

    @Test func `a second import changes nothing`() async throws {
        let bytes = try await Self.export.value
        let copy = ExportFixture()
        try copy.importFull(bytes)
        #expect(try copy.importFull(bytes).changedCount == 0)
        #expect(try copy.fullExport() == bytes)
    }

    @Test func `later writes are merged with an import, as if a peer had sent it`() async throws {
        let fixture = try await Self.richFixture()
        let copy = ExportFixture()
        try copy.importFull(try fixture.fullExport())
        for other in [fixture, copy] {
            try await other.write { store in
                try await store.execute(
                    "UPDATE COLLECTION cars (hits COUNTER) APPLY hits INCREMENT BY 1")
            }
        }
        try await fixture.write { store in
            try await store.execute("UPDATE cars SET only = 1 WHERE _id = 'b'")
        }
        try copy.importFull(try fixture.fullExport())
        #expect(
            try copy.text(.jsonl, statement: "SELECT hits, only FROM cars ORDER BY _id")
                == #"{"hits":7}"# + "\n" + #"{"hits":4,"only":1}"# + "\n")
        try fixture.importFull(try copy.fullExport())
        #expect(try copy.checksum() == fixture.checksum())
    }

    @Test func `an evicted document of an export returns`() async throws {
        let fixture = try await Self.richFixture()
        let bytes = try fixture.fullExport()
        try await fixture.write { store in try await store.execute("EVICT FROM cars") }
        try fixture.importFull(bytes)
        #expect(
            try fixture.text(.jsonl, statement: "SELECT _id, hits FROM cars ORDER BY _id")
                == #"{"_id":"a","hits":5}"# + "\n" + #"{"_id":"b","hits":2}"# + "\n")
        // The store must not reuse the stamps of the writes that it had evicted.
        let copy = ExportFixture()
        try copy.importFull(bytes)
        try await fixture.write { store in
            try await store.execute(
                "UPDATE COLLECTION cars (hits COUNTER) APPLY hits INCREMENT BY 1")
        }
        try copy.importFull(try fixture.fullExport())
        #expect(
            try copy.text(.jsonl, statement: "SELECT hits FROM cars ORDER BY _id")
                == #"{"hits":6}"# + "\n" + #"{"hits":3}"# + "\n")
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `random documents survive a complete export`(seed: UInt64) async throws {
        var random = RandomDocuments(seed: seed)
        let collections = ["a", "b|c", "größe"]
        let documents = random.mixed(120)
        let fixture = try await ExportFixture(
            documents.enumerated().map { (collections[$0.offset % 3], $0.element) })
        try await fixture.write { store in
            var choice = SeededRandom(seed: seed, "deletions")
            for _ in 0..<20 {
                let number = choice.below(documents.count)
                let name = quoted(collections[number % 3])
                let verb = choice.chance(1, in: 3) ? "EVICT" : "DELETE"
                try await store.execute(
                    DQL(verbatim: "\(verb) FROM \(name) WHERE _id = :id"),
                    QueryArguments(["id": documents[number]["_id"] ?? .null]))
            }
        }
        let bytes = try fixture.fullExport()
        let copy = ExportFixture()
        try copy.importFull(bytes)
        #expect(try copy.checksum() == fixture.checksum())
        #expect(try copy.fullExport() == bytes)
    }

    @Test func `unproven tokens stay unproven`() async throws {
        var text = String(decoding: try await Self.export.value, as: UTF8.self)
        let token = try #require(text.firstRange(of: #""id":""#))
        let id = text[token.upperBound...].prefix(64)
        text =
            text.split(separator: "\n").map { line in
                guard line.contains(#""collection":"files""#), line.contains(id) else {
                    return String(line)
                }
                return line.replacingOccurrence(
                    of: #","value":"#, by: #","unproven":["\#(id)"],"value":"#)
            }.joined(separator: "\n") + "\n"
        let copy = ExportFixture()
        try copy.importFull(Array(text.utf8))
        #expect(try copy.read { queries, _ in queries.snapshot().unprovenTokenCount } == 1)
        #expect(String(decoding: try copy.fullExport(), as: UTF8.self) == text)
    }

    @Test func `an attachment that is not stored is counted as missing`() async throws {
        let fixture = try await ExportFixture([])
        let other = ExportFixture("other")
        var token: AttachmentToken?
        try await other.write { store in
            token = try await store.newAttachment(data: [1, 2]).token
        }
        let value = try #require(token).value
        try await fixture.fill([("c", ["_id": 1, "p": value])])
        let missing = try fixture.read { queries, reader in
            try FullExport(
                of: queries.snapshot(), in: reader.volume, to: ByteSink().stream
            ).run().missingAttachments
        }
        #expect(missing == 1)
    }

    // MARK: Invalid files

    /// Imports changed lines; returns the error.
    private func error(
        _ change: (inout [String]) -> Void
    ) async throws -> String {
        var lines = try await Self.lines.value
        change(&lines)
        let text = lines.map { $0 + "\n" }.joined()
        do {
            try ExportFixture().importFull(Array(text.utf8))
            return "no error"
        } catch ImportError.source(let text) {
            return text
        }
    }

    private func index(of word: String, in lines: [String]) -> Int {
        lines.firstIndex { $0.contains(#""type":"\#(word)""#) } ?? 0
    }

    @Test func `a file without its last line is incomplete`() async throws {
        #expect(
            try await error { $0.removeLast() }.contains("ends without its last line"))
        let bytes = try await Self.export.value
        let error = #expect(throws: ImportError.self) {
            try ExportFixture().importFull(Array(bytes.dropLast(10)))
        }
        guard case .source(let text)? = error else { return }
        #expect(text.contains("ends within line"))
    }

    @Test func `a file that lacks a line or has one twice is detected`() async throws {
        for word in ["document", "index"] {
            #expect(
                try await error { $0.remove(at: index(of: word, in: $0)) }
                    .contains("does not contain what its last line states"))
            #expect(
                try await error { lines in
                    lines.insert(lines[index(of: word, in: lines)], at: 1)
                }.contains("does not contain what its last line states"))
        }
        #expect(
            try await error { $0.remove(at: index(of: "chunk", in: $0)) }
                .contains("a chunk that is not the next one of its attachment"))
        #expect(
            try await error { lines in
                lines.remove(at: (lines.lastIndex { $0.contains(#""chunk""#) }) ?? 0)
            }.contains("lacks 1 chunk"))
    }

    @Test func `each invalid line is named, with the reason`() async throws {
        let changes: [(String, String, String, String)] = [
            ("document", #""state":"A"#, #""state":"B"#, "state is not the state of a document"),
            ("document", #""state":"#, #""stat":"#, "the field state is missing"),
            ("document", #""key":""#, #""key":"*"#, "the field key must be Base64"),
            ("document", #""key":""#, #""key":"AAAA"#, "key is not the key of a document"),
            ("document", #""n":1.0"#, #""n":9.0"#, "value differs from state"),
            ("document", #""collection":"cars""#, #""collection":"""#, "1 to"),
            ("document", #""type":"document""#, #""type":"dokument""#, "unknown type 'dokument'"),
            ("document", "}", "", "column"),
            ("chunk", #""bytes":"Bwc"#, #""bytes":"Bwd"#, "do not match chunk 0"),
            ("attachment", #""length":3"#, #""length":2"#, "are not those of the attachment"),
            ("index", #""descending":true"#, #""descending":1"#, "must be true or false"),
            ("end", #""checksum":""#, #""checksum":"g"#, "must be 32 hexadecimal digits"),
            ("end", #""documents":5"#, #""documents":-5"#, "must be a non-negative integer"),
        ]
        for (word, old, new, reason) in changes {
            var number = 0
            let text = try await error { lines in
                let type = #""type":"\#(word)""#
                number = lines.firstIndex { $0.contains(type) && $0.contains(old) } ?? 0
                lines[number] = lines[number].replacingOccurrence(of: old, by: new)
            }
            #expect(text.contains("line \(number + 1): "), "\(old) \(text)")
            #expect(text.contains(reason), "\(old) \(text)")
        }
    }

    @Test func `only the first line has the version, and an unknown one is refused`() async throws {
        #expect(
            try await error { $0[0] = $0[0].replacingOccurrence(of: "1}", by: "2}") }
                .contains("line 1: the version is 2, and this program reads 1"))
        #expect(try await error { $0.insert($0[0], at: 1) }.contains("line 2: a second first line"))
        #expect(try await error { $0.removeFirst() }.contains("line 1: the first line"))
        #expect(
            try await error { $0.append($0[index(of: "document", in: $0)]) }
                .contains("a line after the last one"))
    }

    @Test func `other files are recognized before a store is created`() throws {
        let fixture = ExportFixture()
        for text in ["", "{}\n", "{\"type\":\"document\"}\n", "a,b\n"] {
            let path = fixture.directory.path("x")
            try writeFile(path, Array(text.utf8))
            #expect(throws: ImportError.self) {
                try FullImport.check(try InputBuffer(path: path))
            }
        }
    }
}

extension StringProtocol {
    /// Returns the text with the first occurrence of another one replaced.
    fileprivate func replacingOccurrence(of text: String, by other: String) -> String {
        guard let range = firstRange(of: text) else { return String(self) }
        return String(self[..<range.lowerBound]) + other + String(self[range.upperBound...])
    }
}
