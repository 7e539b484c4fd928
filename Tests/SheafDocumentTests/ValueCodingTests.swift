import Foundation
import SheafDocument
import Testing

/// The forms of dates, decimals and durations.
@Suite struct ValueCodingTests {
    private func encoded(_ source: some Encodable, _ coding: ValueCoding = ValueCoding()) throws
        -> Value
    {
        try ValueEncoder(coding: coding).encode(source)
    }

    private func decoded<T: Decodable>(
        _ value: Value, _ type: T.Type = T.self, _ coding: ValueCoding = ValueCoding()
    ) throws -> T {
        try ValueDecoder(coding: coding).decode(type, from: value)
    }

    @Test func `a date is a text in UTC, with milliseconds unless they are zero`() throws {
        let date = Date(timeIntervalSince1970: 1_764_000_000)
        #expect(try encoded(date) == "2025-11-24T16:00:00+00:00")
        #expect(try encoded(date.addingTimeInterval(0.0004)) == "2025-11-24T16:00:00+00:00")
        #expect(try encoded(date.addingTimeInterval(0.0006)) == "2025-11-24T16:00:00.001+00:00")
        #expect(try encoded(Date(timeIntervalSince1970: -0.5)) == "1969-12-31T23:59:59.500+00:00")
        #expect(try encoded([date, nil]) == ["2025-11-24T16:00:00+00:00", .null])
        #expect(try encoded(["a": date]) == ["a": "2025-11-24T16:00:00+00:00"])
        for strange in [
            Date.distantPast.addingTimeInterval(-1e11), Date(timeIntervalSince1970: .nan),
        ] {
            #expect(throws: EncodingError.self) { try encoded(strange) }
        }
        #expect(try encoded(date, ValueCoding(dates: .millisecondsSince1970)) == 1_764_000_000_000)
        #expect(try encoded(date, ValueCoding(dates: .secondsSince1970)) == 1_764_000_000.0)
        #expect(try encoded(date, ValueCoding(dates: .secondsSince2001)) == 785_692_800.0)
        let late = Date(timeIntervalSinceReferenceDate: 1.0004)
        #expect(try encoded(late, ValueCoding(dates: .secondsSince2001)) == 1.0)
        let past = ValueCoding(dates: .secondsSince2001)
        #expect(try decoded(encoded(Date.distantPast, past), Date.self, past) == .distantPast)
    }

    @Test func `a date is read from any ISO 8601 text with a zone, or in its own unit`() throws {
        let date = Date(timeIntervalSince1970: 1_764_000_000)
        #expect(try decoded("2025-11-24T18:00+02:00") == date)
        #expect(try decoded("2025-11-24 16:00:00Z") == date)
        let milliseconds = ValueCoding(dates: .millisecondsSince1970)
        #expect(try decoded(1_764_000_000_000, Date.self, milliseconds) == date)
        #expect(try decoded("2025-11-24T16:00:00Z", Date.self, milliseconds) == date)
        for (value, text) in [
            (
                1_764_000_000_000,
                "a number is a date only if ValueCoding.dates states its unit, "
                    + "such as .millisecondsSince1970"
            ),
            (
                "2025-11-24T16:00:00",
                "\"2025-11-24T16:00:00\" is not a date with a time zone, such "
                    + "as 2026-11-26T08:30:00+00:00"
            ),
        ] as [(Value, String)] {
            do {
                _ = try decoded(value, Date.self)
                Issue.record("\(value) is no date.")
            } catch DecodingError.dataCorrupted(let context) {
                #expect(context.debugDescription == text)
            }
        }
        #expect(throws: DecodingError.self) { try decoded(true, Date.self) }
        #expect(throws: DecodingError.self) { try decoded(.null, Date.self) }
    }

    @Test(arguments: [
        "0", "19.99", "-0.01", "1000000", "9223372036854775807", "-9223372036854775808", "0.1",
        "123456789012345", "12345678.9012345", "1234567890123450000000", "0.000001",
        "0.000000123456789012345", "999999999999.999", "0.3333333333333333",
        "123456789012345.6",
    ])
    func `a decimal that a float identifies survives as a number`(text: String) throws {
        let decimal = try #require(Decimal(string: text))
        let value = try encoded(decimal)
        #expect(value.kind == .number)
        #expect(try decoded(value) == decimal)
        // A literal of the query language is read as the nearest float, too.
        if case .float(let float) = value { #expect(Double(text) == float) }
        let string = try encoded(decimal, ValueCoding(decimals: .string))
        #expect(string.kind == .string)
        #expect(try decoded(string) == decimal)
    }

    @Test func `a literal of a decimal is what it says`() throws {
        // Swift reads the literal as a `Double`, which has further digits.
        let literal: Decimal = 19.99
        #expect(try encoded(literal) == 19.99)
        #expect(try encoded(Decimal(string: "19.99"), ValueCoding(decimals: .string)) == "19.99")
        let decimal: Decimal = try decoded(encoded(literal))
        #expect(decimal == Decimal(string: "19.99"))
    }

    @Test func `a decimal with more digits is refused as a number`() throws {
        for text in ["0.12345678901234567890", "9223372036854775808", "1234567890123456.78"] {
            let decimal = try #require(Decimal(string: text))
            #expect(throws: EncodingError.self) { try encoded(decimal) }
            let string = try encoded(decimal, ValueCoding(decimals: .string))
            #expect(try decoded(string) == decimal)
        }
        #expect(throws: EncodingError.self) { try encoded(Decimal.nan) }
        for text in ["", "x", "1x", "0x10", "1 ", "nan", "1e"] as [Value] {
            #expect(throws: DecodingError.self) { try decoded(text, Decimal.self) }
        }
        #expect(throws: DecodingError.self) { try decoded(.float(.infinity), Decimal.self) }
    }

    @Test func `a duration is a whole number of its unit`() throws {
        let duration = Duration.milliseconds(1_500)
        #expect(try encoded(duration) == 1_500_000_000)
        #expect(try encoded(duration, ValueCoding(durations: .milliseconds)) == 1_500)
        #expect(throws: EncodingError.self) {
            try encoded(duration, ValueCoding(durations: .seconds))
        }
        #expect(throws: EncodingError.self) { try encoded(Duration(attosecondsComponent: 1)) }
        #expect(throws: EncodingError.self) { try encoded(Duration.seconds(Int64.max)) }
        for form in [ValueCoding.Durations.nanoseconds, .milliseconds, .seconds] {
            let coding = ValueCoding(durations: form)
            let whole = Duration.seconds(-7_200)
            #expect(try decoded(encoded(whole, coding), Duration.self, coding) == whole)
        }
    }

    @Test func `bytes, texts and links keep their content`() throws {
        let data = Data([1, 2, 255])
        #expect(try encoded(data) == .bytes([1, 2, 255]))
        #expect(try encoded(data).data == data)
        #expect(try decoded(.bytes([1, 2, 255])) == data)
        #expect(try decoded([1, 2, 255]) == data)
        let link = try #require(URL(string: "https://example.com/a?b=c"))
        #expect(try encoded(link) == "https://example.com/a?b=c")
        #expect(try decoded("https://example.com/a?b=c") == link)
        let id = UUID()
        #expect(try encoded(id) == .string(id.uuidString))
        #expect(try decoded(.string(id.uuidString)) == id)
        #expect(throws: DecodingError.self) { try decoded("x", UUID.self) }
    }
}

extension Duration {
    fileprivate init(attosecondsComponent: Int64) {
        self.init(secondsComponent: 0, attosecondsComponent: attosecondsComponent)
    }
}
