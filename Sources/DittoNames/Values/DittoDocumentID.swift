import Foundation
import Sheaf

/// The id of a document: a text, a number, a boolean, an array or an object.
public struct DittoDocumentID: Hashable, Sendable {
    let sheafValue: Value

    init(_ value: Value) {
        sheafValue = value
    }

    /// The id that a value of Foundation stands for; what can be no id is refused where it is used.
    public init(value: Any) {
        sheafValue = (try? Value(bridging: value)) ?? .null
    }

    /// The id as Foundation has it.
    public var value: Any { sheafValue.foundationValue }

    /// The id, if it is a text.
    public var string: String? { value as? String }

    /// The id, if it is a text, and an empty text otherwise.
    public var stringValue: String { string ?? "" }

    /// The id, if it is an integer.
    public var int: Int? {
        if case .integer(let value) = sheafValue { Int(exactly: value) } else { nil }
    }

    /// The id, if it is an integer, and zero otherwise.
    public var intValue: Int { int ?? 0 }

    /// The id as it stands in JSON: texts are in quotes.
    public func toString() -> String { sheafValue.json }
}

extension DittoDocumentID: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByBooleanLiteral, CustomStringConvertible
{
    public init(stringLiteral value: String) { self.init(.string(value)) }
    public init(integerLiteral value: Int64) { self.init(.integer(value)) }
    public init(booleanLiteral value: Bool) { self.init(.bool(value)) }
    public var description: String { toString() }
}
