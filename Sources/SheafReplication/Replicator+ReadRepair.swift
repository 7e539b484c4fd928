import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

extension Replicator {
    /// Number of documents kept for read repair, for all peers together.
    package var correctionCount: Int { corrections.count }

    /// Sends newer documents to a peer that sent older states of them.
    ///
    /// If the older state matched the queries of the peer, the document is sent without a repair.
    /// Repairs that depend on commit `here` wait until it is durable.
    func correct(
        _ known: [WriteJob.OutdatedDocument], behind here: CommitID? = nil, on link: Connection
    ) {
        guard let key = link.session.remote?.peerKey else { return }
        guard !link.isLimited else { return correctLimited(known, behind: here, on: link) }
        guard let matcher = link.sender?.matcher else {
            // The queries are not known before the subscription is active.
            guard rateLimiters.hasSubscribed(key) else { return }
            for document in known { corrections.insert(document.address, for: key) }
            return discardExcessRepairs()
        }
        let snapshot = news.snapshot
        for document in known where matcher.selects(for: document.address.collection) {
            guard let documentKey = snapshot.key(of: document.address) else { continue }
            // Without a result, because the slice is used up, the document is sent although it need
            // not be.
            let hasMatched = try? matcher.matches(
                document.before, key: documentKey, in: document.address.collection, snapshot.names)
            if hasMatched != true {
                corrections.insert(document.address, for: key)
                if let here, here > snapshot.log.commit {
                    link.sender?.completeLater.append((here, document.address))
                } else {
                    link.sender?.complete.insert(document.address)
                }
            }
        }
        discardExcessRepairs()
    }

    /// Queues the read repairs whose commits have become durable.
    func correctDurable(_ link: Connection) {
        guard let later = link.sender?.completeLater, !later.isEmpty else { return }
        let durable = news.snapshot.log.commit
        for (here, address) in later where here <= durable { link.sender?.complete.insert(address) }
        link.sender?.completeLater.removeAll { $0.here <= durable }
    }

    /// Discards read repairs beyond the limit; the affected peers reconcile instead.
    private func discardExcessRepairs() {
        let connected = Set(connections.values.compactMap { $0.session.remote?.peerKey })
        let forgotten = corrections.discardExcess(
            connected: connected, newest: news.snapshot.log.commit)
        guard !forgotten.isEmpty else { return }
        for link in allLinks where link.sender?.isStreaming == true {
            guard let key = link.session.remote?.peerKey, forgotten.contains(key) else { continue }
            link.sender?.complete = []
            link.sender?.completeLater = []
            restart(link)
        }
    }

    /// Returns the read repairs that a new subscription of the peer must deliver.
    func outstandingCorrections(of link: Connection) -> Set<DocumentAddress> {
        guard let key = link.session.remote?.peerKey, let matcher = link.sender?.matcher else {
            return []
        }
        corrections.beginAnew(key)
        return corrections.documents(for: key).filter { matcher.selects(for: $0.collection) }
    }

    /// Records which acknowledgment completes the read repairs of a batch.
    func recordSent(_ outgoing: Outgoing, on link: Connection) {
        guard !link.isLimited else { return recordSentToLimited(outgoing, on: link) }
        guard !outgoing.complete.isEmpty, let key = link.session.remote?.peerKey else { return }
        let commit = outgoing.snapshot.log.commit
        corrections.recordSent(
            outgoing.complete, with: outgoing.isRepeated ? commit + 1 : commit, to: key)
    }

    func recordRepaired(through commit: CommitID, on link: Connection) {
        guard let key = link.session.remote?.peerKey else { return }
        corrections.recordAcknowledged(commit, by: key)
    }
}
