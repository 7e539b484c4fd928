import Foundation
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafTestSupport
import SheafTransfer
import Testing

/// Tests of the lines of complete exports, each in a file of a few lines.
@Suite struct FullImportLineTests {
    private static let header = #"{"type":"sheaf-export","version":1}"#

    private func end(documents: Int = 0, tombstones: Int = 0, indexes: Int = 0) -> String {
        #"{"type":"end","documents":\#(documents),"tombstones":\#(tombstones),"attachments":0,"#
            + #""indexes":\#(indexes),"checksum":"\#(String(repeating: "0", count: 32))"}"#
    }

    private func index(_ fields: String, name: String = "i", collection: String = "c") -> String {
        #"{"type":"index","collection":"\#(collection)","name":"\#(name)","fields":\#(fields)}"#
    }

    private func run(_ lines: [String], in fixture: ImportFixture) throws -> FullImport.Report {
        let text = lines.map { $0 + "\n" }.joined()
        let input = try InputBuffer(path: try fixture.file("full", Array(text.utf8)))
        return try FullImport(from: input, into: fixture.log, fixture.queries).run()
    }

    /// Imports lines after the header; returns the text of the error without the path.
    private func message(_ lines: [String], in fixture: ImportFixture? = nil) throws -> String {
        do {
            _ = try run([Self.header] + lines, in: try fixture ?? ImportFixture())
            return "no error"
        } catch ImportError.source(let text) {
            return text.firstRange(of: "/full").map { String(text[$0.upperBound...]) } ?? text
        } catch ImportError.store(let text) {
            return text
        }
    }

