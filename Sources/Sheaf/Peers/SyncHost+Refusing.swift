import SheafDocument
import SheafStorage
import SheafSync

/// Skips documents that other peers may not write on this one, and reports them to these peers.
///
/// A write that only a hidden document forbids is not reported as refused (`receiveHidden`).
extension SyncHost {
    /// Logs documents of the other side that were passed over, and reports them to it.
    func refuse(_ outcome: WriteJob.Outcome, from link: Link) {
        guard let first = outcome.refused.first, let key = link.session.remote?.peerKey else {
            return
        }
        let reported = outcome.refused.filter { isShared($0.address.collection, on: link) }
        queries.log?.write(
            .warning, "a peer has sent documents that it may not write, and they were passed over",
            [
                "peer": PeerKey(unchecked: key).description,
                "documents": "\(outcome.refused.count)", "reported": "\(reported.count)",
            ].merging(first.address.logFields) { $1 })
        // Of an older subscription all is sent again.
        guard outcome.generation == link.asking.generation else { return }
        report(reported, on: link)
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
