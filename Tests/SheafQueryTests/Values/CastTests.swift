import SheafDocument
import SheafQuery
import Testing

/// CAST between all types.
@Suite struct CastTests {
    private func check(_ type: CastType, _ cases: [(Value?, Value?)]) {
        for (value, expected) in cases {
            #expect(
                spelled(Operators.cast(value, to: type)) == spelled(expected),
                "\(spelled(value)) AS \(type.rawValue)")
        }
    }

    @Test func `values cast to strings`() {
        check(
            .string,
            [
                ("a", "a"), (42, "42"), (.integer(.min), "-9223372036854775808"), (2.0, "2.0"),
                (1e300, "1e+300"), (.float(.infinity), nil), (.float(.nan), nil), (true, "true"),
                (false, "false"), (.bytes([0xC3, 0xA9]), "\u{E9}"), (.bytes([0xFF]), nil),
                ([1], nil), ([:], nil), (.null, .null), (nil, nil),
            ])
    }

    @Test func `values cast to integers`() {
        check(
            .integer,
            [
                (7, 7), (2.9, 2), (-2.9, -2), (.float(0x1p63), nil),
                (.float(-0x1p63), .integer(.min)), (.float(0x1p63 - 1024), .integer(.max - 1023)),
                (.float(.nan), nil), (.float(-.infinity), nil), (true, 1), (false, 0), ("42", 42),
                ("-42", -42), ("-0", 0), ("9223372036854775807", .integer(.max)),
                ("-9223372036854775808", .integer(.min)), ("9223372036854775808", nil),
                (" 42", nil), ("42 ", nil), ("+42", nil), ("4_2", nil), ("042", nil), ("4.0", nil),
                ("1e3", nil), ("0x1F", nil), ("", nil), ("-", nil), ("٤٢", nil),
                (.bytes([0x34]), nil), ([4], nil), (["a": 4], nil), (.null, .null), (nil, nil),
            ])
    }

    @Test func `values cast to floats`() {
        check(
            .float,
            [
                (7, 7.0), (.integer(.max), .float(0x1p63)), (2.5, 2.5), (.float(.infinity), nil),
                (true, 1.0), (false, 0.0), ("2.5", 2.5), ("42", 42.0), ("1e3", 1000.0),
                ("-0.0", -0.0), ("9223372036854775808", .float(0x1p63)), ("1e-400", 0.0),
                ("1e400", nil), ("nan", nil), ("inf", nil), ("0x1p3", nil), (".5", nil),
                ("5.", nil),
                (" 5", nil), ("5\n", nil), ("05", nil), (.bytes([0x34]), nil), ([1], nil),
                (.null, .null), (nil, nil),
            ])
    }

    @Test func `values cast to booleans`() {
        check(
            .boolean,
            [
                (true, true), (false, false), (0, false), (-3, true), (0.0, false), (-0.0, false),
                (0.1, true), (.float(.nan), nil), (.float(.infinity), true), ("true", true),
                ("FALSE", false), ("yes", nil), (" true", nil), ("", nil), (.bytes([1]), nil),
                ([true], nil), ([:], nil), (.null, .null), (nil, nil),
            ])
    }

    @Test func `values cast to bytes`() {
        check(
            .binary,
            [
                (.bytes([1]), .bytes([1])), ("\u{E9}", .bytes([0xC3, 0xA9])), ("", .bytes([])),
                (1, nil), (1.5, nil), (true, nil), ([1], nil), ([:], nil), (.null, .null),
                (nil, nil),
            ])
    }

    @Test func `a number survives a cast to a string and back`() {
        for value in EdgeValues.all where value?.kind == .number {
            guard let text = Operators.cast(value, to: .string) else { continue }
            if case .integer = value {
                #expect(Operators.cast(text, to: .integer) == value)
            } else {
                #expect(spelled(Operators.cast(text, to: .float)) == spelled(value))
            }
        }
    }

    @Test func `a cast of any value to any type causes no trap`() {
        for value in EdgeValues.all {
            for type in CastType.allCases {
                let result = Operators.cast(value, to: type)
                let again = Operators.cast(result, to: type)
                #expect(spelled(again) == spelled(result), "\(spelled(value)) AS \(type)")
            }
        }
    }
}
