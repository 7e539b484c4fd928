import SheafBytes

/// An encoded document that has no stamp yet.
///
/// An instance of a type, or a JSON text, is encoded once, without an `Object` in between.
package final class UnstampedDocument: Sendable {
    /// The value of the field `_id`; nil if the document has none.
    package let id: Value?
    /// Whether the encoding spells out field names.
    package let spellsNames: Bool
    /// Whether the document may contain an attachment token, which is encoded differently.
    package let mayHaveTokens: Bool
    private let bytes: [UInt8]
    private let names: NameTable

    fileprivate init(_ encoder: borrowing NewDocumentEncoder, id: Value?, _ names: NameTable) {
        self.id = id
        self.names = names
        (spellsNames, bytes) = (encoder.spellsNames, Array(encoder.bytes))
        mayHaveTokens = bytes.withUnsafeBytes { AttachmentTexts.isAny(in: $0) }
    }

    /// Returns the state of the document at a stamp.
    package func state(at stamp: Stamp) -> ChangedBytes {
        var state = bytes
        state.withUnsafeMutableBytes { NewDocumentEncoder.setStamp(stamp, at: 0, in: $0) }
        return ChangedBytes(bytes: state, isDerivable: false, spellsNames: spellsNames)
    }

    /// Returns the decoded fields, including `_id`.
    package func decoded() -> Object {
        var object = fields
        if let id { object[DocumentDecoder.idName] = id }
        return object
    }

    private var fields: Object {
        bytes.withUnsafeBytes { bytes in
            do throws(Malformed) {
                return try EncodedDocument(bytes).fields()?.value(names) ?? Object()
            } catch {
                preconditionFailure("The encoder wrote the document itself.")
            }
        }
    }
}

/// The id found in a document.
package enum FoundID: Sendable {
    case id(Value)
    case missing

    fileprivate var value: Value? {
        if case .id(let value) = self { value } else { nil }
    }
}

extension NewDocumentEncoder {
    /// Returns the document of an instance; nil if it needs `ValueEncoder`.
    package mutating func document<T: Encodable>(
        encoding source: T, _ coding: ValueCoding, _ names: NameTable
    ) -> UnstampedDocument? {
        guard let id = encode(source, coding, names) else { return nil }
        return document(id, names)
    }

    /// Returns the document of a JSON text; nil if it is invalid, too long, or no object.
    package mutating func document(json text: String, _ names: NameTable) -> UnstampedDocument? {
        let id: FoundID? = text.withRawUTF8 { text -> FoundID? in
            guard Self.beginsObject(text) else { return nil }
            do throws(JSONError) {
                let id = try encode(json: text, idName: Self.idBytes, names, isValidUTF8: true)
                return id.map { .id($0) } ?? .missing
            } catch {
                // The plan parses the text again, and reports the error.
                return nil
            }
        }
        return id.flatMap { document($0, names) }
    }

    private static let idBytes = Array(DocumentDecoder.idName.utf8)

    private static func beginsObject(_ text: UnsafeRawBufferPointer) -> Bool {
        text.first { $0 > UInt8(ascii: " ") } == UInt8(ascii: "{")
    }

    private func document(_ id: FoundID, _ names: NameTable) -> UnstampedDocument? {
        guard length <= EncodedDocument.maximumLength else { return nil }
        return UnstampedDocument(self, id: id.value, names)
    }
}
