import SheafDocument
import SheafTestSupport
import Testing

@Suite struct JSONTests {
    @Test func `JSON texts parse into their values`() throws {
        let pairs: [(String, Value)] = [
            ("null", .null), (" true ", true), ("\t\n\rfalse", false), ("0", 0), ("-0", 0),
            ("-12", -12), ("9223372036854775807", .integer(.max)),
            ("-9223372036854775808", .integer(.min)), ("9223372036854775808", .float(0x1p63)),
            ("9007199254740993", .integer(9_007_199_254_740_993)), ("1.0", .float(1)),
            ("1e2", .float(100)), ("1E+2", .float(100)), ("1.5e-3", .float(0.0015)),
            ("-0.0", .float(-0.0)), ("0.1", .float(0.1)),
            ("123456789012345678901234567890", 1.2345678901234568e29),
            ("5e-324", .float(.leastNonzeroMagnitude)), ("1e-400", .float(0)),
            ("2.2250738585072014e-308", .float(.leastNormalMagnitude)),
            (#""""#, ""), (#""a\"\\\/\b\f\n\r\tz""#, "a\"\\/\u{8}\u{C}\n\r\tz"),
            (#""\u0041\u00e9\u20AC\ud83d\ude00\u0000""#, "A\u{E9}\u{20AC}\u{1F600}\0"),
            (
                "\"caf\u{E9} cafe\u{301} \u{10FFFF}\u{7F}\"",
                "caf\u{E9} cafe\u{301} \u{10FFFF}\u{7F}"
            ),
            ("[]", []), ("[ 1 , [ ] ]", [1, []]), ("{}", [:]),
            (#"{ "b" : 1 , "a" : { "" : null } }"#, ["a": ["": .null], "b": 1]),
            (#"{"caf\u00e9":1,"cafe\u0301":2}"#, ["caf\u{E9}": 1, "cafe\u{301}": 2]),
        ]
        for (text, value) in pairs {
            let read = try Value(json: text)
            #expect(read == value && read.json == value.json, "\(text)")
        }
    }

    @Test func `invalid JSON is refused with its position`() {
        let refused: [(String, Int, Int, Int)] = [
            ("", 0, 1, 1), ("  ", 2, 1, 3), ("nul", 0, 1, 1), ("nulL", 0, 1, 1), ("01", 0, 1, 1),
            ("-", 1, 1, 2), ("1.", 2, 1, 3), (".5", 0, 1, 1), ("1e", 2, 1, 3), ("+1", 0, 1, 1),
            ("1 2", 2, 1, 3), ("[1,]", 3, 1, 4), ("[1", 2, 1, 3), ("[1 2]", 3, 1, 4),
            ("{\"a\"}", 4, 1, 5), ("{\"a\":}", 5, 1, 6), ("{a:1}", 1, 1, 2),
            ("{\"a\":1,}", 7, 1, 8),
            ("\"a", 2, 1, 3), ("\"\\x\"", 1, 1, 2), ("\"\\u12G4\"", 1, 1, 2), ("\"\\u12", 1, 1, 2),
            ("\"\n\"", 1, 1, 2), ("\"abcdefgh\u{1}\"", 9, 1, 10), ("'a'", 0, 1, 1),
            ("NaN", 0, 1, 1),
            ("\"\\ud800\"", 1, 1, 2), ("\"\\udc00\"", 1, 1, 2), ("\"\\ud800\\u0041\"", 1, 1, 2),
            ("1e400", 0, 1, 1), ("-1e999999999999999999999", 0, 1, 1), ("// x\n1", 0, 1, 1),
            ("{\n  \"a\": 1,\n  \"a\": 2\n}", 0, 1, 1), ("[\n\n  tru]", 5, 3, 3), ("]", 0, 1, 1),
        ]
        for (text, offset, line, column) in refused {
            do throws(JSONError) {
                let value = try Value(json: text)
                Issue.record("\(text) parses as \(value)")
            } catch {
                #expect(
                    (error.offset, error.line, error.column) == (offset, line, column),
                    "\(text): \(error)")
            }
        }
    }

    @Test func `a long fraction and a large exponent add up`() throws {
        for count in [99_999, 100_000, 250_000] {
            let zeros = String(repeating: "0", count: count)
            let small = "0.\(zeros)1"
            #expect(try Value(json: "\(small)e\(count + 1)") == .float(1))
            #expect(try Value(json: "\(small)e\(count + 23)") == .float(1e22))
            #expect(try Value(json: "\(small)e\(count - 400)") == .float(0))
            #expect(try Value(json: "1\(zeros)e-\(count)") == .float(1))
            #expect(try Value(json: "1\(zeros)e-1000000") == .float(0))
            #expect(try Value(json: "-0.\(zeros)e1000000") == .float(-0.0))
            for text in ["\(small)e1000000", "-\(small)e99999999999999999999", "1\(zeros)e-9"] {
                #expect {
                    try Value(json: text)
                } throws: { error in
                    (error as? JSONError)?.reason == .numberTooLarge
                }
            }
        }
    }

    @Test func `invalid UTF-8 is refused`() {
        let wrong: [[UInt8]] = [
            [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xC3],
        ]
        for bytes in wrong {
            #expect(throws: JSONError.self) { try Value(jsonBytes: [0x22] + bytes + [0x22]) }
        }
    }

    @Test func `parsing limits the depth`() throws {
        let limit = Value.maximumDepth
        let deepest = String(repeating: "[", count: limit) + String(repeating: "]", count: limit)
        #expect(try Value(json: deepest).json == deepest)
        #expect(throws: JSONError.self) { try Value(json: "[" + deepest + "]") }
        #expect(throws: JSONError.self) {
            try Value(json: String(repeating: "{\"a\":", count: 1_000_000))
        }
    }

    @Test func `a text of exactly 64 MiB is parsed`() throws {
        var text = [UInt8](repeating: 0x78, count: 67_108_864)
        (text[0], text[67_108_863]) = (0x22, 0x22)
        guard case .string(let found) = try Value(jsonBytes: text) else {
            Issue.record("The value is no string.")
            return
        }
        #expect(found.utf8.count == 67_108_862)
    }

    @Test func `a text beyond the length limit is refused before it is parsed`() {
        let text = [UInt8](repeating: 0x20, count: 64 << 20 + 1)
        #expect {
            try Value(jsonBytes: text)
        } throws: { error in
            (error as? JSONError)?.reason == .tooLong(limit: 64 << 20)
        }
    }

