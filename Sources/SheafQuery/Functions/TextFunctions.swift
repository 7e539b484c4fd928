import SheafDocument

/// The functions of texts.
///
/// - A character is a Unicode scalar: `é` may be one or two, and a flag is two. Bytes of texts are
///   never normalized, and compared as they are.
/// - MISSING or a wrong type anywhere gives MISSING; else NULL anywhere gives NULL, as in SQL.
///   Counts and places have to be integers; `2.0` is none.
/// - An error is thrown where a result would be more than a limit allows, and for patterns and
///   flags that are none: whether they are constants must not matter.
extension Function {
    package static let texts: [Function] =
        measures + comparisons + [lower, upper] + parts + trims + joins + changes

    /// A function of texts, and of integers at the places `counts`.
    static func text(
        _ name: String, _ argumentCount: ClosedRange<Int>, counts: ClosedRange<Int>? = nil,
        _ evaluate: @escaping @Sendable (TextArguments) throws(QueryError) -> Value?
    ) -> Function {
        Function(name, argumentCount) { (arguments, _) throws(QueryError) -> Value? in
            guard argumentCount ~= arguments.count else { return nil }
            var isNull = false
            for (index, argument) in arguments.enumerated() {
                let isCount = counts?.contains(index) ?? false
                switch argument {
                case .null?: isNull = true
                case .string? where !isCount, .integer? where isCount: break
                default: return nil
                }
            }
            return isNull ? .null : try evaluate(TextArguments(arguments: arguments))
        }
    }

    private static let measures = [
        text("byte_length", 1...1) { .integer(Int64($0.text(0).utf8.count)) },
        text("char_length", 1...1, characterCount),
        text("character_length", 1...1, characterCount),
    ]

    @Sendable private static func characterCount(_ arguments: TextArguments) -> Value? {
        .integer(Int64(arguments.text(0).withBytes(UTF8Walk.count)))
    }

    private static let comparisons = [
        text("contains", 2...2) { arguments in
            .bool(arguments.withBytes(of: 0, 1) { TextSearch.first($1, in: $0) != nil })
        },
        text("starts_with", 2...2) { arguments in
            .bool(arguments.withBytes(of: 0, 1) { TextSearch.stands($1, in: $0, at: 0) })
        },
        text("ends_with", 2...2) { arguments in
            .bool(
                arguments.withBytes(of: 0, 1) {
                    TextSearch.stands($1, in: $0, at: $0.count - $1.count)
                })
        },
        // The layer above compiles patterns that are the same in each row, and asks them itself.
        text("regexp_like", 2...6) { (arguments) throws(QueryError) -> Value? in
            let flags = (2..<max(arguments.count, 2)).map(arguments.text).joined()
            let pattern = try TextPattern.regularExpression(arguments.text(1), flags: flags)
            return .bool(try pattern.matches(arguments.text(0)))
        },
    ]

    private static let lower = text("lower", 1...1) { (arguments) throws(QueryError) -> Value? in
        .string(try TextBuilder.mapped(arguments.text(0)) { $0.lowercaseMapping })
    }

    private static let upper = text("upper", 1...1) { (arguments) throws(QueryError) -> Value? in
        .string(try TextBuilder.mapped(arguments.text(0)) { $0.uppercaseMapping })
    }
}

/// Arguments whose types were looked at: texts where texts are asked for, integers elsewhere.
struct TextArguments: Sendable {
    let arguments: [Value?]

    var count: Int { arguments.count }

    /// The text at a place that was declared to have one.
    func text(_ index: Int) -> String {
        guard index < count, case .string(let text)? = arguments[index] else { return "" }
        return text
    }

    /// The integer at a place that was declared to have one.
    func integer(_ index: Int) -> Int64 {
        guard index < count, case .integer(let value)? = arguments[index] else { return 0 }
        return value
    }

    /// Lends the bytes of two texts.
    func withBytes<Result>(
        of first: Int, _ second: Int,
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Result
    ) -> Result {
        text(first).withBytes { first in text(second).withBytes { body(first, $0) } }
    }
}
