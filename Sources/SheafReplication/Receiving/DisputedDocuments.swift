package import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
package import SheafStorage
import SheafSync

/// Documents that this peer may not send and whose local writes the other peer may lack.
///
/// The peers differ on them, or the other peer has sent them without a local write. Its queries
/// decide whether it wants them; then the local commits count as refused.
package struct DisputedDocuments {
    /// Differing documents, with the local commits that wrote them.
    private var differing: [DocumentAddress: [CommitID]] = [:]
    /// Documents on which the queries of the peer decide, the last one first.
    private var unsettled: [(key: DocumentAddress, value: [CommitID])] = []
    /// Documents that the peer sent without a write of this store.
    ///
    /// The value is the local commit that must be durable before the document is reviewed.
    private var lacking: [DocumentAddress: CommitID] = [:]

    package init() {}

    /// Whether no document waits for the queries of the peer.
    package var isSettled: Bool { unsettled.isEmpty }
    /// Whether some documents wait for a review or for the queries of the peer.
    package var isPending: Bool { !unsettled.isEmpty || !lacking.isEmpty }
    /// Whether `review` may have an effect; it waits while other documents are unsettled.
    ///
    /// Until then a document is listed once, however often the peer sends it.
    package var isReviewDue: Bool { unsettled.isEmpty && !lacking.isEmpty }
    /// The documents whose local writes the peer may still send.
    package var addresses: Set<DocumentAddress> {
        Set(differing.keys).union(unsettled.map { $0.key }).union(lacking.keys)
    }

    // MARK: Documents

    /// Records differing documents, until remote states are received.
    ///
    /// `commits` returns the local commits of a document that this peer may not send; nil for
    /// others.
    package mutating func recordDiffering(
        _ addresses: [DocumentAddress], _ commits: (DocumentAddress) -> [CommitID]?
    ) {
        for address in addresses { differing[address] = commits(address) }
    }

    /// Records documents that the peer sent without a local write, until `commit` is durable.
    package mutating func recordLacking(_ addresses: [DocumentAddress], until commit: CommitID) {
        for address in addresses { lacking[address] = commit }
    }

    /// Removes documents whose local writes the peer has sent.
    package mutating func remove(_ covered: Set<DocumentAddress>) {
        for address in covered {
            differing[address] = nil
            lacking[address] = nil
        }
        unsettled.removeAll { covered.contains($0.key) }
    }

    /// Lets the queries of the peer decide on the differing documents that it has not sent.
    package mutating func endReconciliation() {
        // The order is reversed, since documents are removed from the end.
        unsettled += differing.sorted { $1.key < $0.key }
        differing = [:]
    }

    // MARK: Decisions

    /// Returns the documents that the peer wants and this peer may not send, with their commits.
    ///
    /// Stops when `isUnsendable` returns nil, because the evaluation pauses.
    package mutating func settle(
        _ isUnsendable: (DocumentAddress, [CommitID]) -> Bool?
    ) -> [(address: DocumentAddress, commits: [CommitID])] {
        var unsendable: [(address: DocumentAddress, commits: [CommitID])] = []
        while let (address, commits) = unsettled.last,
            let isWanted = isUnsendable(address, commits)
        {
            if isWanted { unsendable.append((address, commits)) }
            unsettled.removeLast()
        }
        return unsendable
    }

    /// Lets the queries of the peer decide on the documents whose merged states are durable.
    ///
    /// `commits` is the same as in `recordDiffering`.
    package mutating func review(
        through durable: CommitID, _ commits: (DocumentAddress) -> [CommitID]?
    ) {
        let ready = lacking.filter { $0.value <= durable }.keys.sorted(by: <)
        for address in ready {
            lacking[address] = nil
            guard let found = commits(address) else { continue }
            unsettled.append((address, found))
        }
    }
}

extension PeerContext {
    /// Returns the local commits of a document that this peer may not send; nil for others.
    ///
    /// If the history does not reach back, the newest commit stands for them. Acknowledged commits
    /// are omitted; if all are acknowledged, returns the last one.
    func unsendableCommits(of address: DocumentAddress) -> [CommitID]? {
        let sites = queries.documents.ownSites
        guard access.isShared(address.collection), let sendable = access.sendable,
            let key = snapshot.key(of: address),
            let document = try? snapshot.document(key),
            let own = try? snapshot.localCommits(of: key, after: 0, sites),
            let newest = try? snapshot.newestCommit(of: key),
            !own.isEmpty || document.hasWrite(of: sites)
        else { return nil }
        let commits = own.isEmpty ? [newest] : own
        guard let shown = try? snapshot.lastContent(of: document, key, in: commits),
            (try? sendable.matches(
                shown, key: key, in: address.collection, snapshot.names)) == false
        else { return nil }
        return unacknowledged(commits)
    }

    /// Whether this peer has no right to send a document, changed by some commits, that the queries
    /// of the peer select; nil if their evaluation pauses.
    func isUnsendable(
        _ address: DocumentAddress, _ commits: [CommitID], _ snapshot: DocumentSnapshot,
        wantedBy wanted: SubscriptionMatcher
    ) -> Bool? {
        do throws(EngineError) {
            guard let key = snapshot.key(of: address), let document = try snapshot.document(key),
                let shown = try snapshot.lastContent(of: document, key, in: commits)
            else { return false }
            return try isUnsendable(shown, key, address, snapshot, wantedBy: wanted)
        } catch {
            // A document that cannot be evaluated is not wanted.
            return error == .paused ? nil : false
        }
    }
}

extension DocumentSnapshot {
    /// Returns a document or, if the last commit deleted it, its former state; nil if unknown.
    fileprivate func lastContent(
        of document: StoredDocument, _ key: [UInt8], in commits: [CommitID]
    ) throws(EngineError) -> StoredDocument? {
        guard document.isTombstone else { return document }
        guard let last = commits.last, let before = try self.document(key, asOf: last - 1)
        else { return nil }
        return before.flatMap { $0.isTombstone ? nil : $0 }
    }
}

extension StoredDocument {
    /// Whether the version vector of the document contains a write of one of the sites.
    fileprivate func hasWrite(of sites: [Site]) -> Bool {
        let vector = read { bytes in try? EncodedDocument(bytes).vector() }
        return vector.map { vector in sites.contains { vector.time(of: $0) > .initial } } ?? false
    }
}
