import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSync

/// Documents that this peer may not send and whose local writes the other peer may lack.
///
/// The peers differ on them, or the other peer has sent them without a local write. Its queries
/// decide whether it wants them; then the local commits count as refused.
struct DisputedDocuments {
    /// Differing documents, with the local commits that wrote them.
    private(set) var differing: [DocumentAddress: [CommitID]] = [:]
    /// Documents on which the queries of the peer decide, the last one first.
    private var unsettled: [(key: DocumentAddress, value: [CommitID])] = []
    /// Documents that the peer sent without a write of this store.
    ///
    /// The value is the local commit that must be durable before the document is reviewed.
    private var lacking: [DocumentAddress: CommitID] = [:]

    /// Whether no document waits for the queries of the peer.
    var isSettled: Bool { unsettled.isEmpty }
    /// Whether some documents wait for a review or for the queries of the peer.
    var isPending: Bool { !unsettled.isEmpty || !lacking.isEmpty }
    /// Whether `review` may have an effect.
    var isReviewDue: Bool { unsettled.isEmpty && !lacking.isEmpty }

    // MARK: Documents

    /// Records differing documents, until remote states are received.
    mutating func recordDiffering(_ addresses: [DocumentAddress], _ context: PeerContext) {
        guard context.access.sendable != nil else { return }
        for address in addresses {
            if let commits = context.unsendableCommits(of: address) {
                differing[address] = commits
            }
        }
    }

    /// Records documents that the peer sent without a local write, for a review once durable.
    mutating func recordLacking(_ outcome: WriteJob.Outcome, _ context: PeerContext) {
        guard context.access.sendable != nil else { return }
        for document in outcome.outdated where document.lacksOwn {
            lacking[document.address] = outcome.lastCommit ?? 0
        }
    }

    /// Removes documents whose local writes the peer has sent.
    mutating func remove(_ covered: Set<DocumentAddress>) {
        guard !covered.isEmpty else { return }
        for address in covered { differing[address] = nil }
        unsettled.removeAll { covered.contains($0.key) }
    }

    /// Lets the queries of the peer decide on the differing documents that it has not sent.
    mutating func endReconciliation() {
        // The order is reversed, since documents are removed from the end.
        unsettled += differing.sorted { $1.key < $0.key }
        differing = [:]
    }

    // MARK: Decisions

    /// Returns the documents that the peer wants and this peer may not send, with their commits.
    ///
    /// Stops when the slice is used up.
    mutating func settle(
        _ context: PeerContext, wantedBy wanted: SubscriptionMatcher
    ) -> [(DocumentAddress, [CommitID])] {
        review(context)
        guard !unsettled.isEmpty else { return [] }
        var unsendable: [(DocumentAddress, [CommitID])] = []
        let snapshot = context.queries.documents.snapshot()
        while let (address, commits) = unsettled.last {
            if let key = snapshot.key(of: address), let document = try? snapshot.document(key) {
                do throws(EngineError) {
                    if let shown = try snapshot.lastContent(of: document, key, in: commits),
                        try context.isUnsendable(shown, key, address, snapshot, wantedBy: wanted)
                    {
                        unsendable.append((address, commits))
                    }
                } catch {
                    if error == .paused { return unsendable }
                }
            }
            unsettled.removeLast()
        }
        // Documents that lack local writes are reviewed once no others are unsettled.
        review(context)
        return unsendable
    }

    /// Moves durable documents from `lacking` to `unsettled`, unless others are unsettled.
    ///
    /// The merged document must be durable. Until then a document is listed once, however often the
    /// peer sends it.
    mutating func review(_ context: PeerContext) {
        guard !lacking.isEmpty, unsettled.isEmpty else { return }
        let durable = context.snapshot.log.commit
        let ready = lacking.filter { $0.value <= durable }.keys.sorted(by: <)
        for address in ready {
            lacking[address] = nil
            guard let commits = context.unsendableCommits(of: address) else { continue }
            unsettled.append((address, commits))
        }
    }
}

extension PeerContext {
    /// Returns the local commits of a document that this peer may not send; nil for others.
    ///
    /// If the history does not reach back, the newest commit stands for them. Acknowledged commits
    /// are omitted; if all are acknowledged, returns the last one.
    fileprivate func unsendableCommits(of address: DocumentAddress) -> [CommitID]? {
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
