import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// Evaluation of queries before a peer is answered, in slices.
extension Sender {
    /// The evaluation of one snapshot before the peer is answered.
    struct Preparation {
        enum Purpose {
            /// The version list for a reconciliation.
            case list(VersionListing)
            /// The documents to send; `keys` lists them if the subscription has a LIMIT.
            case documents(Want.Documents, keys: [[UInt8]])
        }

        let snapshot: DocumentSnapshot
        var purpose: Purpose
        /// The scan that ranks documents; nil when it is done.
        var ranking: RankingScan?
        var scan: MatchScan
        /// The scan for wanted documents that this peer may not send.
        var unsendable: DocumentScan
    }

    /// Returns the collections from which the peer may receive documents.
    private func collections(
        in snapshot: DocumentSnapshot, _ context: PeerContext
    ) -> [String] {
        matcher.collections(in: snapshot, readable: context.access.readableCollections)
            .filter { context.access.maySelectSome(of: $0) }
    }

    // MARK: Reconciliation

    /// Begins to list the versions of the matching documents, and answers when all are evaluated.
    mutating func listMatches(
        in newest: DocumentSnapshot, _ context: PeerContext, on exchange: inout DocumentExchange
    ) throws(EngineError) {
        let snapshot = visibleSnapshot(newest, context, on: &exchange)
        limited.discardChanges()
        compared = snapshot
        newestDocument = NewestDocument()
        parts = nil
        let listing = VersionListing(
            snapshot, matcher, of: collections(in: snapshot, context),
            allAreReadable: !context.access.isRestricted)
        if let pointer = listing.newestStored(in: snapshot) { newestDocument.update(pointer) }
        preparation = Preparation(
            snapshot: snapshot, purpose: .list(listing), ranking: RankingScan(snapshot),
            scan: MatchScan(snapshot, listing.scanned), unsendable: DocumentScan())
        try prepare(context, on: &exchange)
    }

    /// Begins to send wanted documents, from the reconciled snapshot if there is one.
    mutating func prepareWanted(
        _ documents: Want.Documents, in newest: DocumentSnapshot, _ context: PeerContext,
        on exchange: inout DocumentExchange
    ) throws(EngineError) {
        if case .part(let addresses) = documents {
            return sendWantedPart(of: addresses, on: &exchange)
        }
        guard wantedRanges.ranges.isEmpty || !matcher.isRanked else {
            return exchange.end(
                .protocolBroken, "ranges of a subscription with a LIMIT were requested")
        }
        // A requested list is complete: the session refuses a `want` before the end of the list.
        let isCompared = compared != nil
        let snapshot = compared ?? visibleSnapshot(newest, context, on: &exchange)
        compared = nil
        if !isCompared { newestDocument = NewestDocument() }
        preparation = Preparation(
            snapshot: snapshot, purpose: .documents(documents, keys: []),
            ranking: isCompared ? nil : RankingScan(snapshot),
            scan: MatchScan(
                snapshot, matcher.isRanked ? collections(in: snapshot, context) : []),
            unsendable: DocumentScan(
                context.access.sendable == nil ? [] : matcher.collections(in: snapshot)))
        try prepare(context, on: &exchange)
    }

    /// Begins to send a part of the wanted documents, from the reconciled snapshot.
    private mutating func sendWantedPart(
        of addresses: [DocumentAddress], on exchange: inout DocumentExchange
    ) {
        guard let snapshot = compared else {
            return exchange.end(
                .protocolBroken, "a part was requested without a reconciliation")
        }
        // Documents of a part can be refused before the last batch is sent.
        if parts == nil { effects.append(.compared(snapshot, sent: sent)) }
        let number = parts?.number ?? exchange.nextStepNumber()
        parts = (snapshot.log.commit, number)
        outgoing = Outgoing(
            snapshot: snapshot, documents: Outgoing.Documents(addresses, in: snapshot), since: nil,
            number: number, newestDocument: newestDocument, isPart: true,
            progress: SyncProgress(of: nil))
        isAwake = true
    }

    // MARK: Evaluation

    /// Continues an evaluation; when it is done, the peer is answered.
    mutating func prepare(
        _ context: PeerContext, on exchange: inout DocumentExchange
    ) throws(EngineError) {
        guard exchange.session.isOpen, var work = preparation else { return }
        // The value is moved out of the struct, so that changes do not copy it.
        preparation = nil
        do throws(EngineError) { try run(&work, context) } catch {
            guard error == .paused else { throw error }
            preparation = work
            return
        }
        switch work.purpose {
        case .list(let listing):
            do throws(WireError) { try exchange.session.sendAnswer(listing.list) } catch {
                exchange.end(.protocolBroken, "\(error)")
            }
        case .documents(let documents, let keys):
            begin(sending: documents, keys, work.snapshot, context, on: &exchange)
        }
    }

