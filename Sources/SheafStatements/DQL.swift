public import SheafDocument
import SheafQuery
import SheafStorage

/// A statement with its interpolated values.
///
///     let query: DQL = "SELECT * FROM cars WHERE color = \(color) AND mileage < \(limit)"
///
/// An interpolated value is an argument: it never becomes part of the text, so no value can change
/// what a statement does, and it needs no quotes. It can be any `Encodable`; nil is NULL. A value
/// that cannot be encoded, or is interpolated where no argument is allowed, is an error when the
/// query runs.
///
/// Two labels interpolate something other than a value:
///
///     "SELECT \(identifier: field) FROM cars"     // a name, quoted in backticks
///     "SELECT * FROM cars \(part: order)"         // a fragment of a statement, itself a `DQL`
///
/// A `String` does not convert to a query, because values could have been spliced into it. Use
/// `DQL(verbatim:)` for a statement that was read from elsewhere.
public struct DQL: Sendable, ExpressibleByStringInterpolation {
    /// The text that is parsed, in which `:$1` stands for the first interpolated value, and so on.
    public private(set) var text: String

    /// The interpolations in the text, in order.
    private(set) var interpolations: [InsertedPiece] = []

    /// The interpolated values, in order.
    var arguments: [InterpolatedValue] = []

    /// Creates a query with exactly this text; its arguments must be named, as in `:color`.
    public init(verbatim text: String) {
        self.text = text
    }

    /// Creates a statement from a literal without interpolated values.
    public init(stringLiteral text: String) {
        self.text = text
    }

    /// Creates a statement from a literal with interpolated values.
    public init(stringInterpolation: StringInterpolation) {
        self = stringInterpolation.query
    }
}

extension DQL: CustomStringConvertible {
    /// The text of the statement, without the values.
    public var description: String { text }
}

extension DQL {
    /// The builder of a query from an interpolated literal.
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var query = DQL(verbatim: "")

        /// Creates a builder without text, with room for a literal.
        public init(literalCapacity: Int, interpolationCount: Int) {
            query.text.reserveCapacity(literalCapacity + 4 * interpolationCount)
        }

        /// Appends text of the statement.
        public mutating func appendLiteral(_ text: String) {
            query.text += text
        }

        /// Appends a value as an argument.
        public mutating func appendInterpolation(_ value: Value) {
            query.append(.fixed(Argument(value)))
        }

        /// Appends a string as an argument.
        public mutating func appendInterpolation(_ text: String) {
            query.append(.fixed(.value(.string(text))))
        }

        /// Appends a string as an argument.
        public mutating func appendInterpolation(_ text: Substring) {
            query.append(.fixed(.value(.string(String(text)))))
        }

        /// Appends an encoded value as an argument.
        public mutating func appendInterpolation<Source: Encodable>(_ source: Source) {
            query.append(InterpolatedValue(encoding: source))
        }

        /// Appends an encoded value as an argument, which is NULL if the value is nil.
        public mutating func appendInterpolation<Source: Encodable>(_ source: Source?) {
            query.append(source.map { InterpolatedValue(encoding: $0) } ?? .fixed(.value(.null)))
        }

        /// Appends a name in backticks, which is parsed as one name whatever it contains.
        public mutating func appendInterpolation(identifier name: String) {
            query.append(name: name)
        }

        /// Appends a fragment of a statement with its interpolated values.
        ///
        ///     let order: DQL = isDescending ? "ORDER BY year DESC" : "ORDER BY year"
        public mutating func appendInterpolation(part: DQL) {
            query.append(part)
        }
    }

    fileprivate mutating func append(_ argument: InterpolatedValue) {
        arguments.append(argument)
        append(":" + Self.name(ofArgument: arguments.count), as: .value)
    }

    fileprivate mutating func append(name: String) {
        append(NameSpelling.quoted(name), as: .name)
    }

    private mutating func append(_ piece: String, as kind: InsertedPiece.Kind) {
        let start = text.utf8.count
        text += piece
        interpolations.append(InsertedPiece(kind, at: SourceRange(start, text.utf8.count)))
    }

    /// Appends another query, renumbering its arguments after the existing ones.
    fileprivate mutating func append(_ part: DQL) {
        let bytes = part.text.utf8
        var values = part.arguments[...]
        var end = bytes.startIndex
        var endOffset = 0
        for piece in part.interpolations {
            let start = bytes.index(end, offsetBy: piece.range.lower - endOffset)
            text += part.text[end..<start]
            end = bytes.index(start, offsetBy: piece.range.upper - piece.range.lower)
            endOffset = piece.range.upper
            switch piece.kind {
            case .value: if let value = values.popFirst() { append(value) }
            case .name: append(String(part.text[start..<end]), as: .name)
            }
        }
        text += part.text[end...]
    }

    /// Returns the name of an interpolated argument, which is unlikely to be written by hand.
    static func name(ofArgument number: Int) -> String { "$\(number)" }
}
