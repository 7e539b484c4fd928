import Sheaf

/// A document as it was when it was read.
public final class DittoDocument: Sendable {
    let content: Object

    init(_ content: Object) {
        self.content = content
    }

    /// The id of the document.
    public var id: DittoDocumentID { DittoDocumentID(content["_id"] ?? .null) }

    /// The fields as Foundation has them.
    public var value: [String: Any?] { content.dittoValue }

    /// A field, to look at or to go on from.
    public subscript(key: String) -> DittoDocumentPath { DittoDocumentPath(found: content[key]) }
}

/// A place in a document.
public final class DittoDocumentPath: DittoReadablePath, Sendable {
    private let found: Value?

    init(found: Value?) {
        self.found = found
    }

    public var value: Any? { found?.foundationValue }

    /// A field of the object that is here.
    public subscript(key: String) -> DittoDocumentPath {
        DittoDocumentPath(found: found?.element(at: .name(key)))
    }

    /// An element of the array that is here.
    public subscript(index: Int) -> DittoDocumentPath {
        DittoDocumentPath(found: found?.element(at: .index(index)))
    }
}

/// A place in a document, whose value can be asked for in many types.
public protocol DittoReadablePath {
    /// What is there as Foundation has it; nil where nothing is.
    var value: Any? { get }
}

extension DittoReadablePath {
    /// Whether something is there, be it null.
    public var exists: Bool { value != nil }
    /// What is there, if it is a text.
    public var string: String? { value as? String }
    /// The text that is there, or an empty one.
    public var stringValue: String { string ?? "" }
    /// What is there, if it is a boolean.
    public var bool: Bool? { value as? Bool }
    /// The boolean that is there, or false.
    public var boolValue: Bool { bool ?? false }
    /// What is there, if it is a whole number.
    public var int: Int? { value as? Int }
    /// The whole number that is there, or zero.
    public var intValue: Int { int ?? 0 }
    /// What is there, if it is a number.
    public var double: Double? { value as? Double }
    /// The number that is there, or zero.
    public var doubleValue: Double { double ?? 0 }
    /// What is there, if it is an array.
    public var array: [Any?]? { value as? [Any] }
    /// The array that is there, or an empty one.
    public var arrayValue: [Any?] { array ?? [] }
    /// What is there, if it is an object.
    public var dictionary: [String: Any?]? { value as? [String: Any] }
    /// The object that is there, or an empty one.
    public var dictionaryValue: [String: Any?] { dictionary ?? [:] }
}
