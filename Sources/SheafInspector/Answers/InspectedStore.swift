import Sheaf
import SheafDocument
import SheafStatements
import SheafStorage
import SheafStore
import SheafSystem

/// The store that an inspector shows, and its peer.
struct InspectedStore: Sendable {
    let store: Store
    /// The peer of the store; nil if it is not replicated by this process.
    let peer: Peer?
    let isWritable: Bool

    init(_ store: Store, _ peer: Peer?, isWritable: Bool) {
        (self.store, self.peer, self.isWritable) = (store, peer, isWritable)
    }

    /// The newest commit that statements read.
    var commit: CommitID { store.queries.snapshot().log.commit }

    /// Reads the commits of other processes; does nothing for a store that is open for writing.
    func refresh() throws(ErrorAnswer) {
        do throws(StoreError) { try store.refreshNow() } catch { throw ErrorAnswer(error) }
    }

    /// Returns the answer of `GET /about`.
    func about() throws(ErrorAnswer) -> Object {
        try refresh()
        return [
            "path": .string(store.path ?? "memory"), "commit": .integer(Int64(clamping: commit)),
            "isWritable": .bool(isWritable), "hasPeer": .bool(peer != nil),
            "version": .string(SheafVersion.current),
        ]
    }
}
