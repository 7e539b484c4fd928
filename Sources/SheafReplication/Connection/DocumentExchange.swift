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
    private var sentNames = SentNames()
    /// Names that occurred once in documents sent to a peer with limited rights.
    private var seenNames: Set<[UInt8]> = []
    /// Translation of the peer's name numbers to local ones.
    private var receivedNames = ReceivedNames()

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
        sentNames.update(from: names)
    }

    /// Returns a document with the name numbers of the connection; a complete one loses its base.
    mutating func encoded(_ document: EncodedDocument) throws(Malformed) -> [UInt8] {
        guard limitedPeer == nil else { return try encodedForLimited(document) }
        return try sentNames.encoded(document, &session)
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
            for name in names where sentNames.lacks(name) {
                guard name.count <= NameTable.maximumNameLength else { continue }
                guard seenNames.remove(name) != nil else {
                    if seenNames.count < SyncLimits.names { seenNames.insert(name) }
                    continue
                }
                guard sentNames.add([name], &session) else { break }
            }
            return try document.renamed(from: NameTable(), to: sentNames.target)
        }
    }

    // MARK: Received documents

    /// Validates the documents of a batch, and adds them to `buffer` with local name numbers.
    ///
    /// Doing so before the transaction keeps the writer lock short.
    mutating func translate(
        _ step: ShippedStep, _ context: PeerContext, into buffer: inout SpillBuffer
    ) throws(EngineError) {
        for commit in step.commits {
            // A subscription to all collections also brings documents of those that are not shared.
            try receivedNames.translate(
                commit.documents.filter { context.access.scopes.isShared($0.collection) },
                from: step.names, context.queries.documents,
                // A peer with limited rights cannot number names before its document is accepted.
                numbersNames: context.access.writable == nil, into: &buffer)
        }
    }
}
