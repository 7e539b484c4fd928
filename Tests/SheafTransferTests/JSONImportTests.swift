import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafTestSupport
import SheafTransfer
import Testing

/// Imports of JSON lines and JSON arrays.
@Suite struct JSONImportTests {
    @Test func `rows with names new to the store have the stamp of their commit`() throws {
        let fixture = try ImportFixture()
        // A name of several rows gets a number first, and the documents are encoded anew.
        _ = try fixture.run(
            text: #"{"_id": 1, "n": {"m": 1}}"# + "\n" + #"{"_id": 2, "n": {"m": 2}}"#, .jsonl)
        let snapshot = fixture.queries.snapshot()
        let number = try #require(snapshot.catalog.number(ofCollection: "t"))
        try snapshot.log.tree.forEach(in: StoreKey.documents(of: number)) { key, _ in
            let stored = try #require(try snapshot.document(Array(key)))
            try stored.read { bytes in
                let document = try EncodedDocument(bytes)
                let vector = try document.vector()
                var stamps: [Stamp] = []
                try DotWalk.visit(document, snapshot.names) { item in
                    if let stamp = item.stamp { stamps.append(stamp) }
                }
                #expect(!stamps.isEmpty)
                #expect(stamps.allSatisfy { $0 != .initial && vector.covers($0) })
            }
            return true
        }
    }

    @Test(arguments: [UInt64](1...6))
    func `random objects are read back from lines and from arrays`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "objects")
        let objects = (0..<300 + random.below(300)).map { index in
            var object = Self.object(&random, depth: 3)
            object["_id"] = random.chance(1, in: 2) ? .integer(Int64(index)) : .string("k\(index)")
            return object
        }
        let texts = objects.map { Value.object($0).json }
        let lines = texts.joined(separator: random.chance(1, in: 2) ? "\n" : "\r\n\n")
        let pretty = texts.joined(separator: " \n,\n\t")
        for (name, text, format) in [
            ("lines", lines, ImportFormat.jsonl), ("array", "\u{FEFF}\n [\(pretty)\n]\n", .json),
            ("sequence", lines, .json),
        ] {
            let fixture = try ImportFixture()
            let report = try fixture.run(text: text, format)
            #expect(report.badRows.isEmpty, "seed \(seed), \(name)")
            #expect(report.importedCount == UInt64(objects.count), "seed \(seed), \(name)")
            let found = Dictionary(
                uniqueKeysWithValues: try fixture.documents().map { ($0["_id"]?.json ?? "", $0) })
            for (object, text) in zip(objects, texts) {
                let stored = found[object["_id"]?.json ?? ""]
                #expect(
                    stored.map { Value.object($0).json } == text, "seed \(seed), \(name)")
            }
        }
    }

    private static func object(_ random: inout SeededRandom, depth: Int) -> Object {
        Object(
            (0..<random.below(6)).map { _ in
                (["a", "b", "c", "long name", "é", "x.y"][random.below(6)], value(&random, depth))
            })
    }

    private static func value(_ random: inout SeededRandom, _ depth: Int) -> Value {
        switch random.below(depth > 0 ? 8 : 6) {
        case 0: .null
        case 1: .bool(random.chance(1, in: 2))
        case 2: .integer(Int64(bitPattern: random.next()))
        case 3: .float(Double(random.below(1_000)) / 8)
        case 4: .string(["", "]}", "\"\\", "a\nb", "é😀", "{["][random.below(6)])
        case 5: .string(String(repeating: "y", count: random.below(300)))
        case 6: .array((0..<random.below(4)).map { _ in value(&random, depth - 1) })
        default: .object(object(&random, depth: depth - 1))
        }
    }

    @Test func `bad lines are reported by number, and the others are imported`() throws {
        let fixture = try ImportFixture()
        let report = try fixture.run(
            text: """
                {"_id":1}

                {"_id":2
                [3]
                {"_id":4,"a":1,"a":2}
                {"_id":null}
                {"_id":1.5}
                {"_id":7}}
                {"_id":"8"}
                """, .jsonl)
        #expect(report.importedCount == 2 && report.badRowCount == 6)
        #expect(
            report.badRows == [
                BadRow(row: 3, reason: "column 9: expected a comma or }"),
                BadRow(row: 4, reason: "column 1: expected an object"),
                BadRow(row: 5, reason: "column 1: duplicate name \"a\" in an object"),
                BadRow(row: 6, reason: "an _id must not be or contain null; use a string"),
                BadRow(
                    row: 7,
                    reason: "an _id must not be or contain a float; use an integer or a string"),
                BadRow(row: 8, reason: "column 10: unexpected text after the value"),
            ])
        #expect(try fixture.documents().map { $0["_id"] } == [1, "8"])
    }

    @Test func `an error in an array is located, also if reading cannot continue`() throws {
        for (text, message, count) in [
            ("[", "line 1, column 2: the array has no closing ]", 0),
            ("[{}", "line 1, column 4: the array has no closing ]", 1),
            ("[{},\n", "line 2, column 1: the array has no closing ]", 1),
            (
                "[{}, {}\n{}]",
                "line 2, column 1: expected a comma or ] after an element of the array", 2
            ),
            (
                "[{}, {} x]",
                "line 1, column 9: expected a comma or ] after an element of the array", 2
            ),
            ("[,{}]", "line 1, column 2: expected an object", 0),
            ("[{},]", "line 1, column 5: expected an object", 1),
            ("[{}]\n\nx", "line 3, column 1: unexpected text after the array", 1),
        ] {
            let fixture = try ImportFixture()
            let error = #expect(throws: ImportError.self, "\(text)") {
                try fixture.run(text: text, .json)
            }
            guard case .source(let found)? = error else { continue }
            let hint = count == 0 ? "" : "; the good rows up to value \(count) were imported"
            #expect(found.hasSuffix("/text, " + message + hint), "\(text): \(found)")
            #expect(try fixture.documents().count == count, "\(text)")
        }
        let fixture = try ImportFixture()
        let report = try fixture.run(text: "[1,\n{\"a\":\n x},\n{\"_id\":1}]", .json)
        #expect(report.importedCount == 1)
        #expect(
            report.badRows == [
                BadRow(row: 1, reason: "line 1, column 2: expected an object"),
                BadRow(row: 2, reason: "line 3, column 2: expected a value"),
            ])
    }

    @Test func `values of one line have numbers and columns of their own`() throws {
        let fixture = try ImportFixture()
        var options = ImportOptions()
        options.conflict = .merge
        let text = "[{\"_id\":1,\"n\":1},{\"_id\":1,\"n\":2}, {\"n\":x},{\"_id\":1,\"n\":3}]"
        let report = try fixture.run(text: text, .json, CSVOptions(), options)
        #expect(report.badRows == [BadRow(row: 3, reason: "line 1, column 40: expected a value")])
        #expect(report.numbering.name(of: 3) == "value 3")
        #expect(try fixture.documents() == [["_id": 1, "n": 3]])
    }

    @Test func `invalid UTF-8 and NUL bytes are bad rows`() throws {
        let fixture = try ImportFixture()
        let zero = Array(String(repeating: " ", count: 5_000).utf8)
        let bytes =
            Array("{\"a\":\"".utf8) + [0xC3, 0x28] + Array("\"}\n{\"_id\":1}\n".utf8) + zero
            + Array("{\"a\":\"\0\"}\n".utf8)
        let report = try fixture.run(fixture.file("x.jsonl", bytes))
        #expect(
            report.badRows == [
                BadRow(row: 1, reason: "column 7: the text is not valid Unicode"),
                BadRow(
                    row: 3,
                    reason: "column 5007: the control character 0 must be escaped"),
            ])
        #expect(report.importedCount == 1)
    }

    @Test func `values longer than the read buffer are imported`() throws {
        let fixture = try ImportFixture()
        let long = String(repeating: "z", count: 3 << 20)
        let text = (1...3).map { "{\"_id\":\($0),\"s\":\"\(long)\"}" }
        for format in [ImportFormat.jsonl, .json] {
            var options = ImportOptions()
            options.conflict = .merge
            let report = try fixture.run(
                text: text.joined(separator: "\n"), format, CSVOptions(), options)
            #expect(report.importedCount == 3 && report.badRows.isEmpty)
        }
        #expect(try fixture.documents().allSatisfy { $0["s"] == .string(long) })
    }

    @Test func `a document of any length beyond the limit is a bad row with the same reason`()
        throws
    {
        let fixture = try ImportFixture()
        // The format of documents has a limit of 15 MiB, and a parameter one of 5 MiB.
        let rows = [6, 16].map { "{\"s\":\"\(String(repeating: "z", count: $0 << 20))\"}\n" }
        // Rows of one batch share the name, so it gets a number before they are written.
        let short = "{\"s\":1}\n{\"s\":2}\n"
        let report = try fixture.run(text: short + rows.joined() + short + rows[1], .jsonl)
        #expect(report.importedCount == 4 && report.badRows.map(\.row) == [3, 4, 7])
        for bad in report.badRows {
            #expect(
                bad.reason.hasPrefix(
                    "a document may have at most 5242880 bytes, and this one would have "))
        }
    }

    @Test func `rows of several batches are imported once, and repeated ids are found`() throws {
        let count = ImportBatch.maximumRows * 2 + 5
        let fixture = try ImportFixture()
        let rows = (1...count).map { "{\"_id\":\"\($0)\",\"n\":\($0)}" }
        let report = try fixture.run(text: rows.joined(separator: "\n"), .jsonl)
        #expect(report.importedCount == UInt64(count))
        #expect(report.position.offset == report.end && report.position.row == UInt64(count + 1))
        let found = Set(try fixture.documents().compactMap { $0["n"] })
        #expect(found.count == count)
        // The repeated row is in the next batch, whose predecessor may wait for its flush.
        for conflict in [DocumentChange.Conflict.fail, .doNothing] {
            let other = try ImportFixture()
            var options = ImportOptions()
            options.conflict = conflict
            let text = (rows + rows.suffix(8).prefix(3)).joined(separator: "\n")
            guard conflict == .fail else {
                let report = try other.run(text: text, .jsonl, CSVOptions(), options)
                #expect(report.importedCount == UInt64(count) && report.skippedCount == 3)
                continue
            }
            let error = #expect(throws: ImportError.self) {
                try other.run(text: text, .jsonl, CSVOptions(), options)
            }
            guard case .source(let message)? = error else { continue }
            #expect(message.hasPrefix("text, line \(count + 1): there is a document with"))
            #expect(
                message.hasSuffix(
                    "; the good rows up to line \(count) were imported, and --resume "
                        + "continues after them"))
        }
    }

    @Test func `a batch beyond the length of a transaction is refused`() throws {
        var options = LogStoreOptions()
        options.transactionLength = 2_000
        let fixture = try ImportFixture(options)
        let text = String(repeating: "x", count: 60)
        let lines = (0..<50).map { #"{"_id": \#($0), "text": "\#(text)"}"# }
        let error = #expect(throws: ImportError.self) {
            try fixture.run(text: lines.joined(separator: "\n"), .jsonl)
        }
        guard case .store(let message)? = error else {
            Issue.record("the error is \(error as Any)")
            return
        }
        #expect(message.hasPrefix("maximumTransactionLength is 2000, and this would be "))
        #expect(try fixture.documents().isEmpty)
        #expect(try fixture.run(text: lines[0], .jsonl).importedCount == 1)
    }

    @Test func `an import interrupted before its first commit cannot be resumed`() throws {
        let fixture = try ImportFixture()
        let path = try fixture.file("rows", Array("{\"_id\":1}\n".utf8))
        let run = try ImportRun(
            ImportFile.open(path, .jsonl, CSVOptions()),
            into: fixture.target, ImportOptions())
        run.interruption()
        let report = try run.run()
        #expect(report.isInterrupted && !report.isResumable)
        #expect(try fixture.documents().isEmpty)
    }

    @Test func `generated ids sort in the order of the rows`() throws {
        let fixture = try ImportFixture()
        for first in [1, 1_000] {
            let rows = (first..<first + 600).map { "{\"n\":\($0)}" }
            _ = try fixture.run(text: rows.joined(separator: "\n"), .jsonl)
        }
        let documents = try fixture.documents()
        #expect(
            documents.compactMap { $0["n"] }
                == (Array(1..<601) + Array(1_000..<1_600)).map { .integer(Int64($0)) })
        for document in documents {
            guard case .string(let id)? = document["_id"] else {
                Issue.record("an id is no string")
                break
            }
            #expect(id.utf8.count == 32)
        }
    }

    @Test func `batches encoded by several threads keep the order of the rows`() throws {
        let fixture = try ImportFixture()
        let count = 36_000
        // Batches without names in common with others take different times.
        let rows = (0..<count).map { row in
            let bad = row % 12_000 == 7 ? "x" : ""
            return "{\"n\":\(row),\"f\(row / 5_000)\":[\(row),[\(row % 7)]]\(bad)}"
        }
        let report = try fixture.run(text: rows.joined(separator: "\n"), .jsonl)
        let good = (0..<count).filter { $0 % 12_000 != 7 }
        #expect(report.importedCount == UInt64(good.count))
        #expect(report.badRows.map(\.row) == [8, 12_008, 24_008])
        let found = try fixture.documents().compactMap { $0["n"] }
        #expect(found == good.map { .integer(Int64($0)) })
    }

    @Test func `attachment tokens are imported as tokens`() throws {
        let fixture = try ImportFixture()
        let id = String(repeating: "ab", count: 32)
        let report = try fixture.run(
            text: "{\"_id\":1,\"file\":{\"id\":\"\(id)\",\"len\":5,\"metadata\":{}}}", .jsonl)
        #expect(report.importedCount == 1)
        let snapshot = fixture.queries.snapshot()
        let key = try #require(try snapshot.key(collection: "t", id: 1))
        let stored = try #require(try snapshot.document(key))
        let found = try stored.read { try EncodedDocument($0).attachments(snapshot.names) }
        #expect(found.count == 1)
    }

    @Test func `names of several rows get numbers, and names of one row do not`() throws {
        let fixture = try ImportFixture()
        _ = try fixture.run(text: "{\"a\":1,\"b\":2}\n{\"a\":3,\"c\":1}", .jsonl)
        let names = fixture.queries.documents.newestCatalog.names
        #expect(names.number(of: Array("a".utf8)) != nil)
        #expect(names.number(of: Array("b".utf8)) == nil)
    }

    @Test(arguments: [UInt64](1...4))
    func `hostile bytes end with an error or with bad rows`(_ seed: UInt64) throws {
        let fixture = try ImportFixture()
        var random = SeededRandom(seed: seed, "hostile")
        let parts = [
            "{", "}", "[", "]", ",", ":", "\"", "\\", "\n", "\r", "1", "{\"a\":1}", "\u{1}", ";",
            "null", "[{},", "é",
        ].map { Array($0.utf8) }
        for round in 0..<150 {
            var bytes: [UInt8] = []
            for _ in 0..<1 + random.below(60) {
                bytes +=
                    random.chance(1, in: 12) ? random.bytes(2) : parts[random.below(parts.count)]
            }
            let path = try fixture.file("hostile", bytes)
            for format in ImportFormat.allCases {
                var options = ImportOptions()
                options.restarts = true
                _ = try? fixture.run(path, format, CSVOptions(), options)
            }
            #expect(fixture.log.engine.failure == nil, "seed \(seed), round \(round)")
        }
    }
}
