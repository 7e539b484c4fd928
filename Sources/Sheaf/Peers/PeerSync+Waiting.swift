import SheafDocument
public import SheafReplication
public import SheafTransport

/// Waiting for commits to reach other peers, and the writes that peers refuse.
extension PeerSync {
    /// Waits until `peer` has made its subscribed part of a local commit durable.
    ///
    ///     let result = try await peer.store.execute("UPDATE orders SET isShipped = true WHERE ..")
    ///     if let commit = result.commitID { try await peer.sync.wait(for: commit, on: server) }
    ///
    /// If the peer has not subscribed since it connected, this waits until it does.
    ///
    /// Throws a ``RefusedWrite`` if the peer refuses a document of the commit for lack of rights.
    public nonisolated(nonsending) func wait(for commit: Int64, on peer: PeerKey) async throws {
        switch try await registry.wait(for: UInt64(clamping: commit), on: peer.bytes) {
        case .reached: return
        case .refused(let write): throw write
        case .refusedUnnamed(let count):
            throw StoreError(
                .limit,
                "the peer \(peer) has refused \(count) documents beyond the maximum recorded; "
                    + "some of them may belong to commit \(commit)",
                hint: "revert the writes in system:refused_writes, or extend this peer's rights")
        case .ended: throw StoreError.closed
        }
    }

    /// Waits until a peer has the documents that a typed call wrote.
    ///
    ///     let written = try await cars.insert(car)
    ///     try await peer.sync.wait(for: written, on: other.key)
    public nonisolated(nonsending) func wait(
        for written: WrittenDocuments, on peer: PeerKey
    ) async throws {
        guard let commit = written.commitID else {
            throw StoreError(
                .meaning, "the documents are not committed, so no other peer can have them",
                hint: "wait after the transaction has ended")
        }
        try await wait(for: commit, on: peer)
    }

    /// The local writes that other peers refuse for lack of rights.
    ///
    /// These are the rows of `system:refused_writes`. After a restart the list is complete once all
    /// peers have connected again.
    public var refusedWrites: [RefusedWrite] { registry.refusedWrites }

    /// Calls `listener` with refused writes: first the known ones, then new ones.
    ///
    /// The listener must return quickly. Refused writes are also logged as warnings.
    public func onRefusedWrites(_ listener: (@Sendable ([RefusedWrite]) -> Void)?) {
        registry.onRefusedWrites(listener)
    }

    /// Removes the local copy of a refused document, which a subscription then restores.
    ///
    /// See ``revert(_:)-([RefusedWrite])``.
    public nonisolated(nonsending) func revert(_ write: RefusedWrite) async throws {
        try await revert([write])
    }

    /// Removes the local copies of refused documents in one transaction.
    ///
    /// Subscriptions then restore the states of other peers. Local writes that no other peer has
    /// accepted are lost. A document that no other peer has, or no subscription matches, is not
    /// restored. Writes that are not currently refused are skipped.
    public nonisolated(nonsending) func revert(_ writes: [RefusedWrite]) async throws {
        let known = Set(registry.refusedWrites.map(RefusedDocument.init))
        let documents = Set(writes.map(RefusedDocument.init)).intersection(known)
        guard !documents.isEmpty else { return }
        try await store.evict(documents.map { ($0.collection, $0.id) })
    }
}

/// The document of a refused write, regardless of the peer that refused it.
private struct RefusedDocument: Hashable {
    let collection: String
    let id: Value

    init(_ write: RefusedWrite) {
        (collection, id) = (write.collection, write.documentID)
    }
}
