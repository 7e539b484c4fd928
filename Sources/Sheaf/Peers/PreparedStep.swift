import SheafBytes
import SheafDocument
import SheafSync

/// What a peer has sent to be written all at once, checked and in the numbers of this store.
struct PreparedStep: Sendable {
    let generation: UInt64
    let documents: [PreparedDocument]
    /// The state of the other side that this side has then.
    let commit: UInt64
    /// Who wrote it first, and when; none where that is several.
    let stamp: Stamp?
    /// How many bytes came for it, for which there is credit when it was applied.
    let length: Int
}

/// A document that a peer has sent, checked and in the numbers of this store.
struct PreparedDocument: Sendable {
    let collection: String
    let id: [UInt8]
    /// None where nobody has written to its collection yet.
    let key: DocumentKey?
    let isPartial: Bool
    let bytes: [UInt8]
    /// Whether it may spell names that have no number.
    let maySpellNames: Bool
    /// The tokens of attachments in it.
    let tokens: [Value]

    var address: DocumentAddress { DocumentAddress(collection: collection, id: id) }
}

extension SyncHost {
    /// Checks what came, and makes it what it is to be here; so nothing of that is left to be done while
    /// others wait to write.
    func prepare(_ step: ShippedStep, on link: Link) throws(EngineError) -> [PreparedDocument] {
        let directory = queries.documents.newestDirectory
        link.heard.update(from: step.names, to: directory.names)
        var documents: [PreparedDocument] = []
        var (collection, number): (String?, UInt16?)
        for commit in step.commits {
            documents.reserveCapacity(documents.count + commit.documents.count)
            for document in commit.documents {
                if collection.map({ UTF8Order.compare($0, document.collection) }) != 0 {
                    collection = document.collection
                    number = directory.number(ofCollection: document.collection)
                }
                do throws(Malformed) {
                    documents.append(try prepare(document, number, on: link))
                } catch {
                    throw .received(error)
                }
            }
        }
        return documents
    }

    private func prepare(
        _ shipped: ShippedDocument, _ number: UInt16?, on link: Link
    ) throws(Malformed) -> PreparedDocument {
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
        var tokens: [Value] = []
        let names = link.heard.target
        try bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
            let document = try EncodedDocument(bytes)
            let isPlain = try document.validate(names)
            if !isPlain, try document.hasTokens() {
                try document.forEachToken(names) { tokens.append($0) }
            }
        }
        var maySpellNames = true
        if case .patched = outcome { maySpellNames = false }
        return PreparedDocument(
            collection: shipped.collection, id: shipped.id,
            key: number.map {
                DocumentKey(StoreKey.document(collection: $0, id: shipped.id).bytes)
            }, isPartial: shipped.form == .delta, bytes: bytes, maySpellNames: maySpellNames,
            tokens: tokens)
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
