import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// Documents of newer commits, sent in between the batches of a long first sync.
///
/// Otherwise a change would wait until all documents are sent. The commits themselves follow the
/// last batch, so the peer may receive these documents twice; its log position is not concerned.
extension Sender {
    /// Maximum number of changes that are sent early; more of them wait for the end of the sync.
    private static let maximumEarly = 1_024

    /// Sends the documents that changed after the snapshot of a long batch, as one cut batch.
    ///
    /// All are in the newest state, or none is sent: the peer must not see parts of commits.
    mutating func sendNewerCommits(
        than outgoing: Outgoing, number: UInt64, _ context: PeerContext,
        on exchange: inout DocumentExchange
    ) throws(EngineError) {
        let snapshot = context.snapshot
        let known = max(newerThrough, outgoing.snapshot.log.commit)
        guard outgoing.since == nil, snapshot.log.commit > known, !context.isLimited,
            !matcher.isRanked, context.access.readable == nil, context.access.sendable == nil,
            !context.refusals.has(context.key), exchange.session.hasRoom(),
            let commits = context.recent.commits(after: known),
            let documents = try newer(commits, context)
        else { return }
        newerThrough = snapshot.log.commit
        guard !documents.isEmpty else { return }
        exchange.session.beginCommit(number, stamp: nil, isCut: true)
        for document in documents { _ = try add(document, snapshot, context, on: &exchange) }
        exchange.session.endCommit()
        exchange.session.sendSegment()
    }

    /// Returns the documents that commits changed; nil if they are too many or too long.
    private func newer(
        _ commits: ArraySlice<RecentCommits.Commit>, _ context: PeerContext
    ) throws(EngineError) -> [ShippedDocument]? {
        let others = commits.filter { !isFromPeer($0, context) }
        guard others.reduce(0, { $0 + $1.changes.count }) <= Self.maximumEarly else { return nil }
        let snapshot = context.snapshot
        var seen: Set<DocumentKey> = []
        var documents: [ShippedDocument] = []
        var length = 0
        for change in others.flatMap(\.changes) where seen.insert(change.key).inserted {
            try matcher.visit()
            let key = change.key.bytes
            guard let address = snapshot.address(of: key),
                context.access.isShared(address.collection),
                matcher.selects(for: address.collection),
                let document = try snapshot.document(key), !document.isRemnant
            else { continue }
            // A deletion is sent if the peer may have the document, as is one that matches no more.
            var isWanted = false
            for state in [document, change.before] where !isWanted {
                isWanted = try matcher.matches(
                    state, key: key, in: address.collection, snapshot.names)
            }
            guard isWanted else { continue }
            documents.append(snapshot.complete(document, key, address))
            length += documents[documents.count - 1].bytes.count
            guard length <= context.limits.furtherStep else { return nil }
        }
        return documents
    }
}
