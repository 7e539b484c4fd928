/// The systems of this machine.
enum Peers {
    /// The engine and its peers, for work that a task or a thread can do.
    static var engineAndAll: [Peer] { [SheafStore.peer] + all }

    /// All that store entries durably.
    static var all: [Peer] {
        var peers = [SQLiteStore.peer, LMDBStore.peer, RocksDBStore.peer]
        #if HAS_LEVELDB
            peers.append(LevelDBStore.peer)
        #endif
        return peers
    }

    /// The engine and those that sweep old versions away in the background.
    static var sweeping: [Peer] {
        var peers = [SheafStore.peer, RocksDBStore.peer]
        #if HAS_LEVELDB
            peers.append(LevelDBStore.peer)
        #endif
        return peers
    }

    /// Those that can leave entries in a log, and must replay it when they open.
    static let withLog = [SQLiteStore.peer, RocksDBStore.peer]
}
