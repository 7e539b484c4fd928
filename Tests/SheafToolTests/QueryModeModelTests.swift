import Foundation
import SheafDocument
import SheafTestSupport
import Testing

/// Random texts in each output mode.
@Suite struct QueryModeModelTests {
    private static let pieces = [
        "a", "b c", "\"", ",", "\n", "\r\n", "|", "\\", "\t", "\u{1B}[2J", "\u{7F}", "\u{9B}",
        "\u{202E}", "\u{2028}", "家", "e\u{301}", "👨‍👩‍👧", "\u{E000}", "", "null", "1",
    ]

    private func texts(_ random: inout SeededRandom) -> [String] {
        (0..<200).map { _ in
            (0..<random.below(8)).map { _ in Self.pieces[random.below(Self.pieces.count)] }
                .joined()
        }
    }

    private func store(_ texts: [String]) throws -> QueryCommandStore {
        try QueryCommandStore(
            "t",
            texts.enumerated().map {
                (.integer(Int64($0)), ["x": .string($1), "y": [.string($1)]])
            })
    }

    private func bytes(_ texts: [String]) -> [[UInt8]] { texts.map { Array($0.utf8) } }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func `texts survive a round trip through CSV and JSON`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "texts in a round trip")
        let texts = texts(&random)
        let store = try store(texts)
        let csv = try store.query("SELECT x, y FROM t ORDER BY _id", "--mode=csv")
        let records = try #require(Self.records(Array(csv.output)), "seed \(seed)")
        #expect(records.first == bytes(["x", "y"]))
        #expect(records.dropFirst().map { $0[0] } == bytes(texts), "seed \(seed)")
        let nested = try records.dropFirst().map { try Value(jsonBytes: $0[1]) }
        #expect(nested == texts.map { [.string($0)] }, "seed \(seed)")
        let json = try store.query("SELECT x FROM t ORDER BY _id", "--mode=jsonl")
        let rows = try json.output.split(separator: 0x0A).map { try Value(jsonBytes: Array($0)) }
        #expect(rows == texts.map { ["x": .string($0)] }, "seed \(seed)")
    }

    @Test(arguments: 1...2 as ClosedRange<UInt64>)
    func `no text outside of CSV and TSV inserts a line break or a terminal command`(_ seed: UInt64)
        throws
    {
        var random = SeededRandom(seed: seed, "harmful texts")
        let texts = texts(&random)
        let store = try store(texts)
        for (mode, count) in [
            ("table", 204), ("box", 205), ("json", 200), ("jsonl", 200),
            ("markdown", 202), ("line", 599),
        ] {
            let text = try store.query("SELECT x, y FROM t ORDER BY _id", "--mode", mode).text
            #expect(text.utf8.count { $0 == 0x0A } == count, "\(mode), seed \(seed)")
            let harmful = text.unicodeScalars.filter { scalar in
                switch scalar.properties.generalCategory {
                case .control: scalar != "\n"
                case .format: scalar != "\u{200D}"
                case .privateUse, .lineSeparator, .paragraphSeparator: true
                default: false
                }
            }
            #expect(harmful.isEmpty, "\(mode), seed \(seed)")
        }
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func `texts survive a round trip through TSV, and arrays through JSON`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "texts between tabs")
        let texts = texts(&random)
        let store = try store(texts)
        let tsv = try store.query("SELECT x, y FROM t ORDER BY _id", "--mode=tsv")
        let records = tsv.output.split(separator: 0x0A, omittingEmptySubsequences: false)
            .dropLast().map { line in
                line.split(separator: 0x09, omittingEmptySubsequences: false).map(Self.unescaped)
            }
        #expect(records.first == bytes(["x", "y"]))
        #expect(records.dropFirst().map { $0[0] } == bytes(texts), "seed \(seed)")
        let nested = try records.dropFirst().map { try Value(jsonBytes: $0[1]) }
        #expect(nested == texts.map { [.string($0)] }, "seed \(seed)")
        let json = try store.query("SELECT x FROM t ORDER BY _id", "--mode=json")
        let array = try Value(jsonBytes: Array(json.output))
        #expect(array == .array(texts.map { ["x": .string($0)] }), "seed \(seed)")
    }

    /// Replaces the escapes of TSV, in the plainest way.
    private static func unescaped(_ cell: Data) -> [UInt8] {
        var bytes: [UInt8] = []
        var isEscape = false
        for byte in cell {
            guard isEscape || byte != UInt8(ascii: "\\") else {
                isEscape = true
                continue
            }
            switch (byte, isEscape) {
            case (UInt8(ascii: "t"), true): bytes.append(0x09)
            case (UInt8(ascii: "n"), true): bytes.append(0x0A)
            case (UInt8(ascii: "r"), true): bytes.append(0x0D)
            default: bytes.append(byte)
            }
            isEscape = false
        }
        return bytes
    }

    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func `each line of a box has the same width, which fits the terminal`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "boxes")
        let names = (0..<1 + random.below(12)).map { "f\($0)" }
        let rows = (0..<20).map { number in
            let fields = names.filter { _ in random.below(4) > 0 }.map { name in
                // One character per terminal cell.
                (name, Value.string(String(repeating: "x", count: random.below(70))))
            }
            return (id: Value.integer(Int64(number)), fields: Object(fields))
        }
        let store = try QueryCommandStore("t", rows)
        let columns = 12 + random.below(120)
        let run = try TerminalRun(
            ["query", store.path, "SELECT * FROM t ORDER BY _id", "--no-color"], columns: columns,
            rows: 100)
        #expect(try run.finish() == 0)
        let lines = run.output.split(separator: "\n").filter { "┌│├└".contains($0.first ?? " ") }
        #expect(lines.count == 24, "seed \(seed)")
        let widths = Set(lines.map(\.count))
        #expect(widths.count == 1 && (widths.first ?? 0) <= columns, "seed \(seed): \(widths)")
    }

    /// Parses CSV by RFC 4180 in the plainest way; returns nil for malformed input.
    private static func records(_ bytes: [UInt8]) -> [[[UInt8]]]? {
        var records: [[[UInt8]]] = []
        var record: [[UInt8]] = [[]]
        var isQuoted = false
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            let next = index + 1 < bytes.count ? bytes[index + 1] : 0
            index += 1
            switch (byte, isQuoted) {
            case (0x22, true) where next == 0x22:
                record[record.count - 1].append(byte)
                index += 1
            case (0x22, _): isQuoted.toggle()
            case (_, true): record[record.count - 1].append(byte)
            case (0x2C, false): record.append([])
            case (0x0D, false):
                guard next == 0x0A else { return nil }
                index += 1
                records.append(record)
                record = [[]]
            case (0x0A, false): return nil
            default: record[record.count - 1].append(byte)
            }
        }
        return isQuoted || record != [[]] ? nil : records
    }
}
