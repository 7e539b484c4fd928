import SheafBytes
import SheafDocument
import SheafEngine
import SheafSync

/// A translation of the name numbers of a sender to those of the store.
struct ReceivedNames {
    private var translation = NameTranslation()

    /// Validates documents, and adds them to `buffer` with the name numbers of the store.
    ///
    /// With `numbersNames`, names that have a number at the sender get one in the store: they are
    /// frequent there.
    mutating func translate(
        _ documents: [ShippedDocument], from names: NameTable, _ engine: DocumentEngine,
        numbersNames: Bool, into buffer: inout SpillBuffer
    ) throws(EngineError) {
        translation.update(from: names, to: engine.newestCatalog.names)
        for document in documents {
            do throws(Malformed) {
                try translate(document, engine, numbersNames, into: &buffer)
            } catch {
                throw .invalidDocument(error)
            }
        }
    }

    private mutating func translate(
        _ shipped: ShippedDocument, _ engine: DocumentEngine, _ numbersNames: Bool,
        into buffer: inout SpillBuffer
    ) throws(Malformed) {
        // Two encodings of one id would be two documents on one side and one document on the other.
        guard try DocumentID.isKey(shipped.id) else {
            throw .invalid("a document id that is not canonically encoded", at: 0)
        }
        let outcome = try shipped.bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
            let document = try EncodedDocument(bytes)
            guard document.isPartial == (shipped.form == .delta) else {
                throw .invalid("a document whose form differs from the declared form", at: 0)
            }
            guard !document.isRemnant else {
                throw .invalid("a remnant of an evicted document", at: 0)
            }
            return try translated(document, engine, numbersNames)
        }
        guard let bytes = outcome.bytes else {
            throw .invalid("a field name without a number", at: 0)
        }
        var marks: SpillBuffer.Marks = shipped.form == .delta ? .isPartial : []
        if case .patched = outcome {} else { marks.insert(.maySpellNames) }
        let names = translation.target
        try bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
            if try EncodedDocument(bytes).validateAndFindTokens(names) {
                marks.insert(.hasTokens)
            }
            buffer.add(
                shipped.collection, id: shipped.id, marks, bytes, unproven: shipped.unproven)
        }
    }

    private mutating func translated(
        _ document: EncodedDocument, _ engine: DocumentEngine, _ numbersNames: Bool
    ) throws(Malformed) -> NameTranslation.Outcome {
        guard numbersNames else { return try translation.translate(document) }
        let outcome = try translation.translateAll(document)
        guard case .unknown = outcome else { return outcome }
        let names = engine.assignNumbers(to: try translation.unknownNames(of: document))
        translation.update(from: translation.source, to: names)
        return try translation.translate(document)
    }
}