    @Test func `a value survives printing and parsing, except for types that JSON lacks`() throws {
        var values = RandomValue(seed: 11)
        for _ in 0..<20_000 {
            let value = values.value()
            let text = value.json
            let read = try Value(json: text)
            #expect(read.json == text)
            #expect(read == withoutWhatJSONLacks(value), "\(text)")
        }
        #expect(Value.bytes([0, 1, 2, 255]).json == "\"AAEC/w==\"")
        #expect(Value.bytes([0xFB, 0xFF]).json == "\"+/8=\"" && Value.bytes([]).json == "\"\"")
    }

    private func withoutWhatJSONLacks(_ value: Value) -> Value {
        switch value {
        case .float(let float) where !float.isFinite: .null
        case .bytes: .string(String(value.json.dropFirst().dropLast()))
        case .array(let values): .array(values.map(withoutWhatJSONLacks))
        case .object(let object):
            .object(Object(object.map { ($0.name, withoutWhatJSONLacks($0.value)) }))
        default: value
        }
    }

    private func error(_ text: String) -> JSONError? {
        do throws(JSONError) {
            _ = try Value(json: text)
            return nil
        } catch {
            return error
        }
    }

    @Test func `an error says what is wrong in the text`() {
        let deep = String(repeating: "[", count: 65)
        let cases: [(text: String, explanation: String)] = [
            ("", "expected a value"), ("+1", "expected a value"),
            ("nul", "expected true, false or null"), ("tru", "expected true, false or null"),
            ("[1 2]", "expected a comma or ]"), ("{\"a\":1 2}", "expected a comma or }"),
            ("{a:1}", "expected a name in double quotes"), ("{\"a\" 1}", "expected a colon"),
            ("\"a", "expected a double quote"), ("\"\\n", "expected a double quote"),
            ("-", "expected a digit"), ("1.", "expected a digit"), ("1e+", "expected a digit"),
            ("00", "expected no digit after a leading zero"),
            ("1 2", "unexpected text after the value"),
            ("\"\\x\"", "a backslash must be followed by one of \" \\ / b f n r t u"),
            ("\"\\u12G4\"", "expected four hexadecimal digits"),
            ("\"\u{1F}\"", "the control character 31 must be escaped"),
            ("\"\\n\u{0}\"", "the control character 0 must be escaped"),
            ("\"\\udc00\"", "the text is not valid Unicode"),
            ("1e400", "the number is too large"),
            (deep, "arrays and objects are nested deeper than 64"),
            ("{\"b\":1,\"a\":1,\"a\":2,\"b\":3}", "duplicate name \"a\" in an object"),
        ]
        for (text, explanation) in cases {
            #expect(error(text)?.explanation == explanation, "\(text)")
        }
        #expect(error("[\n 1,\n  x]")?.description == "line 3, column 3: expected a value")
        #expect(error(deep)?.offset == 64)
    }

