import Foundation
import Sheaf

/// The id of a document: a string, a number, a Boolean, an array or an object.
public struct DittoDocumentID: Hashable, Sendable {
    let sheafValue: Value

    init(_ value: Value) {
        sheafValue = value
    }

    /// Creates an id from a Foundation value; an invalid id is refused where it is used.
    public init(value: Any) {
        sheafValue = (try? Value(bridging: value)) ?? .null
    }

    /// The id as a Foundation value.
    public var value: Any { sheafValue.foundationValue }

    /// The id, if it is a string.
    public var string: String? { value as? String }

    /// The id, if it is a string, and an empty string otherwise.
    public var stringValue: String { string ?? "" }

    /// The id, if it is an integer.
    public var int: Int? {
        if case .integer(let value) = sheafValue { Int(exactly: value) } else { nil }
    }

    /// The id, if it is an integer, and zero otherwise.
    public var intValue: Int { int ?? 0 }

    /// Returns the id as JSON, with strings in quotes.
    public func toString() -> String { sheafValue.json }
}

extension DittoDocumentID: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, CustomStringConvertible
{
    /// Creates the id from a string literal.
    public init(stringLiteral value: String) { self.init(.string(value)) }
    /// Creates the id from an integer literal.
    public init(integerLiteral value: Int64) { self.init(.integer(value)) }
    /// Creates the id from a Boolean literal.
    public init(booleanLiteral value: Bool) { self.init(.bool(value)) }
    /// The id as JSON, with strings in quotes.
    public var description: String { toString() }
}
