/// The database systems built into this program.
enum Peers {
    /// Sheaf and all peers.
    static var engineAndAll: [Peer] { [SheafStore.peer] + all }

    /// All systems that store entries durably.
    static var all: [Peer] {
        [SQLiteStore.peer, LMDBStore.peer, RocksDBStore.peer, LevelDBStore.peer]
    }

    /// Sheaf and the peers that compact in the background.
    static var sweeping: [Peer] {
        [SheafStore.peer, RocksDBStore.peer, LevelDBStore.peer]
    }

    /// The peers that can keep entries in a log and replay it when opening.
    static let withLog = [SQLiteStore.peer, RocksDBStore.peer]
}
