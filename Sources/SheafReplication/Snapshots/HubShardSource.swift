package import SheafDocument
package import SheafEngine
package import SheafHubLog
import SheafStatements

/// A shard of a hub log at a position, and a snapshot of the store that has its documents.
package struct HubShardSource: Sendable {
    package let log: HubLogID
    package let shard: UInt16
    package let map: ShardMap
    package let author: HubAuthor
    /// All groups complete at this position are in `snapshot`.
    package let position: ShardPosition
    package let snapshot: DocumentSnapshot

    package init(
        log: HubLogID, shard: UInt16, map: ShardMap, author: HubAuthor, position: ShardPosition,
        snapshot: DocumentSnapshot
    ) {
        self.log = log
        self.shard = shard
        self.map = map
        self.author = author
        self.position = position
        self.snapshot = snapshot
    }
}

extension DocumentSnapshot {
    /// Names of the shared collections that may have documents of a shard, in the order of a
    /// snapshot.
    ///
    /// Documents of others are neither in the log nor in its snapshots.
    func collections(
        of shard: UInt16, in map: ShardMap, _ scopes: SyncScopes
    ) -> [String] {
        catalog.collections.sorted { UTF8Order.compare($0, $1) < 0 }.filter { name in
            guard scopes.allows(name, toServer: true) else { return false }
            return map.isSplit(name)
                || map.shard(of: DocumentAddress(collection: name, id: [])) == shard
        }
    }
}
