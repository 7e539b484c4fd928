package import SheafAttachments
import SheafEngine
package import SheafReplication
package import SheafStatements
import SheafStorage
import SheafSystem

/// A peer that is a hub, as the threads see it that maintain its log.
package protocol HubPeer: SnapshotStore {
    var queries: QueryEngine { get }
    var attachments: AttachmentStore { get }

    /// Blocks, and returns the answer of the replicator; throws after the peer has stopped.
    func ask<Answer: Sendable>(
        _ question: @escaping @Sendable (Replicator) -> Answer
    ) throws(SnapshotFailure) -> Answer

    /// Blocks until the peer shares the documents of its store by a log.
    func share(_ configuration: HubFeedConfiguration) throws(SnapshotFailure)
}

extension HubPeer {
    /// The time in milliseconds since 1970.
    var wallMilliseconds: UInt64 { queries.options.clock.wallMilliseconds() }

    /// Blocks until nothing is shared, and no job of the log writes to the store.
    func stopSharing(until stop: EvaluationStop) throws(SnapshotFailure) {
        try ask { $0.stopSharing() }
        while try ask({ $0.isWritingFromLog }) {
            guard !stop.isSet else { throw .stopped }
            Thread.yield()
        }
    }
}
