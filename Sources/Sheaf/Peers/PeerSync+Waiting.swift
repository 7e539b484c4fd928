import SheafDocument

/// Waiting for commits to reach other peers, and the writes that these refuse.
extension PeerSync {
    /// Waits until a commit of this peer, or all of it that `peer` wants, is on the disk of `peer`.
    ///
    ///     let result = try await peer.store.execute("UPDATE orders SET status = 'shipped' WHERE ..")
    ///     if let commit = result.commitID { try await peer.sync.wait(for: commit, on: server) }
    ///
    /// If the peer has not subscribed since it connected, this waits until it does.
    ///
    /// Throws a ``RefusedWrite`` where the peer does not take a document of the commit for want of rights.
    public nonisolated(nonsending) func wait(for commit: Int64, on peer: PeerKey) async throws {
        switch try await board.wait(for: UInt64(clamping: commit), on: peer.bytes) {
        case .reached: return
        case .refused(let write): throw write
        case .refusedUnnamed(let count):
            throw StoreError(
                .limit,
                "the peer \(peer) has refused \(count) documents more than are recorded, and some of them may be "
                    + "of commit \(commit)",
                hint: "revert the writes in system:refused_writes, or have the rights changed")
        case .ended: throw StoreError.closed
        }
    }

    // MARK: Refused writes

    /// Documents written here that other peers are known to refuse for want of rights.
    ///
    /// The same as `system:refused_writes`. After a restart it is complete once the peers have
    /// connected again.
    public var refusedWrites: [RefusedWrite] { board.refusedWrites }

    /// Calls `listener` with refused writes: first those already known, then new ones.
    ///
    /// The listener must return soon. The log of the store has refused writes as well, as warnings.
    public func onRefusedWrites(_ listener: (@Sendable ([RefusedWrite]) -> Void)?) {
        board.onRefusedWrites(listener)
    }

    /// Removes a refused document here, so that a subscription brings it as the other peers have
    /// it.
    ///
    /// See ``revert(_:)-([RefusedWrite])``.
    public nonisolated(nonsending) func revert(_ write: RefusedWrite) async throws {
        try await revert([write])
    }

    /// Removes refused documents here in one transaction, so that subscriptions bring them as the
    /// other peers have them.
    ///
    /// Local writes to them that no other peer has taken are lost. A document that no other peer
    /// has, or that no subscription wants, is gone here. Writes that are not refused any more are
    /// skipped.
    public nonisolated(nonsending) func revert(_ writes: [RefusedWrite]) async throws {
        let known = Set(board.refusedWrites.map(RefusedDocument.init))
        let documents = Set(writes.map(RefusedDocument.init)).intersection(known)
        guard !documents.isEmpty else { return }
        try await store.takeAway(documents.map { ($0.collection, $0.id) })
    }
}

/// The document of a refused write, whatever peer refused it.
private struct RefusedDocument: Hashable {
    let collection: String
    let id: Value

    init(_ write: RefusedWrite) {
        (collection, id) = (write.collection, write.documentID)
    }
}