    @Test(arguments: [
        ("[1]", "expected a JSON object"), ("{}", "the field type is missing"),
        (#"{"type":1}"#, "the field type must be a string"),
        (#"{"type":"x"}"#, "unknown type 'x'"), (#"{"type":x}"#, "column 9: expected a value"),
        (#"{"type":"sheaf-export"}"#, "the field version is missing"),
        (#"{"type":"sheaf-export","version":"1"}"#, "the field version must be an integer"),
        (#"{"type":"index"}"#, "the field fields is missing"),
        (#"{"type":"index","fields":{}}"#, "the field fields must be an array"),
        (#"{"type":"index","fields":[1]}"#, "fields must contain objects"),
        (#"{"type":"index","fields":[{}]}"#, "the field path is missing"),
        (#"{"type":"index","fields":[{"path":"a"}]}"#, "the field path must be an array"),
        (#"{"type":"index","fields":[{"path":[1]}]}"#, "path must contain strings"),
        (#"{"type":"index","fields":[{"path":["a"]}]}"#, "descending must be true or false"),
        (#"{"type":"index","fields":[]}"#, "the field collection is missing"),
        (#"{"type":"index","fields":[],"collection":"c"}"#, "the field name is missing"),
        (#"{"type":"attachment"}"#, "the field id is missing"),
        (
            #"{"type":"attachment","id":"zz"}"#,
            "the field id must be 64 lowercase hexadecimal digits"
        ),
        (#"{"type":"chunk","number":-1}"#, "the field number must be a non-negative integer"),
        (#"{"type":"chunk","number":0}"#, "the field bytes is missing"),
        (#"{"type":"document","collection":"c"}"#, "the field key is missing"),
        (
            #"{"type":"document","collection":"c","key":"QGEA","state":"","unproven":1}"#,
            "the field unproven must be an array"
        ),
        (
            #"{"type":"document","collection":"c","key":"QGEA","state":"","unproven":[1]}"#,
            "the field unproven must be strings"
        ),
        (
            #"{"type":"document","collection":"c","key":"QGEA","state":"","unproven":["AB"]}"#,
            "the field unproven must be 64 lowercase hexadecimal digits"
        ),
        (
            #"{"type":"document","collection":"c","key":"QGEA","state":"","value":1}"#,
            "the field value must be an object"
        ),
        (
            #"{"type":"end","documents":0,"tombstones":0,"attachments":0,"indexes":0}"#,
            "the field checksum is missing"
        ), (#"{"type":"end"}"#, "the field documents is missing"),
    ])
    func `the error for a line has its number and the reason`(
        _ line: String, _ reason: String
    ) throws {
        let found = try message([line])
        #expect(found.hasPrefix(", line 2: " + reason), "\(found)")
    }

    @Test(arguments: [(0, false), (1, true), (1_024, true), (1_025, false)])
    func `the name of a collection has 1 to 1,024 bytes`(_ length: Int, _ isGood: Bool) throws {
        let name = String(repeating: "n", count: length)
        let found = try message([#"{"type":"document","collection":"\#(name)","key":"*"}"#])
        let reason = "the name of the collection must have 1 to 1024 bytes"
        #expect(found == ", line 2: " + (isGood ? "the field key must be Base64" : reason))
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func `random texts are Base64 exactly if an encoder writes them`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "digits")
        let digits = ["A", "Q", "g", "w", "Z", "a", "z", "0", "9", "+", "/", "=", "=", "-", "é"]
        let fixture = try ImportFixture()
        for _ in 0..<60 {
            let text = (0..<random.below(3) * 4 + random.below(8) / 6).map { _ in
                digits[random.below(digits.count)]
            }.joined()
            let isCanonical = Data(base64Encoded: text)?.base64EncodedString() == text
            let found = try message(
                [#"{"type":"chunk","number":0,"bytes":"\#(text)"}"#], in: fixture)
            let reason =
                isCanonical
                ? "a chunk that is not the next one of its attachment"
                : "the field bytes must be Base64"
            #expect(found == ", line 2: " + reason, "\(text), seed \(seed)")
        }
    }

    @Test func `each digit of Base64 has its value`() throws {
        let fixture = try ImportFixture()
        let alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
        // The last digit before == has only two bits.
        for (value, digit) in alphabet.enumerated() {
            let isCanonical = value % 16 == 0
            let found = try message(
                [#"{"type":"chunk","number":0,"bytes":"A\#(digit)=="}"#], in: fixture)
            #expect(found.hasSuffix("Base64") != isCanonical, "\(digit)")
        }
    }

    // MARK: Indexes

    @Test func `an index of the same name has the same fields, or the import fails`() throws {
        let fixture = try ImportFixture()
        let fields = #"[{"path":["a","\#u{E9}"],"descending":false}]"#
        let report = try run([Self.header, index(fields), end(indexes: 1)], in: fixture)
        #expect(report.read.indexes == 1 && report.changedCount == 0)
        #expect(try message([index(fields), end(indexes: 1)], in: fixture) == "no error")
        let other = "the collection c has an index i with other fields; drop it, and import again"
        for changed in [
            #"[{"path":["a","\#u{E9}"],"descending":true}]"#,
            #"[{"path":["a","e\#u{301}"],"descending":false}]"#,
            #"[{"path":["a"],"descending":false}]"#,
            #"[{"path":["a","\#u{E9}"],"descending":false},{"path":["b"],"descending":false}]"#,
        ] {
            let found = try message([index(changed), end(indexes: 1)], in: fixture)
            #expect(found == other, "\(changed)")
        }
        let catalog = fixture.queries.snapshot().catalog
        #expect(catalog.index("i", onCollection: "c")?.fields.count == 1)
        // Another collection has indexes of its own.
        let elsewhere = index(#"[{"path":["b"],"descending":true}]"#, collection: "d")
        #expect(try message([elsewhere, end(indexes: 1)], in: fixture) == "no error")
        let later = fixture.queries.snapshot().catalog
        let field = try #require(later.index("i", onCollection: "d")?.fields.first)
        #expect(field.path == ["b"] && field.isDescending)
    }

    // MARK: The end

    private static let tombstone =
        #"{"type":"document","collection":"cars","key":"QGMA","#
        + #""state":"BB0BBwAAAAAAAAAyAAAAAAAAAAAAMgAAAAAAAAAX"}"#

    @Test func `the last line has the numbers of all lines`() throws {
        let fixture = try ImportFixture()
        #expect(
            try message([], in: fixture)
                == " ends without its last line, so it is incomplete; 0 documents were imported")
        let fields = #"[{"path":["a"],"descending":false}]"#
        for last in [end(documents: 1), end(tombstones: 1), end(indexes: 1)] {
            #expect(
                try message([last], in: fixture)
                    == " does not contain what its last line states: documents or attachments were "
                    + "removed, added or changed")
        }
        // An index is created only if the file is complete.
        _ = try message([index(fields), end()], in: fixture)
        let catalog = fixture.queries.snapshot().catalog
        #expect(catalog.index("i", onCollection: "c") == nil)
        #expect(try message([end(), end()], in: fixture) == ", line 3: a line after the last one")
        #expect(try message([end()], in: fixture) == "no error")
        #expect(
            try message([Self.tombstone], in: fixture)
                == " ends without its last line, so it is incomplete; 0 documents were imported")
    }

    @Test func `a progress has the bytes before the line with which its commit ends`() throws {
        let fixture = try ImportFixture()
        let keys = ["QGEA", "QGIA", "QGMA", "QGQA", "QGUA"]
        let lines = keys.map { Self.tombstone.replacing("QGMA", with: $0) }
        let text = ([Self.header] + lines).map { $0 + "\n" }.joined()
        let input = try InputBuffer(path: try fixture.file("full", Array(text.utf8)))
        let run = FullImport(from: input, into: fixture.log, fixture.queries, batchCount: 2)
        var reports: [FullImport.Report] = []
        #expect(throws: ImportError.self) { try run.run { reports.append($0) } }
        let (first, length) = (Self.header.utf8.count + 1, lines[0].utf8.count + 1)
        #expect(
            reports.map(\.byteCount) == [first + length, first + 3 * length].map { UInt64($0) })
        #expect(reports.map(\.changedCount) == [2, 4])
        #expect(reports.map(\.read.tombstones) == [2, 4])
        #expect(reports.allSatisfy { $0.read.documents == 0 })
    }
}
