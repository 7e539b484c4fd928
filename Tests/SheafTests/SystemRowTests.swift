import Sheaf
import SheafEngine
import SheafStatements
import Synchronization
import Testing

/// Rows of system collections about the running store or peer, and warnings in its log.
@Suite struct SystemRowTests {
    private func rows(_ store: Store, _ query: DQL) async throws -> [String] {
        try await store.execute(query).items.map { try $0.jsonString }
    }

    @Test func `cached statements are listed with their parameters, most recently used first`()
        async throws
    {
        let store = try await Store.inMemory()
        let listing: DQL = "SELECT statement, parameters FROM system:shared_statements"
        let own = #"{"parameters":[],"statement":"\#(listing.text)"}"#
        #expect(try await rows(store, listing) == [own])
        try await store.execute(
            "SELECT * FROM t WHERE a = :a AND b > :b AND c < :a", ["a": 1, "b": 2])
        try await store.execute("DELETE FROM t WHERE _id = \(5)")
        let text = "SELECT * FROM t WHERE a = :a AND b > :b AND c < :a"
        let read = #"{"parameters":["a","b"],"statement":"\#(text)"}"#
        let deletion = #"{"parameters":["$1"],"statement":"DELETE FROM t WHERE _id = :$1"}"#
        #expect(try await rows(store, listing) == [own, deletion, read])
        // A repeated text is not listed twice, and an invalid text is not listed.
        try await store.execute(
            "SELECT * FROM t WHERE a = :a AND b > :b AND c < :a", ["a": 3, "b": 4])
        await #expect(throws: StoreError.self) { try await store.execute("SELECT FROM t") }
        #expect(try await rows(store, listing) == [own, read, deletion])
        #expect(
            try await rows(
                store, "SELECT COUNT(*) AS n FROM system:shared_statements WHERE _id = statement")
                == [#"{"n":4}"#])
        try await store.close()
    }

    @Test func `the row of an observer counts its results`() async throws {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'n': 1})")
        let listing: DQL = "SELECT * FROM system:observers"
        #expect(try await rows(store, listing).isEmpty)
        let (results, continuation) = AsyncStream.makeStream(of: Int.self)
        let observer = try store.observe("SELECT * FROM t WHERE n > 0") { result in
            continuation.yield(result.items.count)
        }
        var iterator = results.makeAsyncIterator()
        #expect(await iterator.next() == 1)
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 2, 'n': 1})")
        #expect(await iterator.next() == 2)
        let columns: DQL =
            "SELECT statement, runs, updates, rows, kind, error FROM system:observers"
        #expect(
            try await rows(store, columns) == [
                #"{"error":null,"kind":"incremental","rows":2,"runs":1,"statement":"#
                    + #""SELECT * FROM t WHERE n > 0","updates":1}"#
            ])
        observer.cancel()
        #expect(try await rows(store, listing).isEmpty)
        try await store.close()
    }

    @Test func `the numbers of the store follow its commits`() async throws {
        let store = try await Store.inMemory()
        func number(_ name: String) async throws -> Int {
            let found = try await store.execute(
                "SELECT value FROM system:health WHERE name = :name", ["name": name])
            let value: Value? = try found.items.first?.value["value"]
            guard case .integer(let number)? = value else { return -1 }
            return Int(number)
        }
        let flushes = try await number("flushes")
        for id in 0..<10 {
            try await store.execute(
                "INSERT INTO t DOCUMENTS ({'_id': :id})", ["id": id])
        }
        #expect(try await number("flushes") == flushes + 10)
        #expect(try await number("commit") == 10)
        #expect(try await number("log_bytes") > number("live_bytes"))
        #expect(try await number("live_bytes") > 10 * 20)
        #expect(try await number("flush_longest_nanoseconds") >= number("flush_last_nanoseconds"))
        #expect(try await number("process_memory_bytes") > 1 << 20)
        #expect(try await number("is_writable") == 1)
        try await store.close()
    }

    @Test func `the rows of peers have their connections`() async throws {
        let scene = try await PeerScene(2)
        scene.connect(0, 1)
        for peer in scene.peers {
            let found = try await peer.items(of: "SELECT * FROM system:presence") {
                $0.count == 2
            }
            let other = scene.peers[peer.key == scene.peers[0].key ? 1 : 0].key
            #expect(found[0].contains(#""kind":"local""#) && found[1].contains(#""kind":"remote""#))
            #expect(found[0].contains(#""connections":[{"bytesReceived":"#))
            let connection =
                #""peer":"\#(other)","receiving":null,"sending":null,"transport":"memory"}]"#
            #expect(found[0].contains(connection))
        }
        try await scene.close()
    }

    @Test func `the row of a transport shows whether it is active`() async throws {
        let scene = try await PeerScene(2)
        let (left, right) = (scene.peers[0], scene.peers[1])
        try right.sync.registerSubscription("SELECT * FROM cars")
        scene.connect(0, 1)
        try await left.store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        try await right.items(of: "SELECT * FROM cars") { $0.count == 1 }
        for peer in scene.peers {
            #expect(
                try await rows(peer.store, "SELECT * FROM system:transports_info")
                    == [#"{"_id":"0","is_active":true,"transport":"MemoryTransport"}"#])
        }
        left.sync.stop()
        #expect(
            try await rows(
                left.store, "SELECT is_active FROM system:transports_info WHERE _id = '0'")
                == [#"{"is_active":false}"#])
        try await scene.close()
    }

    @Test func `each transport of a peer has one row`() async throws {
        for count in [0, 2] {
            let key = PeerKey.random()
            let networks = (0..<count).map { _ in MemoryNetwork(connectsAll: false) }
            let peer = try await Peer.inMemory(
                configuration: PeerConfiguration(
                    databaseID: "rows", key: key, deviceName: "peer",
                    transports: networks.map { $0.transport(for: key) }))
            #expect(
                try await rows(
                    peer.store, "SELECT _id, is_active FROM system:transports_info ORDER BY _id")
                    == (0..<count).map { #"{"_id":"\#($0)","is_active":false}"# })
            try await peer.close()
        }
    }

    @Test func `unknown indexes and parameters without effect are logged as warnings`()
        async throws
    {
        let warnings = Warnings()
        let log = StoreLog(from: .warning) { level, message, metadata in
            warnings.record("\(level) \(message): \(metadata["statement"] ?? "")")
        }
        let store = try await Store.inMemory(options: StoreOptions(log: log))
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1, 'color': 'red'})")
        try await store.execute("CREATE INDEX by_color ON cars (color)")
        try await store.execute("ALTER SYSTEM SET tombstone_ttl_hours = 24")
        try await store.execute("SELECT * FROM cars USE INDEX by_color WHERE color = 'red'")
        try await store.execute("SELECT * FROM cars USE INDEX (by_color) WHERE color = 'red'")
        #expect(warnings.all == [])
        try await store.execute("ALTER SYSTEM SET transports_ble_enabled = false")
        try await store.execute("ALTER SYSTEM SET Rotating_Log_File_Max_Age_H TO 1")
        try await store.execute("SELECT * FROM cars USE INDEX (by_colour) WHERE color = 'red'")
        try await store.execute(
            "SELECT * FROM cars USE DIRECTIVES '{\"#index\": [\"by_color\", \"none\"]}'")
        #expect(
            warnings.all == [
                "warning the parameter transports_ble_enabled is accepted for compatibility, without effect: "
                    + "ALTER SYSTEM SET transports_ble_enabled = false",
                "warning the parameter rotating_log_file_max_age_h is accepted for compatibility, without effect: "
                    + "ALTER SYSTEM SET Rotating_Log_File_Max_Age_H TO …",
                "warning cars has no index by_colour: did you mean by_color?: "
                    + "SELECT * FROM cars USE INDEX (by_colour) WHERE color = …",
                "warning cars has no index none: SELECT * FROM cars USE DIRECTIVES …",
            ])
        try await store.close()
    }
}

/// The messages of a log in order.
private final class Warnings: Sendable {
    private let messages = Mutex<[String]>([])

    var all: [String] { messages.withLock { $0 } }

    func record(_ message: String) {
        messages.withLock { $0.append(message) }
    }
}
