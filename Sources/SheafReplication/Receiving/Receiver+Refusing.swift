import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
package import SheafSync
import SheafTransport

/// Documents that a peer may not write, which are skipped and reported to the peer.
///
/// A write that only a hidden document forbids is not reported (`receiveHidden`).
extension Receiver {
    /// Logs the skipped documents of a peer, and reports them to it.
    func refuse(
        _ outcome: WriteJob.Outcome, _ context: PeerContext, on exchange: inout DocumentExchange
    ) {
        guard let first = outcome.refused.first else { return }
        let reported = outcome.refused.filter { context.access.isShared($0.address.collection) }
        context.queries.log?.write(
            .warning, "a peer has sent documents that it may not write; they were skipped",
            [
                "peer": PeerKey(unchecked: context.key).description,
                "documents": "\(outcome.refused.count)", "reported": "\(reported.count)",
            ].merging(first.address.logFields) { $1 })
        // All documents of an older subscription are sent again.
        guard outcome.generation == generation else { return }
        report(reported, on: &exchange)
    }

    /// Sends the notices, each with the documents of one commit and one reason.
    ///
    /// The last notices may be lost with the connection. Only peers with limited rights are refused
    /// documents; they reconcile at each connection, after which the notices are sent again.
    private func report(_ refused: [WriteJob.Refused], on exchange: inout DocumentExchange) {
        for notice in RefusedNotice.all(about: refused, generation: generation) {
            exchange.session.report(notice)
        }
    }
}

extension RefusedNotice {
    /// Returns the notices about all documents that a write job refused.
    package static func all(
        about refused: [WriteJob.Refused], generation: UInt64
    ) -> [RefusedNotice] {
        let named = refused.prefix(SyncLimits.refusedOfJob)
        var notices: [RefusedNotice] = []
        var rest = named[...]
        while let first = rest.first {
            var length = 0
            let part = rest.prefix(SyncLimits.refusedDocuments).prefix { document in
                length += document.address.memoryLength
                return document.commit == first.commit && document.reason == first.reason
                    && length < SyncLimits.frameLength / 2
            }
            rest = rest.dropFirst(part.count)
            notices.append(
                RefusedNotice(
                    generation: generation, commit: first.commit, first.reason,
                    part.map(\.address)))
        }
        guard let last = refused.last, refused.count > named.count else { return notices }
        notices.append(
            RefusedNotice(
                generation: generation, commit: last.commit, last.reason,
                omitted: UInt64(refused.count - named.count), []))
        return notices
    }
}
