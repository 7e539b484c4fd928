import Sheaf
import SheafStatements
import SheafStore
import SheafSystem
import Synchronization

/// Small commits during a first sync.
extension FirstSyncPeer {
    /// Interval between two commits.
    private static let commitNanoseconds: UInt64 = 50_000_000

    /// Starts a thread that commits one small document at a time, in each collection.
    func startWriting() throws {
        _ = try Thread(name: "live") { [self] in
            var due = Clock.system.monotonicNanoseconds()
            while isWriting {
                do {
                    for collection in FirstSyncStores.collections { try commit(to: collection) }
                } catch {
                    PeerReport.print("failed \(error)")
                }
                due += Self.commitNanoseconds
                Monitor(()).wait(until: due, while: { true })
            }
        }
    }

    private func commit(to collection: String) throws {
        let now = Clock.system.monotonicNanoseconds()
        let document: Value = [
            "_id": .string("live \(now)"), "kind": "live", "at": .integer(Int64(clamping: now)),
        ]
        try peer.store.transactionBlocking { transaction in
            try transaction.executeBlocking(
                DQL(verbatim: "INSERT INTO \(collection) DOCUMENTS (:document)"),
                ["document": document])
            return .commit
        }
    }

    /// Reports each new document of `startWriting` with the time since its commit.
    func observeLive(_ collection: String) throws -> StoreObserver {
        let seen = Mutex(Set<Int>())
        return try peer.store.observe(
            DQL(verbatim: "SELECT at FROM \(collection) WHERE kind = 'live'")
        ) { result in
            let now = Int(clamping: Clock.system.monotonicNanoseconds())
            for item in result.items {
                guard let commit = FirstSyncStores.integer(try item["at"]),
                    seen.withLock({ $0.insert(commit).inserted })
                else { continue }
                PeerReport.print("\(collection)", [("commit", commit), ("delay", now - commit)])
            }
        }
    }
}
