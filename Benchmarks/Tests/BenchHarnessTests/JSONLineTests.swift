import BenchHarness
import Testing

@Suite struct JSONLineTests {
    @Test func `every text survives a round trip`() throws {
        for text in ["", "µs", "a \"quoted\" \\ path", "tab\t, line\n, bell\u{7}", "𝄞"] {
            var line = BenchmarkJSONLine()
            line["key"] = .string(text)
            #expect(try BenchmarkJSONLine(parsing: line.text).string("key") == text)
        }
    }

    @Test func `numbers, booleans, nulls and white space are parsed`() throws {
        let line = try BenchmarkJSONLine(
            parsing: " { \"a\" : -1.5e3 , \"b\":true,\"c\":null , \"d\":\"\\u00b5\\/\" } ")
        #expect(line.number("a") == -1_500)
        #expect(line["b"] == .boolean(true))
        #expect(line["c"] == .null)
        #expect(line.string("d") == "µ/")
    }

    @Test func `an infinite number becomes null`() {
        var line = BenchmarkJSONLine()
        line["value"] = .number(.infinity)
        #expect(line.text == "{\"value\":null}")
    }

    @Test func `a truncated line, a trailing character and an array are refused`() throws {
        let text = "{\"workload\":\"storage\",\"value\":12.5,\"flag\":true}"
        for end in text.indices {
            #expect(throws: BenchmarkJSONLine.Malformed.self) {
                _ = try BenchmarkJSONLine(parsing: String(text[..<end]))
            }
        }
        #expect(throws: BenchmarkJSONLine.Malformed.self) {
            _ = try BenchmarkJSONLine(parsing: text + "x")
        }
        #expect(throws: BenchmarkJSONLine.Malformed.self) {
            _ = try BenchmarkJSONLine(parsing: "{\"a\":[1]}")
        }
    }
}