    @Test func `a number is the integer of its digits, or the nearest float`() {
        var random = SeededRandom(seed: 83, "numbers")
        func digits(_ count: Int) -> String {
            String((0..<count).map { _ in Character("\(random.below(10))") })
        }
        for _ in 0..<3_000 {
            let first = random.below(10)
            let whole = "\(first)" + (first == 0 ? "" : digits(random.below(22)))
            let sign = random.chance(1, in: 3) ? "-" : ""
            let fraction = random.chance(1, in: 2) ? "." + digits(1 + random.below(22)) : ""
            let signs = ["e", "E", "e+", "e-", "E-"]
            let exponent =
                random.chance(1, in: 2)
                ? signs[random.below(signs.count)] + "\(random.below(random.below(340) + 1))" : ""
            let text = sign + whole + fraction + exponent
            let found = try? Value(json: text)
            if fraction.isEmpty, exponent.isEmpty, let integer = Int64(text) {
                #expect(found?.isIdentical(to: .integer(integer)) == true, "\(text)")
            } else if let float = Double(text), float.isFinite {
                #expect(found?.isIdentical(to: .float(float)) == true, "\(text)")
            } else {
                #expect(found == nil, "\(text)")
            }
        }
    }

    @Test func `an escape or a control character is found at any position of a text`() {
        let pairs = [
            ("\\\"", "\""), ("\\\\", "\\"), ("\\u0000", "\0"), ("\u{E9}", "\u{E9}"),
            ("\u{7F}", "\u{7F}"), (" ", " "), ("\\ud800\\udc00", "\u{10000}"),
            ("\\uDBFF\\uDFFF", "\u{10FFFF}"), ("\\ud7ff", "\u{D7FF}"), ("\\ue000", "\u{E000}"),
        ]
        for before in 0..<10 {
            for after in 0..<10 {
                let start = String(repeating: "x", count: before)
                let end = String(repeating: "y", count: after)
                for (escaped, plain) in pairs {
                    let value = try? Value(json: "\"" + start + escaped + end + "\"")
                    #expect(value == .string(start + plain + end))
                }
                let wrong = error("\"" + start + "\u{1F}" + end + "\"")
                #expect(wrong?.reason == .controlCharacter(0x1F))
                #expect(wrong?.offset == 1 + before)
                #expect(error("\"" + start + end)?.offset == 1 + before + after)
            }
        }
        for text in ["\\ud800", "\\ud800x", "\\ud800\\n", "\\udbff\\ud800", "\\udfff\\ud800"] {
            let wrong = error("[\"ab" + text + "\"]")
            #expect(wrong?.reason == .invalidText && wrong?.offset == 4, "\(text)")
        }
    }
}
