import SheafDocument
import SheafTestSupport
import SheafTransfer
import Testing

/// Tests of the values and types of CSV fields.
@Suite struct ColumnTypeTests {
    private func bytes(_ text: String) -> ArraySlice<UInt8> { Array(text.utf8)[...] }

    /// The integer that a text is, by the grammar.
    private func integer(_ text: String) -> Int64? {
        text.wholeMatch(of: #/0|-?[1-9][0-9]*/#) == nil ? nil : Int64(text)
    }

    /// The finite float that a text is, by the grammar.
    private func float(_ text: String) -> Double? {
        let grammar = #/-?((0|[1-9][0-9]*)(\.[0-9]+)?|\.[0-9]+)([eE][-+]?[0-9]+)?/#
        guard text.wholeMatch(of: grammar) != nil, let value = Double(text), value.isFinite else {
            return nil
        }
        return value
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func `random texts are numbers exactly if the grammar of numbers has them`(
        _ seed: UInt64
    ) throws {
        var random = SeededRandom(seed: seed, "numbers")
        let pieces = [
            "0", "1", "9", "12", "-", "-", "+", ".", ".", "e", "E", "00", "x", " ", "/", ":",
            "9223372036854775807", "9223372036854775808", "999",
        ]
        for _ in 0..<400 {
            let text = (0..<1 + random.below(6)).map { _ in pieces[random.below(pieces.count)] }
                .joined()
            let (integer, float) = (integer(text), float(text))
            #expect(
                ColumnType.integer.value(bytes(text))?.json == integer.map { "\($0)" },
                "\(text), seed \(seed)")
            #expect(
                ColumnType.float.value(bytes(text))?.json == float.map { Value.float($0).json },
                "\(text), seed \(seed)")
            #expect(ColumnType.text.value(bytes(text)) == .string(text), "\(text), seed \(seed)")
        }
    }

    @Test(
        arguments: [
            ("0", "0"), ("-1", "-1"), ("9223372036854775807", "9223372036854775807"),
            ("-9223372036854775808", "-9223372036854775808"), ("9223372036854775808", nil),
            ("-9223372036854775809", nil), ("10000000000000000000", nil),
            ("99999999999999999999", nil), ("18446744073709551616", nil), ("-0", nil), ("00", nil),
            ("-01", nil), ("-", nil), ("1-", nil), ("+1", nil), ("1.0", nil), ("1e2", nil),
            ("1/", nil), ("1:", nil),
        ] as [(String, String?)])
    func `an integer has 64 bits, and neither leading zeros nor a sign +`(
        _ text: String, _ value: String?
    ) {
        #expect(ColumnType.integer.value(bytes(text))?.json == value)
    }

    @Test(
        arguments: [
            ("12", "12.0"), ("-0.5", "-0.5"), (".25", "0.25"), ("-.25", "-0.25"), ("0.0", "0.0"),
            ("1e2", "100.0"), ("1E+2", "100.0"), ("25e-1", "2.5"), ("1.5e1", "15.0"), ("1.", nil),
            (".", nil), ("-", nil), ("-.", nil), ("1e", nil), ("1e+", nil), ("1e1.5", nil),
            ("e5", nil), (".e5", nil), ("01.5", nil), ("-00.5", nil), ("1.5.2", nil), ("1e5x", nil),
            ("--1", nil), ("1e999", nil), ("-1e999", nil), ("0x1", nil), ("nan", nil), ("inf", nil),
        ] as [(String, String?)])
    func `a float is finite, and has digits after its point and its exponent`(
        _ text: String, _ value: String?
    ) {
        #expect(ColumnType.float.value(bytes(text))?.json == value)
    }

    @Test func `three spellings each are true and false`() {
        for text in ["true", "True", "TRUE"] {
            #expect(ColumnType.boolean.value(bytes(text))?.json == "true", "\(text)")
        }
        for text in ["false", "False", "FALSE"] {
            #expect(ColumnType.boolean.value(bytes(text))?.json == "false", "\(text)")
        }
        for text in ["tRUE", "t", "tru", "truee", "falsee", "yes", "1", "0", "fals"] {
            #expect(ColumnType.boolean.value(bytes(text)) == nil, "\(text)")
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `the type of a column is the first that has all its fields`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "columns")
        let pools = [
            [
                "1", "-2", "0", "9007199254740992", "-9007199254740992", "9007199254740993",
                "-9007199254740993", "9223372036854775807", "0.5", "-1e3", "1.0",
            ],
            ["true", "FALSE", "True", "false"],
            ["1", "0.5", "true", "x", "007", "-0", "12345678901234567890", "1e999", "tRue"],
            ["1", "2", "9007199254740992", "0.5"],
        ]
        for _ in 0..<300 {
            let pool = pools[random.below(pools.count)]
            let fields = (0..<random.below(5)).map { _ in pool[random.below(pool.count)] }
            var evidence = ColumnEvidence()
            for field in fields { evidence.add(bytes(field)) }
            #expect(evidence.type == commonType(fields), "\(fields), seed \(seed)")
        }
    }

    private func commonType(_ fields: [String]) -> ColumnType {
        let spellings: Set = ["true", "True", "TRUE", "false", "False", "FALSE"]
        if fields.isEmpty { return .text }
        if fields.allSatisfy({ spellings.contains($0) }) { return .boolean }
        let integers = fields.compactMap { integer($0) }
        if integers.count == fields.count { return .integer }
        let floats = fields.filter { field in
            // A text of digits alone is no float, because it would lose some of them.
            float(field) != nil && field.contains { ".eE".contains($0) }
        }
        // 2^53 and its negative are the last integers that each have a float of their own.
        let areShort = integers.allSatisfy {
            (-9_007_199_254_740_992...9_007_199_254_740_992).contains($0)
        }
        return integers.count + floats.count == fields.count && areShort ? .float : .text
    }

    @Test func `the reason of a bad field names its column and type`() throws {
        var csv = CSVOptions()
        csv.types = [("i", .integer), ("f", .float), ("b", .boolean), ("j", .json)]
        let fixture = try ImportFixture()
        let report = try fixture.run(
            text: "i,f,b,j\n1.5,,,\n,1x,,\n,,1,\n,,,{\n1,2,true,[1]\n", .csv, csv)
        #expect(
            report.badRows == [
                BadRow(row: 2, reason: "column i: '1.5' is not an integer of 64 bits"),
                BadRow(row: 3, reason: "column f: '1x' is not a number"),
                BadRow(row: 4, reason: "column b: '1' is not true or false"),
                BadRow(row: 5, reason: "column j: '{' is not a JSON value"),
            ])
        let text = try fixture.file("bad", Array("_id,t\n1,".utf8) + [0xFF, 0x0A])
        #expect(
            try fixture.run(text, .csv).badRows == [
                BadRow(row: 2, reason: "column t: '\u{FFFD}' is not valid UTF-8")
            ])
        #expect(try fixture.documents().map { $0["i"] } == [1])
    }

    @Test(arguments: [(63, true), (64, false)])
    func `the values of a row are nested up to 64 deep, the row included`(
        _ depth: Int, _ isGood: Bool
    ) throws {
        var csv = CSVOptions()
        csv.types = [("j", .json)]
        let text =
            "j\n" + String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        let report = try ImportFixture().run(text: text, .csv, csv)
        #expect(report.importedCount == (isGood ? 1 : 0))
        #expect(report.badRows.map(\.row) == (isGood ? [] : [2]))
    }
}
