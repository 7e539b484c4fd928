import SheafBytes

/// A reference from a document to an attachment: its id, its length, and metadata.
///
///     try await store.execute(
///         "UPDATE cars SET photo = :photo WHERE _id = :id",
///         ["photo": attachment.token.value, "id": "a"])
///
/// It is stored as an ATTACHMENT, unless the field is declared with another type or is in an array.
public struct AttachmentToken: Hashable, Sendable {
    /// The hash of the file, which identifies it on all peers.
    public let id: AttachmentID
    /// Length of the file in bytes.
    public let length: Int
    /// Texts that were stored with the file, such as a name or a media type.
    public let metadata: [String: String]

    /// Maximum length of a file in bytes: 64 GiB.
    package static let maximumLength = 1 << 36

    /// Maximum number of unproven tokens recorded for one change of a document.
    package static let maximumUnproven = 1_024

    /// Maximum number of bytes of all names and texts in the metadata.
    public static let maximumMetadataLength = 16_384

    package init(id: AttachmentID, length: Int, metadata: [String: String]) {
        self.id = id
        self.length = length
        self.metadata = metadata
    }

    /// Reads a token from the value of a field; throws if the value is no token.
    public init(_ value: Value) throws {
        try self.init(reading: value)
    }

    private init(reading value: Value) throws(StoreError) {
        guard case .object(let object) = value else {
            throw Self.refusal("it is \(value.kind), not object")
        }
        guard case .string(let text)? = object["id"] else {
            throw Self.refusal("it has no string `id`")
        }
        guard let id = AttachmentID(text) else {
            throw Self.refusal("its `id` is not 64 hexadecimal digits")
        }
        guard case .integer(let number)? = object["len"] else {
            throw Self.refusal("it has no integer `len`")
        }
        guard let length = Int(exactly: number), 0...Self.maximumLength ~= length else {
            throw Self.refusal("its `len` is \(number), not from 0 to \(Self.maximumLength)")
        }
        self.init(id: id, length: length, metadata: try Self.metadata(object["metadata"]))
    }

    private static func refusal(_ reason: String) -> StoreError {
        StoreError(
            .argument, "the value is not an attachment token: \(reason)",
            hint: "a token is the value of an ATTACHMENT field, or of an \(AttachmentToken.self)")
    }

    private static func metadata(_ value: Value?) throws(StoreError) -> [String: String] {
        guard let value else { return [:] }
        guard case .object(let object) = value else {
            throw refusal("its `metadata` is not an object")
        }
        var metadata: [String: String] = [:]
        for field in object {
            guard case .string(let text) = field.value else {
                throw refusal("its `metadata` has a value that is not a string")
            }
            metadata[field.name] = text
        }
        guard length(of: metadata) <= maximumMetadataLength else {
            throw refusal("its `metadata` is longer than \(maximumMetadataLength) bytes")
        }
        return metadata
    }

    package static func length(of metadata: [String: String]) -> Int {
        metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count }
    }

    /// The token as an argument of a statement.
    public var value: Value {
        var object: Object = ["id": .string(id.description), "len": .integer(Int64(length))]
        if !metadata.isEmpty {
            object["metadata"] = .object(Object(metadata.map { ($0.key, Value.string($0.value)) }))
        }
        return .object(object)
    }
}

extension AttachmentToken: Codable {
    /// Decodes a token from the object that `value` returns.
    public init(from decoder: any Decoder) throws {
        do throws(StoreError) {
            self = try AttachmentToken(reading: try Self.value(from: decoder))
        } catch {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: error.message))
        }
    }

    private static func value(from decoder: any Decoder) throws(StoreError) -> Value {
        do { return try Value(from: decoder) } catch { throw refusal("\(error)".shortened) }
    }

    /// Encodes the token as the object that `value` returns.
    public func encode(to encoder: any Encoder) throws {
        try value.encode(to: encoder)
    }
}
