import SheafDocument
import SheafText

/// Functions on strings.
///
/// A character is a Unicode scalar: `é` may be one or two, and a flag is two. Strings are compared
/// as bytes, without normalization.
///
/// A missing argument or a wrong type yields MISSING; otherwise, NULL yields NULL, as in SQL.
/// Counts and indexes must be integers; `2.0` is not. Exceeded limits and invalid patterns or flags
/// throw an error.
extension Function {
    package static let texts: [Function] =
        measures + comparisons + [lower, upper] + parts + trims + joins + changes

    /// Creates a function of strings, with integers at the indexes in `counts`.
    static func text(
        _ name: String, _ argumentCount: ClosedRange<Int>, counts: ClosedRange<Int>? = nil,
        _ evaluate: @escaping @Sendable (TextArguments) throws(StoreError) -> Value?
    ) -> Function {
        Function(name, argumentCount) { (arguments, _) throws(StoreError) -> Value? in
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
        // `ExpressionCompiler` compiles constant patterns once and does not call this function.
        text("regexp_like", 2...6) { (arguments) throws(StoreError) -> Value? in
            let flags = (2..<max(arguments.count, 2)).map(arguments.text).joined()
            return .bool(
                try StoreError.ofPatterns { () throws(PatternError) in
                    try TextPattern.regularExpression(arguments.text(1), flags: flags)
                        .matches(arguments.text(0))
                })
        },
    ]

    private static let lower = text("lower", 1...1) { (arguments) throws(StoreError) -> Value? in
        .string(try TextBuilder.mapped(arguments.text(0)) { $0.lowercaseMapping })
    }

    private static let upper = text("upper", 1...1) { (arguments) throws(StoreError) -> Value? in
        .string(try TextBuilder.mapped(arguments.text(0)) { $0.uppercaseMapping })
    }
}

/// Arguments whose types were checked: integers at the declared indexes, strings elsewhere.
struct TextArguments: Sendable {
    let arguments: [Value?]

    var count: Int { arguments.count }

    /// Returns the string at an index declared as a string.
    func text(_ index: Int) -> String {
        guard index < count, case .string(let text)? = arguments[index] else { return "" }
        return text
    }

    /// Returns the integer at an index declared as an integer.
    func integer(_ index: Int) -> Int64 {
        guard index < count, case .integer(let value)? = arguments[index] else { return 0 }
        return value
    }

    /// Calls `body` with the bytes of two strings.
    func withBytes<Result>(
        of first: Int, _ second: Int,
        _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Result
    ) -> Result {
        text(first).withBytes { first in text(second).withBytes { body(first, $0) } }
    }
}