    private mutating func run(
        _ work: inout Preparation, _ context: PeerContext
    ) throws(EngineError) {
        let snapshot = work.snapshot
        if work.ranking != nil {
            try work.ranking?.run(matcher, context.access.rankFilter(in: snapshot, isOwn: false))
            rankings = work.ranking?.rankings
            work.ranking = nil
        }
        let rankings = rankings ?? SubscriptionRankings()
        switch work.purpose {
        case .list(var listing):
            work.purpose = .documents(.all, keys: [])
            defer { work.purpose = .list(listing) }
            let isFree = !context.access.isRestricted
            try work.scan.run(matcher, rankings) { (key, document, name) throws(EngineError) in
                try listing.add(document, key, name) {
                    (document, key, address) throws(EngineError) in
                    if !isFree {
                        let isShown = try context.access.isShown(
                            document, key, address, snapshot.names, isOwn: false)
                        guard isShown else { return false }
                    }
                    newestDocument.update(key, in: snapshot)
                    return true
                }
            }
        case .documents(.all, var keys) where matcher.isRanked:
            work.purpose = .documents(.all, keys: [])
            defer { work.purpose = .documents(.all, keys: keys) }
            try work.scan.run(matcher, rankings) { key, _, _ in keys.append(key) }
        case .documents: break
        }
        try recordUnsendable(in: snapshot, &work.unsendable, context)
    }

    /// Begins to send the wanted documents, from the reconciled snapshot.
    private mutating func begin(
        sending documents: Want.Documents, _ ranked: [[UInt8]], _ snapshot: DocumentSnapshot,
        _ context: PeerContext, on exchange: inout DocumentExchange
    ) {
        let wanted: Outgoing.Documents
        switch documents {
        case .all where matcher.isRanked: wanted = .keys(ranked, next: 0)
        case .all: wanted = matches(in: [.all], of: snapshot, context)
        case .some(let addresses, _): wanted = Outgoing.Documents(addresses, in: snapshot)
        // The session replaces the others by addresses and ranges.
        case .part, .ranges, .versions: wanted = .keys([], next: 0)
        }
        let (ranges, count) = wantedRanges
        let following = ranges.isEmpty ? nil : matches(in: ranges, of: snapshot, context)
        wantedRanges = ([], 0)
        if parts == nil { effects.append(.compared(snapshot, sent: sent)) }
        isStreaming = true
        guard !isListOutdated else {
            isListOutdated = false
            return restart(on: &exchange)
        }
        outgoing = Outgoing(
            snapshot: snapshot, documents: wanted, following: following, since: nil,
            number: parts?.number ?? exchange.nextStepNumber(), newestDocument: newestDocument,
            progress: SyncProgress(
                of: self.count(of: documents, ranked, in: snapshot, context).map { $0 + count }))
        parts = nil
        isAwake = true
        isReviewDue = true
    }

    /// Returns the matching documents in ranges of addresses.
    private func matches(
        in ranges: [KeyRange], of snapshot: DocumentSnapshot, _ context: PeerContext
    ) -> Outgoing.Documents {
        Outgoing.Documents(ranges, of: collections(in: snapshot, context), in: snapshot)
    }

    /// Returns the estimated number of wanted documents; nil if it is unknown.
    ///
    /// It does not depend on documents that the peer may not read.
    private func count(
        of documents: Want.Documents, _ ranked: [[UInt8]], in snapshot: DocumentSnapshot,
        _ context: PeerContext
    ) -> Int? {
        // A document that the versions of both peers name is listed twice.
        if case .some(let addresses, _) = documents { return Set(addresses).count }
        guard !context.access.isRestricted else { return nil }
        if matcher.isRanked { return ranked.count }
        var count = 0
        for collection in matcher.collections(in: snapshot) {
            guard matcher.matchesAll(in: collection) else { return nil }
            guard let number = snapshot.catalog.number(ofCollection: collection) else { continue }
            count += snapshot.log.tree.count(in: StoreKey.documents(of: number))
        }
        return count
    }
}

extension Outgoing.Documents {
    /// Creates the matching documents in ranges of addresses.
    fileprivate init(
        _ named: [KeyRange], of collections: [String], in snapshot: DocumentSnapshot
    ) {
        // The ranges of several frames may be in any order, and overlap.
        let ranges = KeyRange.union(named)
        var found: [MatchRange] = []
        for collection in collections {
            guard let number = snapshot.catalog.number(ofCollection: collection) else { continue }
            let keys = CollectionKeys(number, collection)
            let first = ranges.partitionPoint {
                $0.upper.map { !keys.prefix.lexicographicallyPrecedes($0) } ?? false
            }
            for range in ranges[first...] {
                let keys = keys.range(ofAddresses: range)
                guard !keys.isEmpty else { break }
                found.append(MatchRange(collection: collection, keys: keys))
            }
        }
        self = .matches(found[...], from: nil)
    }

    /// Creates a list of named documents without duplicates.
    fileprivate init(_ addresses: [DocumentAddress], in snapshot: DocumentSnapshot) {
        var named: Set<[UInt8]> = []
        let keys = addresses.compactMap { snapshot.key(of: $0) }
        self = .keys(keys.filter { named.insert($0).inserted }, next: 0)
    }
}
