import SheafAttachments
import SheafBytes
import SheafDocument
import SheafEngine
import SheafReplication

extension FullRecord {
    /// The reason why a line is invalid.
    struct Refusal: Error {
        let reason: String

        init(_ reason: String) {
            self.reason = reason
        }
    }

    /// Decodes a line.
    init(_ line: UnsafeRawBufferPointer) throws(Refusal) {
        let value: Value
        do throws(JSONError) { value = try JSONReader.read(line) } catch {
            throw Refusal("column \(error.column): \(error.explanation)")
        }
        guard case .object(let object) = value else { throw Refusal("expected a JSON object") }
        let fields = FullFields(object)
        switch try fields.text(FullWord.type) {
        case FullWord.header: self = .header(version: try fields.integer(FullWord.version))
        case FullWord.index: self = try Self.index(fields)
        case FullWord.attachment: self = .attachment(try FullAttachment(fields))
        case FullWord.chunk:
            self = .chunk(
                number: try fields.count(FullWord.number), bytes: try fields.bytes(FullWord.bytes))
        case FullWord.document: self = .document(try FullDocument(fields))
        case FullWord.end: self = .end(try FullSummary(fields))
        case let other: throw Refusal("unknown type '\(other.shortened)'")
        }
    }

    private static func index(_ fields: FullFields) throws(Refusal) -> FullRecord {
        var decoded: [IndexDefinition.Field] = []
        for element in try fields.array(FullWord.fields) {
            guard case .object(let object) = element else {
                throw Refusal("\(FullWord.fields) must contain objects")
            }
            let field = FullFields(object)
            var path: [String] = []
            for name in try field.array(FullWord.path) {
                guard case .string(let name) = name else {
                    throw Refusal("\(FullWord.path) must contain strings")
                }
                path.append(name)
            }
            guard case .bool(let isDescending)? = object[FullWord.descending] else {
                throw Refusal("\(FullWord.descending) must be true or false")
            }
            decoded.append(IndexDefinition.Field(path, isDescending: isDescending))
        }
        return .index(
            collection: try fields.text(FullWord.collection), name: try fields.text(FullWord.name),
            fields: decoded)
    }
}

extension FullAttachment {
    fileprivate init(_ fields: FullFields) throws(FullRecord.Refusal) {
        id = try fields.attachmentID(try fields.text(FullWord.id), FullWord.id)
        length = try fields.count(FullWord.length)
        hashes = try fields.bytes(FullWord.hashes)
        guard ChunkList(length: length, hashes: hashes)?.id == id else {
            throw FullRecord.Refusal(
                "\(FullWord.length) and \(FullWord.hashes) are not those of the attachment \(id)")
        }
    }
}

extension FullDocument {
    fileprivate init(_ fields: FullFields) throws(FullRecord.Refusal) {
        collection = try fields.text(FullWord.collection)
        guard 1...DocumentAddress.maximumCollectionLength ~= collection.utf8.count else {
            throw FullRecord.Refusal(
                "the name of the collection must have 1 to "
                    + "\(DocumentAddress.maximumCollectionLength) bytes")
        }
        key = try fields.bytes(FullWord.key)
        state = try fields.bytes(FullWord.state)
        do throws(Malformed) {
            guard try DocumentID.isKey(key) else {
                throw Malformed.invalid("an id that is not canonically encoded", at: 0)
            }
        } catch {
            throw FullRecord.Refusal("\(FullWord.key) is not the key of a document: \(error)")
        }
        unproven = try fields.has(FullWord.unproven) ? fields.attachmentIDs(FullWord.unproven) : []
        if fields.has(FullWord.value) {
            value = try fields.object(FullWord.value)
        } else {
            value = nil
        }
        try check()
    }

    /// Throws unless the state is valid and `value` is its visible content.
    private func check() throws(FullRecord.Refusal) {
        let visible: Object?
        do throws(Malformed) {
            visible = try state.span.withUnsafeBytes { (bytes) throws(Malformed) in
                let document = try EncodedDocument(bytes)
                try document.validate(NameTable())
                guard !document.isPartial, !document.isRemnant, !document.hasBase else {
                    throw Malformed.invalid("not a complete state", at: 0)
                }
                var value = try document.value(NameTable())
                if value != nil { value?["_id"] = try DocumentID.id(of: key) }
                return value
            }
        } catch {
            throw FullRecord.Refusal("\(FullWord.state) is not the state of a document: \(error)")
        }
        guard let value else { return }
        guard let visible, Value.object(visible).json == Value.object(value).json else {
            throw FullRecord.Refusal(
                "\(FullWord.value) differs from \(FullWord.state), which alone is imported; to "
                    + "change documents, import their values from a file of JSON lines")
        }
    }

    /// Whether the line is that of a tombstone.
    var isTombstone: Bool {
        state.span.withUnsafeBytes { bytes in
            !((try? EncodedDocument(bytes).exists()) ?? false)
        }
    }
}

extension FullSummary {
    fileprivate init(_ fields: FullFields) throws(FullRecord.Refusal) {
        documents = try fields.count(FullWord.documents)
        tombstones = try fields.count(FullWord.tombstones)
        attachments = try fields.count(FullWord.attachments)
        indexes = try fields.count(FullWord.indexes)
        let text = try fields.text(FullWord.checksum)
        guard let sum = ChecksumSum(text) else {
            throw FullRecord.Refusal("\(FullWord.checksum) must be 32 hexadecimal digits")
        }
        checksum = sum
    }
}

/// The fields of a line.
private struct FullFields {
    private let object: Object

    init(_ object: Object) {
        self.object = object
    }

    func has(_ name: String) -> Bool { object[name] != nil }

    private func refusal(_ name: String, _ expected: String) -> FullRecord.Refusal {
        FullRecord.Refusal(
            has(name)
                ? "the field \(name) must be \(expected)" : "the field \(name) is missing")
    }

    func text(_ name: String) throws(FullRecord.Refusal) -> String {
        guard case .string(let text)? = object[name] else { throw refusal(name, "a string") }
        return text
    }

    func integer(_ name: String) throws(FullRecord.Refusal) -> Int64 {
        guard case .integer(let number)? = object[name] else { throw refusal(name, "an integer") }
        return number
    }

    func count(_ name: String) throws(FullRecord.Refusal) -> Int {
        let number = try integer(name)
        guard number >= 0, let count = Int(exactly: number) else {
            throw refusal(name, "a non-negative integer")
        }
        return count
    }

    func array(_ name: String) throws(FullRecord.Refusal) -> [Value] {
        guard case .array(let values)? = object[name] else { throw refusal(name, "an array") }
        return values
    }

    func object(_ name: String) throws(FullRecord.Refusal) -> Object {
        guard case .object(let inner)? = object[name] else { throw refusal(name, "an object") }
        return inner
    }

    func bytes(_ name: String) throws(FullRecord.Refusal) -> [UInt8] {
        guard let bytes = Base64.bytes(try text(name)) else { throw refusal(name, "Base64") }
        return bytes
    }

    func attachmentID(
        _ text: String, _ name: String
    ) throws(FullRecord.Refusal) -> AttachmentID {
        guard let id = AttachmentID(text) else {
            throw refusal(name, "64 lowercase hexadecimal digits")
        }
        return id
    }

    func attachmentIDs(_ name: String) throws(FullRecord.Refusal) -> [[UInt8]] {
        var ids: [[UInt8]] = []
        for value in try array(name) {
            guard case .string(let text) = value else { throw refusal(name, "strings") }
            ids.append(try attachmentID(text, name).bytes)
        }
        return ids
    }
}
