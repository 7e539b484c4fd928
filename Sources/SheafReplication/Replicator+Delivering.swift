import SheafEngine
package import SheafStorage
import SheafSync

/// Tracking of the newest local commit of which a peer has stored documents.
extension Replicator {
    /// The most recently written document of a batch or of a version list.
    struct NewestDocument {
        private var pointer: RecordPointer?

        package mutating func update(_ key: [UInt8], in snapshot: DocumentSnapshot) {
            let found = key.span.withUnsafeBytes { snapshot.log.recordPointer(of: $0) }
            guard let found else { return }
            if let pointer, pointer.position >= found.position { return }
            pointer = found
        }

        /// Returns the commit that wrote the document; nil if there is no document.
        package func commit(in snapshot: DocumentSnapshot) throws(EngineError) -> CommitID? {
            guard let pointer else { return nil }
            return try onStorage { () throws(StorageError) in
                try snapshot.log.operation(at: pointer).commit
            }
        }
    }

    /// Documents that were sent to the peer, or that it already has.
    package struct Delivery {
        /// The commit whose acknowledgment confirms that the peer has stored the documents.
        package let step: CommitID
        /// The newest commit that wrote one of the documents.
        package var commit: CommitID
    }

    /// Maximum number of unacknowledged deliveries; the last one absorbs further ones.
    private static let maximumDeliveries = 1_024

    /// Records that the peer will have documents of `commit` once it acknowledges `step`.
    func recordDelivery(of commit: CommitID, with step: CommitID, on connection: Connection) {
        guard let count = connection.sender?.deliveries.count else { return }
        let delivery = Delivery(step: step, commit: commit)
        if count < Self.maximumDeliveries {
            connection.sender?.deliveries.append(delivery)
        } else {
            connection.sender?.deliveries[count - 1] = delivery
        }
    }

    /// Records the delivery of a long batch.
    func recordDelivery(of outgoing: Outgoing, on connection: Connection) throws(EngineError) {
        let step = outgoing.snapshot.log.commit
        guard let commit = try outgoing.newestDocument.commit(in: outgoing.snapshot) else { return }
        recordDelivery(of: commit, with: outgoing.isRepeated ? step + 1 : step, on: connection)
    }

    /// Removes the acknowledged deliveries, and returns the newest commit of their documents.
    func removeDelivered(_ commit: CommitID, on connection: Connection) -> CommitID? {
        guard let deliveries = connection.sender?.deliveries else { return nil }
        let count = deliveries.prefix { $0.step <= commit }.count
        guard count > 0 else { return nil }
        connection.sender?.deliveries.removeFirst(count)
        return deliveries[..<count].map(\.commit).max()
    }
}
