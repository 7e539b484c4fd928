import SheafBytes
import SheafDocument
import SheafEngine
package import SheafReplication

/// A line of a complete export (`format-spec/export.md`).
enum FullRecord {
    case header(version: Int64)
    case index(collection: String, name: String, fields: [IndexDefinition.Field])
    case attachment(FullAttachment)
    case chunk(number: Int, bytes: [UInt8])
    case document(FullDocument)
    case end(FullSummary)

    /// The version that is written, and the latest one that is read.
    static let version: Int64 = 1
}

/// The beginning of an attachment, whose chunks follow.
struct FullAttachment {
    let id: AttachmentID
    let length: Int
    /// The hashes of the chunks.
    let hashes: [UInt8]
}

/// A document or a tombstone.
struct FullDocument {
    let collection: String
    /// The encoded id.
    let key: [UInt8]
    /// The state, with all names spelled out.
    let state: [UInt8]
    /// The attachments whose tokens are unproven.
    let unproven: [[UInt8]]
    /// The visible fields with the id; nil if the document is a tombstone, or too long.
    let value: Object?

    /// Length of the JSON of a value beyond which a line does not repeat it.
    static let maximumValueLength = 8 << 20
}

/// The contents of all lines together.
package struct FullSummary: Equatable, Sendable {
    package var documents = 0
    package var tombstones = 0
    package var attachments = 0
    package var indexes = 0
    /// The checksum of the states.
    package var checksum = ChecksumSum()

    package init() {}
}

/// The words of the format.
enum FullWord {
    static let type = "type", version = "version", collection = "collection", name = "name"
    static let fields = "fields", path = "path", descending = "descending", id = "id"
    static let length = "length", hashes = "hashes", number = "number", bytes = "bytes"
    static let key = "key", state = "state", unproven = "unproven", value = "value"
    static let documents = "documents", tombstones = "tombstones", attachments = "attachments"
    static let indexes = "indexes", checksum = "checksum"

    static let header = "sheaf-export", index = "index", attachment = "attachment"
    static let chunk = "chunk", document = "document", end = "end"
}

extension FullRecord {
    /// Appends the line to a buffer.
    func append(to buffer: inout [UInt8]) {
        var writer = JSONWriter()
        swap(&writer.bytes, &buffer)
        writer.bytes.append(UInt8(ascii: "{"))
        for (index, field) in words.enumerated() {
            if index > 0 { writer.bytes.append(UInt8(ascii: ",")) }
            writer.write(text: field.0)
            writer.bytes.append(UInt8(ascii: ":"))
            writer.write(field.1)
        }
        writer.bytes.append(contentsOf: "}\n".utf8)
        swap(&writer.bytes, &buffer)
    }

    /// The fields of the line in their order; bytes are written as Base64.
    private var words: [(String, Value)] {
        switch self {
        case .header(let version):
            [(FullWord.type, .string(FullWord.header)), (FullWord.version, .integer(version))]
        case .index(let collection, let name, let fields):
            [
                (FullWord.type, .string(FullWord.index)),
                (FullWord.collection, .string(collection)), (FullWord.name, .string(name)),
                (
                    FullWord.fields,
                    .array(
                        fields.map { field in
                            [
                                FullWord.path: .array(field.path.map(Value.string)),
                                FullWord.descending: .bool(field.isDescending),
                            ]
                        })
                ),
            ]
        case .attachment(let attachment):
            [
                (FullWord.type, .string(FullWord.attachment)),
                (FullWord.id, .string(attachment.id.description)),
                (FullWord.length, .integer(Int64(attachment.length))),
                (FullWord.hashes, .bytes(attachment.hashes)),
            ]
        case .chunk(let number, let bytes):
            [
                (FullWord.type, .string(FullWord.chunk)),
                (FullWord.number, .integer(Int64(number))), (FullWord.bytes, .bytes(bytes)),
            ]
        case .document(let document): words(of: document)
        case .end(let summary):
            [
                (FullWord.type, .string(FullWord.end)),
                (FullWord.documents, .integer(Int64(summary.documents))),
                (FullWord.tombstones, .integer(Int64(summary.tombstones))),
                (FullWord.attachments, .integer(Int64(summary.attachments))),
                (FullWord.indexes, .integer(Int64(summary.indexes))),
                (FullWord.checksum, .string(summary.checksum.description)),
            ]
        }
    }

    private func words(of document: FullDocument) -> [(String, Value)] {
        var words: [(String, Value)] = [
            (FullWord.type, .string(FullWord.document)),
            (FullWord.collection, .string(document.collection)),
            (FullWord.key, .bytes(document.key)), (FullWord.state, .bytes(document.state)),
        ]
        if !document.unproven.isEmpty {
            let texts = document.unproven.map { Value.string(Self.hexadecimal($0)) }
            words.append((FullWord.unproven, .array(texts)))
        }
        if let value = document.value { words.append((FullWord.value, .object(value))) }
        return words
    }

    private static func hexadecimal(_ id: [UInt8]) -> String {
        AttachmentID(bytes: id)?.description ?? ""
    }
}
