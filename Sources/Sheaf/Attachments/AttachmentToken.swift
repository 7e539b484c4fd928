import SheafBytes
import SheafDocument

/// What a document says of an attachment: what it is called, how long it is, and what its writer
/// thinks of it.
///
///     try await store.execute(
///         "UPDATE cars SET photo = :photo WHERE _id = :id",
///         ["photo": attachment.token.value, "id": "a"])
///
/// It is stored as an ATTACHMENT, unless another type is declared for the field, or it lies in an array.
public struct AttachmentToken: Hashable, Sendable {
    public let id: AttachmentID
    /// The bytes of the file.
    public let length: Int
    public let metadata: [String: String]

    /// How many bytes all names and texts of the metadata may have together.
    public static let maximumMetadataLength = 16_384

    init(id: AttachmentID, length: Int, metadata: [String: String]) {
        self.id = id
        self.length = length
        self.metadata = metadata
    }

    /// Reads what a document has in a field for attachments; throws where it is no token.
    public init(_ value: Value) throws {
        do throws(Refusal) {
            self = try AttachmentToken(reading: value)
        } catch {
            throw StoreError(
                .argument, "this is no token of an attachment: \(error.reason)",
                hint: "a token is the value of an ATTACHMENT field, or of \(AttachmentToken.self)")
        }
    }

    /// What is wrong with a value.
    struct Refusal: Error {
        let reason: String
    }

    init(reading value: Value) throws(Refusal) {
        guard case .object(let object) = value else {
            throw Refusal(reason: "it is \(value.kind), and no object")
        }
        guard case .string(let text)? = object["id"] else {
            throw Refusal(reason: "it has no text id")
        }
        guard let id = AttachmentID(text) else {
            throw Refusal(reason: "its id is not 64 hexadecimal digits")
        }
        guard case .integer(let number)? = object["len"] else {
            throw Refusal(reason: "it has no integer len")
        }
        guard let length = Int(exactly: number), 0...ChunkList.maximumLength ~= length else {
            throw Refusal(
                reason: "its len is \(number), and not from 0 to \(ChunkList.maximumLength)")
        }
        self.init(id: id, length: length, metadata: try Self.metadata(object["metadata"]))
    }

    private static func metadata(_ value: Value?) throws(Refusal) -> [String: String] {
        guard let value else { return [:] }
        guard case .object(let object) = value else {
            throw Refusal(reason: "its metadata is no object")
        }
        var metadata: [String: String] = [:]
        for field in object {
            guard case .string(let text) = field.value else {
                throw Refusal(reason: "its metadata has a value that is no text")
            }
            metadata[field.name] = text
        }
        guard length(of: metadata) <= maximumMetadataLength else {
            throw Refusal(
                reason: "its metadata is longer than \(maximumMetadataLength) bytes")
        }
        return metadata
    }

    static func length(of metadata: [String: String]) -> Int {
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
    public init(from decoder: any Decoder) throws {
        do throws(Refusal) {
            self = try AttachmentToken(reading: try Self.value(from: decoder))
        } catch {
            throw DecodingError.dataCorrupted(
                DecodingError.Context(
                    codingPath: decoder.codingPath,
                    debugDescription: "this is no token of an attachment: \(error.reason)"))
        }
    }

    private static func value(from decoder: any Decoder) throws(Refusal) -> Value {
        do { return try Value(from: decoder) } catch { throw Refusal(reason: "\(error)".shortened) }
    }

    public func encode(to encoder: any Encoder) throws {
        try value.encode(to: encoder)
    }
}
