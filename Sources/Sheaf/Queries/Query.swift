public import SheafDocument
import SheafQuery

/// A statement and the values in it.
///
///     let query: Query = "SELECT * FROM cars WHERE color = \(color) AND mileage < \(limit)"
///
/// What is interpolated is an argument: it never becomes a part of the text, so no value can change
/// what a statement does, and no quotes stand around it. It can be whatever is `Encodable`; nil is
/// NULL. A value that cannot be encoded is an error once the query is run, as is one that stands
/// where no argument can.
///
/// Two labels put in something else than a value:
///
///     "SELECT \(identifier: field) FROM cars"     // one name, in backticks, whatever it says
///     "SELECT * FROM cars \(part: order)"         // a piece of a statement, which is a `Query`
///
/// There is no conversion from `String`, which could have values spliced into it; a statement that
/// was read from somewhere is a `Query(verbatim:)`.
public struct Query: Sendable, ExpressibleByStringInterpolation {
    /// The statement as it is parsed: `:$1` stands for the first interpolated value, and so on.
    public private(set) var text: String

    /// What was put into the text, in its order.
    private(set) var pieces: [InsertedPiece] = []

    /// The values of those pieces that stand for one.
    private(set) var arguments: [Argument] = []

    /// A statement exactly as its text says; its only arguments are those with a name, as in
    /// `:color`.
    public init(verbatim text: String) {
        self.text = text
    }

    public init(stringLiteral text: String) {
        self.text = text
    }

    public init(stringInterpolation: StringInterpolation) {
        self = stringInterpolation.query
    }
}

extension Query: CustomStringConvertible {
    /// The text, without the values.
    public var description: String { text }
}

// MARK: Interpolation

extension Query {
    /// Gathers the pieces of a literal.
    public struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var query = Query(verbatim: "")

        public init(literalCapacity: Int, interpolationCount: Int) {
            query.text.reserveCapacity(literalCapacity + 4 * interpolationCount)
        }

        public mutating func appendLiteral(_ text: String) {
            query.text += text
        }

        /// Puts in an argument.
        public mutating func appendInterpolation(_ value: Value) {
            query.append(Argument(value))
        }

        /// Puts in an argument.
        public mutating func appendInterpolation(_ text: String) {
            query.append(.value(.string(text)))
        }

        /// Puts in an argument.
        public mutating func appendInterpolation(_ text: Substring) {
            query.append(.value(.string(String(text))))
        }

        /// Puts in an argument.
        public mutating func appendInterpolation<Source: Encodable>(_ source: Source) {
            query.append(Argument(encoding: source))
        }

        /// Puts in an argument, which is NULL if it is nil.
        public mutating func appendInterpolation<Source: Encodable>(_ source: Source?) {
            query.append(source.map { Argument(encoding: $0) } ?? .value(.null))
        }

        /// Puts in a name, in backticks: always one, and always a name.
        public mutating func appendInterpolation(identifier name: String) {
            query.append(name: name)
        }

        /// Puts in a piece of a statement with the values in it.
        ///
        ///     let order: Query = isDescending ? "ORDER BY year DESC" : "ORDER BY year"
        public mutating func appendInterpolation(part: Query) {
            query.append(part)
        }
    }

    fileprivate mutating func append(_ argument: Argument) {
        arguments.append(argument)
        append(":" + Self.name(ofArgument: arguments.count), as: .value)
    }

    fileprivate mutating func append(name: String) {
        var quoted = "`"
        for scalar in name.unicodeScalars {
            quoted.unicodeScalars.append(scalar)
            if scalar == "`" { quoted += "`" }
        }
        append(quoted + "`", as: .name)
    }

    private mutating func append(_ piece: String, as kind: InsertedPiece.Kind) {
        let start = text.utf8.count
        text += piece
        pieces.append(InsertedPiece(kind, at: SourceRange(start, text.utf8.count)))
    }

    /// Puts in another query, whose arguments get the numbers behind those that are here.
    fileprivate mutating func append(_ part: Query) {
        let bytes = part.text.utf8
        var values = part.arguments[...]
        var end = bytes.startIndex
        var endOffset = 0
        for piece in part.pieces {
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

    /// A dollar sign and a number, which is no name that people write.
    static func name(ofArgument number: Int) -> String { "$\(number)" }
}
