/// The database systems built into this program.
enum Peers {
    /// Sheaf and all peers.
    static var engineAndAll: [Peer] { [SheafStore.peer] + all }

    /// All systems that store entries durably.
    static var all: [Peer] {
        var peers = [SQLiteStore.peer, LMDBStore.peer, RocksDBStore.peer]
        #if HAS_LEVELDB
            peers.append(LevelDBStore.peer)
        #endif
        return peers
    }

    /// Sheaf and the peers that compact in the background.
    static var sweeping: [Peer] {
        var peers = [SheafStore.peer, RocksDBStore.peer]
        #if HAS_LEVELDB
            peers.append(LevelDBStore.peer)
        #endif
        return peers
    }

    /// The peers that can keep entries in a log and replay it when opening.
    static let withLog = [SQLiteStore.peer, RocksDBStore.peer]
}
