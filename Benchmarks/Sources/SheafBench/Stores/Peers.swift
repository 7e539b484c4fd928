/// The peers of this machine.
enum Peers {
    /// All that store entries durably.
    static var all: [Peer] {
        var peers = [SQLiteStore.peer, LMDBStore.peer, RocksDBStore.peer]
        #if HAS_LEVELDB
            peers.append(LevelDBStore.peer)
        #endif
        return peers
    }

    /// Those that can leave entries in a log, and must replay it when they open.
    static let withLog = [SQLiteStore.peer, RocksDBStore.peer]
}
