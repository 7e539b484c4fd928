import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements
import SheafSync

/// The session of a connection, and the encoding of documents with the name numbers of each side.
struct DocumentExchange {
    var session: SyncSession
    /// The site of the peer, and the sites and write pauses reported to it.
    var sites = SiteExchange()
    /// The state of a peer with limited rights that outlives its connections; nil for other peers.
    var limitedPeer: LimitedPeer?
    /// Number reserved for the next batch if its snapshot precedes the last subscription.
    var reservedStep: UInt64?
    /// Number of documents sent since the last `drainSentCount()`.
    private var sentCount: UInt64 = 0
    /// Number of documents sent, minus those that the peer has refused.
    var refusableCount: UInt64 = 0
    /// Translation of local name numbers to those of the connection.
    private var sentNames = NameTranslation()
    /// Names that occurred once in documents sent to a peer with limited rights.
    private var seenNames: Set<[UInt8]> = []
    /// Translation of the peer's name numbers to local ones.
    private var receivedNames = NameTranslation()

    init(_ session: SyncSession) {
        self.session = session
    }

    /// Ends the session with a close message.
    mutating func end(_ code: CloseMessage.Code, _ reason: String) {
        session.end(CloseMessage(code, reason))
    }

    // MARK: Numbers of batches

    /// Returns the number of the next batch; nil if batches are numbered by commits.
    mutating func nextStepNumber() -> UInt64? {
        guard let limitedPeer else { return nil }
        if let reserved = reservedStep {
            reservedStep = nil
            return reserved
        }
        limitedPeer.stepCount += 1
        return limitedPeer.stepCount
    }

    /// Reserves and returns a number for the next batch; one of a later snapshot does not use it.
    ///
    /// Reconciled documents can be evicted locally before they are sent. If the number of their
    /// batch were above that of the subscription, the peer would assume that they are still stored,
    /// and not send them back.
    mutating func reserveStepNumber() -> UInt64 {
        guard let limitedPeer else { return 0 }
        limitedPeer.stepCount += 1
        reservedStep = limitedPeer.stepCount
        return limitedPeer.stepCount
    }

    // MARK: Sent documents

    /// Removes and returns the number of documents sent since the last call.
    mutating func drainSentCount() -> UInt64 {
        defer { sentCount = 0 }
        return sentCount
    }

    /// Adds a document to the batch.
    mutating func add(
        _ collection: String, id: ArraySlice<UInt8>, _ form: ShippedDocument.Form, _ bytes: [UInt8],
        _ unproven: [[UInt8]]
    ) {
        sentCount += 1
        refusableCount += 1
        id.withUnsafeBytes { id in
            bytes.withUnsafeBytes { session.add(collection, id: id, form, $0, unproven: unproven) }
        }
    }

    /// Sets the names of the store, from whose numbers sent documents are translated.
    mutating func prepareNames(_ names: NameTable) {
        sentNames.update(from: names, to: sentNames.target)
    }

    /// Returns a document with the name numbers of the connection; a complete one loses its base.
    mutating func encoded(_ document: EncodedDocument) throws(Malformed) -> [UInt8] {
        guard limitedPeer == nil else { return try encodedForLimited(document) }
        guard document.hasBase, !document.isPartial else { return try renumbered(document) }
        let plain = try document.settingBase(nil)
        return try plain.span.withUnsafeBytes { (bytes) throws(Malformed) in
            try renumbered(try EncodedDocument(bytes))
        }
    }

    private mutating func renumbered(_ document: EncodedDocument) throws(Malformed) -> [UInt8] {
        if let bytes = try sentNames.translateAll(document).bytes { return bytes }
        var known = sentNames.target
        for name in try sentNames.unknownNames(of: document) {
            guard session.teach(name) else { break }
            _ = known.add(name)
        }
        sentNames.update(from: sentNames.source, to: known)
        return try sentNames.translate(document).bytes ?? []
    }

    /// Returns a document in the encoding for a peer with limited rights.
    ///
    /// The name numbers of the store depend on all documents. So the connection numbers the names
    /// of the documents sent on it; a name gets its number with its second occurrence, since
    /// many names occur only once.
    private mutating func encodedForLimited(
        _ document: EncodedDocument
    ) throws(Malformed) -> [UInt8] {
        let spelled = try document.spelled(sentNames.source)
        return try spelled.span.withUnsafeBytes { (bytes) throws(Malformed) in
            let document = try EncodedDocument(bytes)
            var names: [[UInt8]] = []
            try document.forEachSpelledName { names.append(Array($0)) }
            var known = sentNames.target
            for name in names where known.number(of: name) == nil {
                guard name.count <= NameTable.maximumNameLength else { continue }
                guard seenNames.remove(name) != nil else {
                    if seenNames.count < SyncLimits.names { seenNames.insert(name) }
                    continue
                }
                guard session.teach(name) else { break }
                _ = known.add(name)
            }
            sentNames.update(from: sentNames.source, to: known)
            return try document.renamed(from: NameTable(), to: known)
        }
    }

    // MARK: Received documents

    /// Validates the documents of a batch, and adds them to `buffer` with local name numbers.
    ///
    /// Doing so before the transaction keeps the writer lock short.
    mutating func translate(
        _ step: ShippedStep, _ context: PeerContext, into buffer: inout SpillBuffer
    ) throws(EngineError) {
        receivedNames.update(
            from: step.names, to: context.queries.documents.newestCatalog.names)
        for commit in step.commits {
            // A subscription to all collections also brings documents of those that are not shared.
            for document in commit.documents
            where context.access.scopes.isShared(document.collection) {
                do throws(Malformed) {
                    try translate(document, context, into: &buffer)
                } catch {
                    throw .invalidDocument(error)
                }
            }
        }
    }

    private mutating func translate(
        _ shipped: ShippedDocument, _ context: PeerContext, into buffer: inout SpillBuffer
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
            return try translated(document, context)
        }
        guard let bytes = outcome.bytes else {
            throw .invalid("a field name without a number", at: 0)
        }
        var marks: SpillBuffer.Marks = shipped.form == .delta ? .isPartial : []
        if case .patched = outcome {} else { marks.insert(.maySpellNames) }
        let names = receivedNames.target
        try bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
            if try EncodedDocument(bytes).validateAndFindTokens(names) {
                marks.insert(.hasTokens)
            }
            buffer.add(
                shipped.collection, id: shipped.id, marks, bytes, unproven: shipped.unproven)
        }
    }

    /// Translates a document to the field-name numbers of this store.
    ///
    /// A name with a number at the sender is frequent there, so it gets a local number. A peer with
    /// limited rights cannot cause this before its document is accepted.
    private mutating func translated(
        _ document: EncodedDocument, _ context: PeerContext
    ) throws(Malformed) -> NameTranslation.Outcome {
        guard context.access.writable == nil else { return try receivedNames.translate(document) }
        let outcome = try receivedNames.translateAll(document)
        guard case .unknown = outcome else { return outcome }
        let names = context.queries.documents.assignNumbers(
            to: try receivedNames.unknownNames(of: document))
        receivedNames.update(from: receivedNames.source, to: names)
        return try receivedNames.translate(document)
    }
}
