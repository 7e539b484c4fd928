import SheafBytes
import SheafDocument
package import SheafEngine
import SheafStatements
import SheafSync

/// A batch received from a peer and validated, to be written in one commit.
///
/// Its documents have the field-name numbers of this store.
package struct PreparedStep: Sendable {
    let generation: UInt64
    package let documents: SpillBuffer
    /// The commit of the peer whose state this store has once the batch is applied.
    package let commit: UInt64
    /// The stamp of the original write; nil if the batch contains several writes.
    let stamp: Stamp?
    /// The key of a sender with limited rights, whose tokens are unproven; otherwise nil.
    let senderKey: [UInt8]?
    /// Random number of the connection on which the batch was received.
    package let connection: UInt64
    /// The write pauses of the peer's site, as reported before the batch.
    let pauses: [WritePause]
    /// Whether further batches belong to the same commit.
    let isCut: Bool
    /// Number of bytes received, credited to the sender when the batch is applied.
    let length: Int
}

extension Replicator {
    /// Validates the received documents and translates their field names.
    ///
    /// Doing so before the transaction keeps the writer lock short.
    func prepare(
        _ step: ShippedStep, on connection: Connection, onto pile: inout SpillBuffer
    ) throws(EngineError) {
        connection.nameTranslation.update(
            from: step.names, to: queries.documents.newestCatalog.names)
        for commit in step.commits {
            for document in commit.documents {
                do throws(Malformed) {
                    try prepare(document, on: connection, onto: &pile)
                } catch {
                    throw .invalidDocument(error)
                }
            }
        }
    }

    private func prepare(
        _ shipped: ShippedDocument, on connection: Connection, onto pile: inout SpillBuffer
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
            return try translated(document, on: connection)
        }
        guard let bytes = outcome.bytes else {
            throw .invalid("a field name without a number", at: 0)
        }
        var marks: SpillBuffer.Marks = shipped.form == .delta ? .isPartial : []
        if case .patched = outcome {} else { marks.insert(.maySpellNames) }
        let names = connection.nameTranslation.target
        try bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
            if try EncodedDocument(bytes).validateAndFindTokens(names) {
                marks.insert(.hasTokens)
            }
            pile.add(
                shipped.collection, id: shipped.id, marks, bytes, unproven: shipped.unproven)
        }
    }

    /// Translates a document to the field-name numbers of this store.
    ///
    /// A name with a number at the sender is frequent there, so it gets a local number. A peer with
    /// limited rights cannot cause this before its document is accepted.
    private func translated(
        _ document: EncodedDocument, on connection: Connection
    ) throws(Malformed) -> NameTranslation.Outcome {
        guard connection.access.writable == nil else {
            return try connection.nameTranslation.translate(document)
        }
        let outcome = try connection.nameTranslation.translateAll(document)
        guard case .unknown = outcome else { return outcome }
        let names = queries.documents.assignNumbers(
            to: try connection.nameTranslation.unknownNames(of: document))
        connection.nameTranslation.update(from: connection.nameTranslation.source, to: names)
        return try connection.nameTranslation.translate(document)
    }
}
