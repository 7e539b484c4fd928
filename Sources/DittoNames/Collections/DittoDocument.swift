import Sheaf

/// An immutable copy of a document.
public final class DittoDocument: Sendable {
    let content: Object

    init(_ content: Object) {
        self.content = content
    }

    /// The id of the document.
    public var id: DittoDocumentID { DittoDocumentID(content["_id"] ?? .null) }

    /// The fields as Foundation values.
    public var value: [String: Any?] { content.dittoValue }

    /// Returns the path to a field.
    public subscript(key: String) -> DittoDocumentPath { DittoDocumentPath(found: content[key]) }
}

/// A path in a document.
public final class DittoDocumentPath: DittoReadablePath, Sendable {
    private let found: Value?

    init(found: Value?) {
        self.found = found
    }

    /// The value as a Foundation value; nil if there is none.
    public var value: Any? { found?.foundationValue }

    /// Returns the path to a field of the object at this path.
    public subscript(key: String) -> DittoDocumentPath {
        DittoDocumentPath(found: found?.element(at: .name(key)))
    }

    /// Returns the path to an element of the array at this path.
    public subscript(index: Int) -> DittoDocumentPath {
        DittoDocumentPath(found: found?.element(at: .index(index)))
    }
}

/// A path in a document, with typed access to its value.
public protocol DittoReadablePath {
    /// The value as a Foundation value; nil if there is none.
    var value: Any? { get }
}

extension DittoReadablePath {
    /// Whether there is a value, which may be null.
    public var exists: Bool { value != nil }
    /// The value, if it is a string.
    public var string: String? { value as? String }
    /// The value, if it is a string, and an empty string otherwise.
    public var stringValue: String { string ?? "" }
    /// The value, if it is a Boolean.
    public var bool: Bool? { value as? Bool }
    /// The value, if it is a Boolean, and false otherwise.
    public var boolValue: Bool { bool ?? false }
    /// The value, if it is an integer.
    public var int: Int? { value as? Int }
    /// The value, if it is an integer, and zero otherwise.
    public var intValue: Int { int ?? 0 }
    /// The value, if it is a number.
    public var double: Double? { value as? Double }
    /// The value, if it is a number, and zero otherwise.
    public var doubleValue: Double { double ?? 0 }
    /// The value, if it is an array.
    public var array: [Any?]? { value as? [Any] }
    /// The value, if it is an array, and an empty array otherwise.
    public var arrayValue: [Any?] { array ?? [] }
    /// The value, if it is an object.
    public var dictionary: [String: Any?]? { value as? [String: Any] }
    /// The value, if it is an object, and an empty object otherwise.
    public var dictionaryValue: [String: Any?] { dictionary ?? [:] }
}
