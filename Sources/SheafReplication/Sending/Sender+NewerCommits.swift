import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// Documents of newer commits, sent in between the batches of a long first sync.
///
/// Otherwise a change would wait until all documents are sent. The commits themselves follow the
/// last batch, so the peer may receive these documents twice; its log position is not concerned.
extension Sender {
    /// Maximum number of documents of a commit that is sent early.
    private static let maximumEarly = 1_024

    /// Sends the documents of commits after the snapshot of a long batch, in a cut batch for each.
    mutating func sendNewerCommits(
        than outgoing: inout Outgoing, number: UInt64, _ context: PeerContext,
        on exchange: inout DocumentExchange
    ) throws(EngineError) {
        let known = max(outgoing.newerThrough, outgoing.snapshot.log.commit)
        guard outgoing.since == nil, context.snapshot.log.commit > known, !context.isLimited,
            !matcher.isRanked,
            context.access.readable == nil, context.access.sendable == nil,
            let commits = context.news.commits(after: known)
        else { return }
        for commit in commits {
            guard exchange.session.hasRoom() else { return }
            if !isFromPeer(commit, context), commit.changes.count <= Self.maximumEarly {
                try sendEarly(commit, number: number, context, on: &exchange)
            }
            outgoing.newerThrough = commit.number
        }
    }

    private mutating func sendEarly(
        _ commit: News.Commit, number: UInt64, _ context: PeerContext,
        on exchange: inout DocumentExchange
    ) throws(EngineError) {
        let snapshot = context.snapshot
        var documents: [ShippedDocument] = []
        for change in commit.changes where !change.isEvicted {
            let key = change.key.bytes
            guard let address = snapshot.address(of: key),
                context.access.isShared(address.collection),
                matcher.selects(for: address.collection),
                let document = try snapshot.document(key)
            else { continue }
            // A deletion is sent if the peer may have the document, as is one that matches no more.
            var isWanted = false
            for state in [document, change.before] where !isWanted {
                isWanted = try matcher.matches(
                    state, key: key, in: address.collection, snapshot.names)
            }
            if isWanted { documents.append(snapshot.complete(document, key, address)) }
        }
        guard !documents.isEmpty else { return }
        exchange.session.beginCommit(number, stamp: nil, isCut: true)
        for document in documents { _ = try add(document, snapshot, context, on: &exchange) }
        exchange.session.endCommit()
        exchange.session.sendSegment()
    }
}
