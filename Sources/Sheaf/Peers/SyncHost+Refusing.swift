import SheafDocument
import SheafStorage
import SheafSync

/// Documents that other peers may not write here: these are skipped, and reported to the peers as
/// far as their rights permit.
extension SyncHost {
    /// Logs documents of the other side that were passed over, and reports them to it.
    func refuse(_ outcome: WriteJob.Outcome, from link: Link) {
        guard let first = outcome.refused.first, let key = link.session.remote?.peerKey else {
            return
        }
        let snapshot = queries.documents.snapshot()
        let reported = outcome.refused.filter {
            mayLearnOfRefusal(of: $0.address, $0.before, snapshot, on: link)
        }
        queries.log?.write(
            .warning, "a peer has sent documents that it may not write, and they were passed over",
            [
                "peer": PeerKey(unchecked: key).description,
                "documents": "\(outcome.refused.count)", "reported": "\(reported.count)",
                "collection": first.address.collection,
                "id": (try? DocumentID.id(of: first.address.id))?.json ?? "",
            ])
        // Of an older subscription all is sent again.
        guard outcome.generation == link.asking.generation else { return }
        report(reported, on: link)
    }

    /// Whether the other side may learn that a document was refused.
    ///
    /// That depends on the document as it was here, so the other side must be able to read that. What is left of a deleted
    /// document matches no rule.
    func mayLearnOfRefusal(
        of address: DocumentAddress, _ before: StoredDocument?, _ snapshot: DocumentSnapshot,
        on link: Link
    ) -> Bool {
        guard isShared(address.collection, on: link) else { return false }
        guard let readable = link.readable, let before, !before.isRemnant else { return true }
        guard !before.isTombstone, let key = snapshot.key(of: address) else { return false }
        let isReadable = try? readable.matches(
            before, key: key, in: address.collection, snapshot.names)
        return isReadable ?? false
    }

    /// Has the two sides compare when they meet again, since the last notices may not have come.
    func noteReportsLost(_ link: Link) {
        guard link.asking.hasReported, let key = link.session.remote?.peerKey else { return }
        wishes.cursors[key] = nil
    }

    /// Sends the notices: the documents of one commit, and one reason, in each.
    private func report(_ refused: [WriteJob.Refused], on link: Link) {
        guard !refused.isEmpty else { return }
        link.asking.hasReported = true
        let named = refused.prefix(SyncLimits.refusedOfJob)
        var rest = named[...]
        while let first = rest.first {
            var length = 0
            let part = rest.prefix(SyncLimits.refusedDocuments).prefix { document in
                length += document.address.memoryLength
                return document.commit == first.commit && document.reason == first.reason
                    && length < SyncLimits.frameLength / 2
            }
            rest = rest.dropFirst(part.count)
            link.session.report(
                RefusedNotice(
                    generation: link.asking.generation, commit: first.commit, first.reason,
                    part.map(\.address)))
        }
        guard let last = refused.last, refused.count > named.count else { return }
        link.session.report(
            RefusedNotice(
                generation: link.asking.generation, commit: last.commit, last.reason,
                omitted: UInt64(refused.count - named.count), []))
    }
}
