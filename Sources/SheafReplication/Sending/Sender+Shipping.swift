import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSync

/// Batches: the next part of a long one, or one commit.
extension Sender {
    /// Sends the next part of a long batch.
    mutating func sendPart(_ context: PeerContext, on exchange: inout DocumentExchange)
        throws(EngineError)
    {
        guard let outgoing else { return }
        reportPauses(context, on: &exchange)
        // The value is moved out of the struct, so that changes do not copy it.
        self.outgoing = nil
        var rest = outgoing
        let isCut = isTooLong(outgoing, context)
        let number = outgoing.number ?? outgoing.snapshot.log.commit
        let remaining = outgoing.progress?.sentNumber
        let known = documentCount
        if !context.isLimited {
            exchange.session.beginCommit(
                number, stamp: nil, isCut: isCut, remaining: remaining)
        }
        switch outgoing.documents {
        case .keys(let keys, let next):
            let end = try send(
                keys, from: next, of: outgoing, context, on: &exchange,
                &rest.length, &rest.newestDocument)
            rest.documents = .keys(keys, next: end)
        case .matches(var ranges, var key):
            try sendMatches(
                &ranges, from: &key, of: outgoing.snapshot, context, on: &exchange,
                &rest.length, &rest.newestDocument)
            rest.documents = .matches(ranges, from: key)
        }
        let isDone = rest.isDone()
        if !context.isLimited { rest.progress?.advance(by: documentCount - known) }
        if context.isLimited {
            // The end of an iteration depends on all peers; the end of a part must not.
            guard isDone || limited.partLength >= context.limits.part else {
                self.outgoing = rest
                return
            }
            exchange.session.beginCommit(
                number, stamp: nil, isCut: isCut, remaining: remaining)
            let count = addLimitedPart(on: &exchange)
            // The estimate, too, must not depend on the end of an iteration.
            rest.progress?.advance(by: count)
        }
        exchange.session.endCommit(isContinued: !isCut && (!isDone || outgoing.isPart))
        if isDone, outgoing.isPart {
            newestDocument = rest.newestDocument
            exchange.session.endPart(number)
        } else if isCut {
            (rest.length, rest.isSplit) = (0, true)
            // The evaluation of newer commits may pause.
            defer { self.outgoing = rest }
            try sendNewerCommits(than: outgoing, number: number, context, on: &exchange)
        } else if isDone {
            sent = outgoing.snapshot.log.commit
            echoDue = nil
            recordSent(outgoing, context)
            try recordDelivery(of: rest)
        } else {
            self.outgoing = rest
        }
    }

    /// Adds the documents of a full part for a peer with limited rights; returns their number.
    private mutating func addLimitedPart(on exchange: inout DocumentExchange) -> Int {
        let documents = limited.removePart()
        for document in documents {
            exchange.add(
                document.collection, id: document.id[...], document.form, document.bytes,
                document.unproven)
        }
        return documents.count
    }

    /// Whether the documents already sent become a batch of their own.
    private func isTooLong(_ outgoing: Outgoing, _ context: PeerContext) -> Bool {
        let unfinished = context.isLimited ? limited.partLength : 0
        let limits = context.limits
        let complete = outgoing.isSplit ? limits.furtherStep : limits.completeStep
        let most = outgoing.since == nil ? min(complete, limits.step) : limits.step
        return outgoing.length - unfinished > most
    }

    /// Sends documents until a part is full; returns the index of the next one.
    private mutating func send(
        _ keys: [[UInt8]], from first: Int, of outgoing: Outgoing, _ context: PeerContext,
        on exchange: inout DocumentExchange,
        _ total: inout Int, _ newest: inout NewestDocument
    ) throws(EngineError) -> Int {
        var next = first
        let known = limited.partLength
        var length = known
        defer { total += length - known }
        while next < keys.count, length < context.limits.part {
            let document: ShippedDocument?
            do throws(EngineError) {
                try matcher.visit()
                document = try shipped(keys[next], outgoing, context)
            } catch {
                // The remaining documents follow in a later part.
                guard error == .paused else { throw error }
                return next
            }
            next += 1
            guard let document else { continue }
            length += document.id.count
            newest.update(keys[next - 1], in: outgoing.snapshot)
            let commit = outgoing.snapshot.log.commit
            recordSentAgain(
                document.collection, document.id[...],
                with: outgoing.isRepeated ? commit + 1 : commit, context)
            length += try add(document, outgoing.snapshot, context, on: &exchange)
        }
        return next
    }

