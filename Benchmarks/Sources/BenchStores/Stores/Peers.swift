/// The database systems built into this program.
package enum BenchmarkPeers {
    /// Sheaf and all peers.
    static var engineAndAll: [BenchmarkPeer] { [SheafStore.peer] + all }

    /// All peers: the other systems that store entries durably.
    static var all: [BenchmarkPeer] {
        [SQLiteStore.peer, LMDBStore.peer, RocksDBStore.peer, LevelDBStore.peer]
    }

    /// Sheaf and the peers that compact in the background.
    static var sweeping: [BenchmarkPeer] {
        [SheafStore.peer, RocksDBStore.peer, LevelDBStore.peer]
    }

    /// The peers that can keep entries in a log and replay it when opening.
    static let withLog = [SQLiteStore.peer, RocksDBStore.peer]
}
