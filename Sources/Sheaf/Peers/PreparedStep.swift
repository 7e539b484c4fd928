import SheafBytes
import SheafDocument
import SheafSync

/// What a peer has sent to be written all at once, checked and in the numbers of this store.
struct PreparedStep: Sendable {
    let generation: UInt64
    let documents: DocumentPile
    /// The state of the other side that this side has then.
    let commit: UInt64
    /// Who wrote it first, and when; none where that is several.
    let stamp: Stamp?
    /// The key of the sender, where its rights are limited: the tokens that it brings are unproven.
    let bringer: [UInt8]?
    /// Random number of the connection on which the step was received.
    let connection: UInt64
    /// Periods without writes of the site of the peer, as the peer had reported them before the step.
    let pauses: [WritePause]
    /// Whether it is only the beginning of what belongs to that commit.
    let isCut: Bool
    /// How many bytes came for it, for which there is credit when it was applied.
    let length: Int
}

extension SyncHost {
    /// Checks what came, and makes it what it is to be here; so nothing of that is left to be done while
    /// others wait to write.
    func prepare(
        _ step: ShippedStep, on link: Link, onto pile: inout DocumentPile
    ) throws(EngineError) {
        link.heard.update(from: step.names, to: queries.documents.newestDirectory.names)
        for commit in step.commits {
            for document in commit.documents {
                do throws(Malformed) {
                    try prepare(document, on: link, onto: &pile)
                } catch {
                    throw .received(error)
                }
            }
        }
    }

    private func prepare(
        _ shipped: ShippedDocument, on link: Link, onto pile: inout DocumentPile
    ) throws(Malformed) {
        // An id that is spelled in two ways would be two documents on one side, and one on another.
        guard try DocumentID.isKey(shipped.id) else {
            throw .invalid("an id that is not spelled as keys are", at: 0)
        }
        let outcome = try shipped.bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
            let document = try EncodedDocument(bytes)
            guard document.isPartial == (shipped.form == .delta) else {
                throw .invalid("a document of another form than it was said to have", at: 0)
            }
            guard !document.isRemnant else {
                throw .invalid("a document that neither is nor was deleted", at: 0)
            }
            return try translated(document, on: link)
        }
        guard let bytes = outcome.bytes else { throw .invalid("a name without a number", at: 0) }
        var marks: DocumentPile.Marks = shipped.form == .delta ? .isPartial : []
        if case .patched = outcome {} else { marks.insert(.maySpellNames) }
        let names = link.heard.target
        try bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
            if try EncodedDocument(bytes).validateAndLookForTokens(names) {
                marks.insert(.hasTokens)
            }
            pile.add(
                shipped.collection, id: shipped.id, marks, bytes, unproven: shipped.unproven)
        }
    }

    /// The document in the numbers of the store.
    ///
    /// What has a number elsewhere was met there often enough to get one here; but from a side that may not
    /// write everything, nothing is believed before it is written.
    private func translated(
        _ document: EncodedDocument, on link: Link
    ) throws(Malformed) -> NameTranslation.Outcome {
        guard link.writable == nil else { return try link.heard.translate(document) }
        let outcome = try link.heard.translateAll(document)
        guard case .unknown = outcome else { return outcome }
        let names = queries.documents.number(try link.heard.unknownNames(of: document))
        link.heard.update(from: link.heard.source, to: names)
        return try link.heard.translate(document)
    }
}