    /// Sends matching documents of ranges until a part is full.
    private mutating func sendMatches(
        _ ranges: inout ArraySlice<MatchRange>, from first: inout [UInt8]?,
        of snapshot: DocumentSnapshot, _ context: PeerContext, on exchange: inout DocumentExchange,
        _ total: inout Int,
        _ newest: inout NewestDocument
    ) throws(EngineError) {
        let isFree = context.access.readable == nil && context.access.sendable == nil
        exchange.prepareNames(snapshot.names)
        // Subscriptions with a LIMIT are sent by keys instead.
        let rankings = SubscriptionRankings()
        let known = limited.partLength
        var length = known
        defer { total += length - known }
        while let range = ranges.first {
            let collection = range.collection
            guard context.access.isShared(collection) else {
                ranges.removeFirst()
                continue
            }
            if first == nil { first = range.keys.lower }
            let isWhole: Bool
            do throws(EngineError) {
                isWhole = try snapshot.forEachMatch(
                    matcher, rankings, in: collection, from: &first, to: range.keys.upper
                ) { (key, document) throws(EngineError) in
                    guard length < context.limits.part else { return false }
                    let id = key[StoreKey.documentPrefixLength...]
                    if !isFree {
                        let address = DocumentAddress(collection: collection, id: Array(id))
                        guard
                            try context.access.maySend(
                                document, before: nil, key, address, snapshot.names)
                        else {
                            return true
                        }
                    }
                    let bytes = try onDocument(key) { () throws(Malformed) in
                        try document.read { (bytes) throws(Malformed) in
                            try exchange.encoded(try EncodedDocument(bytes))
                        }
                    }
                    length += id.count + bytes.count
                    newest.update(key, in: snapshot)
                    recordSentAgain(collection, id, with: snapshot.log.commit, context)
                    let unproven = try document.read { (bytes) throws(EngineError) in
                        try snapshot.unprovenTokens(in: bytes, of: key, context.queries.documents)
                    }
                    add(collection, id: id, .state, bytes, unproven, context, on: &exchange)
                    return true
                }
            } catch {
                guard error == .paused else { throw error }
                return
            }
            guard isWhole else { return }
            first = nil
            ranges.removeFirst()
        }
    }

    /// Sends one commit as a batch.
    mutating func ship(
        _ documents: [ShippedDocument], of commit: CommitID, stamp: Stamp?,
        _ context: PeerContext, on exchange: inout DocumentExchange
    ) throws(EngineError) {
        reportPauses(context, on: &exchange)
        exchange.session.beginCommit(commit, stamp: stamp)
        for document in documents {
            recordSentAgain(document.collection, document.id[...], with: commit, context)
            _ = try add(document, context.snapshot, context, on: &exchange)
        }
        exchange.session.endCommit()
    }

    /// Adds a document, translated to the names of the connection; returns its encoded length.
    mutating func add(
        _ document: ShippedDocument, _ snapshot: DocumentSnapshot, _ context: PeerContext,
        on exchange: inout DocumentExchange
    ) throws(EngineError) -> Int {
        exchange.prepareNames(snapshot.names)
        let address = DocumentAddress(collection: document.collection, id: document.id)
        var unproven: [[UInt8]] = []
        if let key = snapshot.key(of: address) {
            unproven = try document.bytes.span.withUnsafeBytes { (bytes) throws(EngineError) in
                try snapshot.unprovenTokens(in: bytes, of: key, context.queries.documents)
            }
        }
        let bytes = try onDocument(document.id) { () throws(Malformed) in
            try document.bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
                try exchange.encoded(try EncodedDocument(bytes))
            }
        }
        add(
            document.collection, id: document.id[...], document.form, bytes, unproven,
            context, on: &exchange)
        return bytes.count
    }

    /// Adds an encoded document to the batch; one for a limited peer waits until its part is full.
    private mutating func add(
        _ collection: String, id: ArraySlice<UInt8>, _ form: ShippedDocument.Form, _ bytes: [UInt8],
        _ unproven: [[UInt8]], _ context: PeerContext, on exchange: inout DocumentExchange
    ) {
        documentCount += 1
        guard context.isLimited else {
            return exchange.add(collection, id: id, form, bytes, unproven)
        }
        limited.add(
            ShippedDocument(
                collection: collection, id: Array(id), form, bytes, unproven: unproven))
    }

    /// Reports pauses that the peer may lack, before it is sent documents.
    private func reportPauses(_ context: PeerContext, on exchange: inout DocumentExchange) {
        for known in exchange.sites.drainUnreported(of: context.queries.documents) {
            exchange.session.report(known)
        }
    }

    /// Records that a document is sent, if the peer has refused any.
    ///
    /// An acknowledgment without a new refusal accepts it.
    mutating func recordSentAgain(
        _ collection: String, _ id: ArraySlice<UInt8>, with commit: CommitID,
        _ context: PeerContext
    ) {
        // An effect of this event may be the first refusal.
        guard !effects.isEmpty || context.refusals.has(context.key) else { return }
        effects.append(
            .sentAgain(DocumentAddress(collection: collection, id: Array(id)), with: commit))
    }

    /// Records which acknowledgment completes the read repairs of a batch.
    private mutating func recordSent(_ outgoing: Outgoing, _ context: PeerContext) {
        guard !context.isLimited else { return recordSentToLimited(outgoing) }
        guard !outgoing.complete.isEmpty else { return }
        let commit = outgoing.snapshot.log.commit
        effects.append(
            .sentRepairs(outgoing.complete, with: outgoing.isRepeated ? commit + 1 : commit))
    }
}
