import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSync

/// Differing documents that this peer may not send, and local writes that a peer lacks.
extension Replicator {
    /// Records differing documents that this peer may not send, until remote states are received.
    func recordDiffering(_ addresses: [DocumentAddress], on connection: Connection) {
        guard connection.access.sendable != nil else { return }
        for address in addresses {
            if let commits = unsendableCommits(of: address, on: connection) {
                connection.receiver.disputed[address] = commits
            }
        }
    }

    /// Records documents that the peer sent without a local write, for a review once durable.
    func recordLacking(_ outcome: WriteJob.Outcome, on connection: Connection) {
        guard connection.access.sendable != nil else { return }
        for document in outcome.outdated where document.lacksOwn {
            connection.receiver.lacking[document.address] = outcome.lastCommit ?? 0
        }
    }

    /// Reviews documents that lack local writes at the peer.
    ///
    /// The merged document must be durable and the peer's subscription known. Until then a document
    /// is listed once, however often the peer sends it.
    func reviewLacking(_ connection: Connection) {
        guard !connection.receiver.lacking.isEmpty, connection.sender != nil else { return }
        connection.receiver.reviewLacking(through: news.snapshot.log.commit) { address in
            unsendableCommits(of: address, on: connection)
        }
    }

    /// Returns the local commits of a document that this peer may not send, or nil.
    ///
    /// Acknowledged commits are omitted; if all are acknowledged, returns the last one.
    private func unsendableCommits(of address: DocumentAddress, on connection: Connection)
        -> [CommitID]?
    {
        let snapshot = news.snapshot
        guard connection.access.isShared(address.collection),
            let sendable = connection.access.sendable,
            let key = snapshot.key(of: address),
            let document = try? snapshot.document(key),
            let own = try? snapshot.localCommits(
                of: key, after: 0, queries.documents.ownSites),
            let newest = try? snapshot.newestCommit(of: key),
            !own.isEmpty || hasLocalWrite(document)
        else { return nil }
        let commits = own.isEmpty ? [newest] : own
        guard let shown = try? shown(document, key, in: commits, snapshot),
            (try? sendable.matches(
                shown, key: key, in: address.collection, snapshot.names)) == false
        else { return nil }
        return unacknowledged(commits, on: connection)
    }

    /// Returns a document or, if the last commit deleted it, its former state; nil if unknown.
    private func shown(
        _ document: StoredDocument, _ key: [UInt8], in commits: [CommitID],
        _ snapshot: DocumentSnapshot
    ) throws(EngineError) -> StoredDocument? {
        guard document.isTombstone else { return document }
        guard let last = commits.last, let before = try snapshot.document(key, asOf: last - 1)
        else { return nil }
        return before.flatMap { $0.isTombstone ? nil : $0 }
    }

    /// Settles disputed documents that the peer has sent, and evaluates its queries on the others.
    func resolveDisputed(_ outcome: WriteJob.Outcome, isComplete: Bool, on connection: Connection) {
        connection.receiver.removeDisputed(outcome.covered)
        if let key = connection.session.remote?.peerKey {
            for address in outcome.covered { refusals.remove(address, of: key) }
        }
        guard isComplete, !connection.receiver.disputed.isEmpty else { return }
        // The order is reversed, since documents are removed from the end.
        connection.receiver.unsettled += connection.receiver.disputed.sorted { $1.key < $0.key }
        connection.receiver.disputed = [:]
        resolveDisputed(on: connection)
    }

    /// Evaluates the peer's queries on disputed documents, until the slice is used up.
    ///
    /// The documents wait for the peer's subscription, which decides whether it wants them.
    func resolveDisputed(on connection: Connection) {
        reviewLacking(connection)
        guard connection.session.isOpen, connection.hasUnsettled else { return }
        let snapshot = queries.documents.snapshot()
        while let (address, commits) = connection.receiver.unsettled.last {
            if let key = snapshot.key(of: address), let document = try? snapshot.document(key) {
                do throws(EngineError) {
                    if let shown = try shown(document, key, in: commits, snapshot),
                        let wanted = connection.sender?.unfilteredMatcher(queries),
                        try context(of: connection).isUnsendable(
                            shown, key, address, snapshot, wantedBy: wanted)
                    {
                        recordUnsendable(address, commits, on: connection)
                    }
                } catch {
                    if error == .paused { return }
                }
            }
            connection.receiver.unsettled.removeLast()
        }
        // Documents that lack local writes are reviewed once no others are unsettled.
        reviewLacking(connection)
    }

    /// Records local commits that contain writes this peer has no right to send.
    func recordUnsendable(
        _ address: DocumentAddress, _ commits: [CommitID], on connection: Connection
    ) {
        guard let key = connection.session.remote?.peerKey else { return }
        refusals.add(address, commits, .ownGrant, of: key, milliseconds: wallMilliseconds)
    }

    /// Whether the version vector of a document contains a write of this store.
    private func hasLocalWrite(_ document: StoredDocument) -> Bool {
        let sites = queries.documents.ownSites
        let vector = document.read { bytes in try? EncodedDocument(bytes).vector() }
        return vector.map { vector in sites.contains { vector.time(of: $0) > .initial } } ?? false
    }

    private func unacknowledged(_ commits: [CommitID], on connection: Connection) -> [CommitID] {
        let synced = peers[connection.session.remote?.peerKey ?? []]?.syncedUpTo ?? 0
        let newer = commits.drop { $0 <= synced }
        return Array(newer.isEmpty ? commits.suffix(1) : newer)
    }
}
