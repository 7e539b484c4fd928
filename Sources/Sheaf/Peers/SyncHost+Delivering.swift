import SheafStorage

/// The newest commit of which another peer has documents.
extension SyncHost {
    /// The document of a step or a list that was written last.
    struct NewestDocument {
        private var place: Place?

        mutating func note(_ key: [UInt8], in snapshot: DocumentSnapshot) {
            let found = key.span.withUnsafeBytes { snapshot.log.place(of: $0) }
            guard let found else { return }
            if let place, place.position >= found.position { return }
            place = found
        }

        /// Returns the commit that wrote it; nil where there is no document.
        func commit(in snapshot: DocumentSnapshot) throws(EngineError) -> CommitID? {
            guard let place else { return nil }
            return try onStorage { () throws(StorageError) in
                try snapshot.log.operation(at: place).commit
            }
        }
    }

    /// Documents that were sent, or that the other side has already.
    struct Delivery {
        /// The commit whose acknowledgement shows that they are durable there.
        let step: CommitID
        /// The newest commit that has written one of them.
        var commit: CommitID
    }

    /// Maximum number of deliveries that wait for their acknowledgements; of more, the last ones are one.
    private static let mostDeliveries = 1_024

    /// Records that the other side has documents once it acknowledges `step`.
    func noteDelivery(of commit: CommitID, with step: CommitID, on link: Link) {
        guard let count = link.telling?.deliveries.count else { return }
        let delivery = Delivery(step: step, commit: commit)
        if count < Self.mostDeliveries {
            link.telling?.deliveries.append(delivery)
        } else {
            link.telling?.deliveries[count - 1] = delivery
        }
    }

    /// Notes that a long step was sent.
    func noteDelivery(of outgoing: Outgoing, on link: Link) throws(EngineError) {
        let step = outgoing.snapshot.log.commit
        guard let commit = try outgoing.newest.commit(in: outgoing.snapshot) else { return }
        noteDelivery(of: commit, with: outgoing.isRepeated ? step + 1 : step, on: link)
    }

    /// Returns the newest commit of which the other side has documents now that it has acknowledged one.
    func takeDelivered(_ commit: CommitID, on link: Link) -> CommitID? {
        guard let deliveries = link.telling?.deliveries else { return nil }
        let count = deliveries.prefix { $0.step <= commit }.count
        guard count > 0 else { return nil }
        link.telling?.deliveries.removeFirst(count)
        return deliveries[..<count].map(\.commit).max()
    }
}
