import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// Announcements, which keep several peers from sending the same documents.
extension Sender {
    /// Maximum number of documents in an announcement; more are sent without one.
    private static let maximumAnnounced = 256

    /// Announces the changes since the last batch; returns false if they must be sent instead.
    mutating func announce(
        _ context: PeerContext, on exchange: inout DocumentExchange
    ) throws(EngineError) -> Bool {
        guard isAnnouncing, !isBehind, !matcher.isRanked, complete.isEmpty,
            let commits = context.recent.commits(after: sent),
            commits.reduce(0, { $0 + $1.changes.count }) <= Self.maximumAnnounced
        else { return false }
        var entries: [DocumentAddress: VersionVector] = [:]
        var last: CommitID?
        defer {
            if judging.openCommit == nil { judging.done = [:] }
        }
        for commit in commits {
            guard let shipped = try concerning(commit, context) else { return false }
            judging.done[commit.number] = shipped
            if !shipped.isEmpty { last = commit.number }
            for document in shipped {
                entries[document.address] = try onDocument(document.key) { () throws(Malformed) in
                    try document.written.document.read { (bytes) throws(Malformed) in
                        try EncodedDocument(bytes).vector()
                    }
                }
            }
        }
        let sorted = entries.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
        let newest = context.snapshot.log.commit
        sent = newest
        if sorted.isEmpty, commits.last?.number == newest,
            commits.allSatisfy({ isFromPeer($0, context) })
        {
            schedulePosition(at: context.now)
            return true
        }
        echoDue = nil
        if let last { recordDelivery(of: last, with: newest) }
        for (address, _) in sorted {
            recordSentAgain(address.collection, address.id[...], with: newest, context)
        }
        exchange.session.announce(
            sorted.map { Announce.Entry(address: $0.key, vector: $0.value) }, of: newest)
        return true
    }
}
