package import SheafBytes

/// An error of a document: of its bytes, its id, an edit, a join, or a time.
package enum DocumentError: Error, Equatable, Sendable {
    /// The bytes violate the format.
    case malformed(Malformed)
    /// The value cannot be an id.
    case id(InvalidID)
    /// The time cannot be that of a stamp.
    case time(InvalidTime)
    /// A delta whose base the other document does not cover.
    case gap
    /// Fields are nested deeper than the limit.
    case tooDeep(limit: Int)
    /// An edit of the root that does not merge an object.
    case emptyPath
    /// A value would hide a counter.
    case counter(HiddenCounter)
}

/// The reason for which a value is refused as an id.
package enum InvalidID: Hashable, Sendable {
    case float
    case null
    case tooDeep(limit: Int)
    case tooLong(byteCount: Int, limit: Int)
}

/// The reason for the refusal of a time.
package enum InvalidTime: Hashable, Sendable {
    /// The time is further ahead of the local clock than the tolerance.
    case ahead(milliseconds: UInt64, limit: UInt64)
    /// The range of times is exhausted.
    case exhausted
}

/// A counter that a value would hide until the next increment.
package struct HiddenCounter: Equatable, Sendable {
    package let path: [String]
    /// Whether the counter is of the older kind, which cannot be restarted.
    package let isOlder: Bool
    /// The value set at the counter itself; may be nil if the edit has another path.
    package let value: Value?
}

extension DocumentError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformed(let reason): "the document is damaged: \(reason)"
        case .id(let reason): "\(reason)"
        case .time(let reason): "\(reason)"
        case .gap: "a delta whose base does not match"
        case .tooDeep(let limit): "fields are nested deeper than \(limit)"
        case .emptyPath: "an edit requires a field name"
        case .counter(let counter):
            "\(counter.path.joined(separator: ".").shortened) is a counter and cannot be set"
        }
    }
}

extension InvalidID: CustomStringConvertible {
    package var description: String {
        switch self {
        case .float: "an _id must not be or contain a float; use an integer or a string"
        case .null: "an _id must not be or contain null; use a string"
        case .tooDeep(let limit):
            "arrays and objects in an _id must not be nested deeper than \(limit)"
        case .tooLong(let count, let limit):
            "an encoded _id must not exceed \(limit) bytes; this one has \(count)"
        }
    }
}

extension InvalidTime: CustomStringConvertible {
    package var description: String {
        switch self {
        case .ahead(let milliseconds, let limit):
            "the time is \(milliseconds) ms ahead of the local clock; the limit is \(limit) ms; "
                + "correct the clock of the writing device or of this one"
        case .exhausted:
            "the clock has reached its last time"
        }
    }
}

/// Runs a closure that reads a document, and converts its errors.
@inline(__always)
func onBytes<Result>(
    _ body: () throws(Malformed) -> Result
) throws(DocumentError) -> Result {
    do throws(Malformed) { return try body() } catch { throw .malformed(error) }
}
