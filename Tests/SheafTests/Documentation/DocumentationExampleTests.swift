import Sheaf
import SheafDocument
import SheafMesh
import SheafReplication
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// The code examples of the documentation.
struct DocumentationExampleTests {
    private let directory = TemporaryDirectory()
    private var path: String { directory.path + "/store" }

    @Test func `the examples of the first page run`() async throws {
        let store = try await Store.open(at: path)
        try await store.execute(
            "INSERT INTO cars DOCUMENTS ({ '_id': 'a', 'color': 'blue', 'mileage': 3000 })")
        let blue = try await store.execute("SELECT * FROM cars WHERE color = 'blue'")
        for item in blue.items {
            print(try item.jsonString)
        }
        try await store.close()
        #expect(blue.items.count == 1)
    }

    @Test func `the examples of Getting Started run`() async throws {
        let store = try await Store.open(at: path)
        let scratch = try await Store.inMemory()
        try await scratch.close()
        struct Car: Codable, Equatable {
            var _id: String
            var color: String
            var mileage: Int
        }
        let car = Car(_id: "a", color: "blue", mileage: 3_000)
        try await store.execute("INSERT INTO cars DOCUMENTS (:car)", ["car": car])
        try await store.execute(
            "INSERT INTO cars DOCUMENTS (:car)",
            ["car": ["_id": "b", "color": "red", "mileage": 12_000] as Value])
        let color = "green"
        try await store.execute("UPDATE cars SET color = \(color) WHERE _id = 'b'")
        let result = try await store.execute("SELECT * FROM cars WHERE mileage < 10000")
        for item in result.items {
            let color = try item["color"]
            let car = try item.decode(Car.self)
            print(color?.json ?? "no color", car.mileage)
        }
        #expect(try result.items.map { try $0.decode(Car.self) } == [car])
        try await store.close()
    }

    @Test func `the examples of Syncing run`() async throws {
        let network = MemoryNetwork()
        let key = PeerKey.random()
        let peer = try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: "cars", key: key, deviceName: "tablet",
                transports: [network.transport(for: key)]))
        try peer.sync.registerSubscription(
            "SELECT * FROM cars WHERE color = :color", ["color": "red"])
        try peer.sync.start()
        let otherKey = PeerKey.random()
        let other = try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: "cars", key: otherKey, transports: [network.transport(for: otherKey)]))
        try other.sync.registerSubscription("SELECT * FROM cars")
        try other.sync.start()
        let subscription = try peer.sync.registerSubscription(
            "SELECT * FROM cars WHERE year > 2020")
        subscription.cancel()
        let all = try peer.sync.registerSubscriptionToAllCollections()
        #expect(all.query == "*")
        all.cancel()
        try await peer.store.execute("ALTER SYSTEM SET dql_restrict_subscriptions = false")
        try await other.store.execute("ALTER SYSTEM SET dql_restrict_subscriptions = false")
        let cheapest = try peer.sync.registerSubscription(
            "SELECT * FROM cars ORDER BY price LIMIT 100")
        #expect(!cheapest.isCancelled)
        let result = try await peer.store.execute(
            "INSERT INTO cars DOCUMENTS ({ '_id': 'a', 'color': 'red' })")
        if let commit = result.commitID {
            try await peer.sync.wait(for: commit, on: other.key)
        }
        let rows = try await peer.store.execute("SELECT * FROM system:data_sync_info")
        #expect(rows.items.count == 1)
        for other in peer.presence.connectedPeers {
            guard let progress = other.receiving else { continue }
            print(other.deviceName, progress.documents, progress.remaining ?? 0)
        }
        let mine = try peer.sync.checksum(of: "SELECT * FROM cars")
        let theirs = try other.sync.checksum(of: "SELECT * FROM cars")
        #expect(mine == theirs && mine.count == 1)
        try peer.presence.setMetadata(["role": "waiter"])
        let observer = peer.presence.observe { graph in
            for remote in graph.remotePeers {
                print(remote.deviceName, remote.distance, remote.metadata)
            }
        }
        let names = peer.presence.graph.remotePeers.map(\.deviceName)
        observer.cancel()
        #expect(names.count <= 1)
        for await graph in other.presence.observe()
        where graph.remotePeers.first?.metadata == ["role": "waiter"] { break }
        try await peer.close()
        try await other.close()
    }

    @Test func `the examples of Sliding Windows run`() async throws {
        let network = MemoryNetwork()
        let (key, otherKey) = (PeerKey.random(), PeerKey.random())
        let peer = try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: "orders", key: key, transports: [network.transport(for: key)]))
        let other = try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: "orders", key: otherKey, transports: [network.transport(for: otherKey)])
        )
        try peer.sync.registerSubscription(
            "SELECT * FROM orders WHERE created > date_sub(clock(), 'hour', 24)")
        try await peer.store.execute("ALTER SYSTEM SET subscription_clock_interval_ms = 10000")
        for sync in [peer.sync, other.sync] { try sync.start() }
        let written = try await other.store.execute(
            """
            INSERT INTO orders DOCUMENTS ({ '_id': 'new', 'created': clock() }),
                ({ '_id': 'old', 'created': date_sub(clock(), 'hour', 25) })
            """)
        try await other.sync.wait(for: try #require(written.commitID), on: key)
        try await peer.store.execute(
            "EVICT FROM orders WHERE created <= date_sub(clock(), 'hour', 24)")
        let recent = try await peer.store.execute(
            "SELECT * FROM orders WHERE created > date_sub(clock(), 'hour', 24) ORDER BY created")
        #expect(recent.items.count == 1)
        let all = try await peer.store.execute("SELECT * FROM orders")
        #expect(all.items.count == 1)
        #expect(peer.sync.subscriptions[0].query.contains("clock()"))
        try await peer.close()
        try await other.close()
    }

    @Test func `the examples of Refused Writes run`() async throws {
        let network = MemoryNetwork()
        let (key, server) = (PeerKey.random(), PeerKey.random())
        let rights = PeerRights(read: ["cars": "true"], write: ["cars": "owner = 'ann'"])
        let peer = try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: "cars", key: key,
                transports: [network.transport(for: key, rights: rights)]))
        let other = try await Peer.inMemory(
            configuration: PeerConfiguration(
                databaseID: "cars", key: server, transports: [network.transport(for: server)]))
        for peer in [peer, other] {
            try peer.sync.registerSubscription("SELECT * FROM cars")
            try peer.sync.start()
        }
        let result = try await peer.store.execute(
            "INSERT INTO cars DOCUMENTS ({ '_id': 'a', 'owner': 'bob' })")
        let commit = try #require(result.commitID)
        do {
            try await peer.sync.wait(for: commit, on: server)
        } catch let refused as RefusedWrite {
            print(refused)
            try await peer.sync.revert(refused)
        }
        #expect(try await peer.store.execute("SELECT * FROM cars").items.isEmpty)
        try await peer.close()
        try await other.close()
    }

    @Test func `the examples of Queries run`() async throws {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO products DOCUMENTS ({ '_id': 'p0', 'price': null })")
        let unpriced = try await store.execute(
            "SELECT _id FROM products WHERE price IS MISSING OR price IS NULL")
        #expect(unpriced.items.count == 1)
        let field = "price"
        let cheap = try await store.execute(
            "SELECT * FROM products WHERE \(identifier: field) < :limit", ["limit": 100])
        #expect(cheap.items.isEmpty)
        let months = try await store.execute(
            """
            SELECT date_format(sold, '%Y-%m') AS month, COUNT(*) AS n FROM products
            GROUP BY month HAVING n > 10 ORDER BY 1
            """)
        #expect(months.items.isEmpty)
        try await store.execute("CREATE INDEX by_price ON products (price)")
        let plan = try await store.execute("EXPLAIN SELECT * FROM products WHERE price < 100")
        print(try plan.items[0].jsonString)
        #expect(try plan.items[0].jsonString.contains("by_price"))
        let written = try await store.execute(
            """
            INSERT INTO products DOCUMENTS ({ '_id': 'p1', 'price': 20 })
            ON ID CONFLICT DO UPDATE
            """)
        print(written.mutatedDocumentIDs, written.commitID ?? 0)
        #expect(written.mutatedDocumentIDs == ["p1"])
        try await store.close()
    }

    @Test func `the examples of Transactions run`() async throws {
        let store = try await Store.inMemory()
        try await store.execute(
            "INSERT INTO accounts DOCUMENTS ({ '_id': 'a', 'sum': 20 }), ({ '_id': 'b', 'sum': 1 })"
        )
        try await store.transaction(hint: "move money") { transaction in
            try await transaction.execute("UPDATE accounts SET sum = sum - 5 WHERE _id = 'a'")
            try await transaction.execute("UPDATE accounts SET sum = sum + 5 WHERE _id = 'b'")
            return .commit
        }
        let total = try await store.transaction { transaction in
            let sums = try await transaction.execute("SELECT SUM(sum) AS total FROM accounts")
            return try sums.items[0]["total"]
        }
        #expect(total == 21)
        try await store.transaction(hint: "report", isReadOnly: true) { transaction in
            let accounts = try await transaction.execute("SELECT * FROM accounts")
            let count = try await transaction.execute("SELECT COUNT(*) AS n FROM accounts")
            print(accounts.items.count, try count.items[0]["n"]?.json ?? "")
            return .commit
        }
        let insertion = try await store.transaction { transaction in
            try await transaction.execute("INSERT INTO accounts DOCUMENTS ({ '_id': 'c' })")
        }
        print(insertion.commitID ?? 0)
        #expect(insertion.commitID == 3)
        try await store.close()
    }

    @Test func `the examples of Observing run`() async throws {
        let store = try await Store.inMemory()
        try await store.execute(
            "INSERT INTO cars DOCUMENTS ({ '_id': 1, 'color': 'blue' }), ({ '_id': 2, 'color': 'red' })"
        )
        let observer = try store.observe(
            "SELECT * FROM cars WHERE color = :color", ["color": "blue"]
        ) { result in
            print(result.items.count, result.commitID ?? 0)
        }
        observer.cancel()
        for try await result in try store.observe("SELECT * FROM cars") {
            print(result.items.count)
            if result.items.count == 2 { break }
        }
        #expect(store.observers.isEmpty)
        let paced = try store.observe("SELECT * FROM cars") { result, signalNext in
            print(result.items.count)
            signalNext()
        }
        paced.cancel()
        let differ = Differ()
        var colors: [String?] = []
        for try await result in try store.observe("SELECT * FROM cars ORDER BY _id") {
            let diff = differ.diff(result.items)
            let current = try result.items.map { try $0["color"]?.json }
            colors.apply(diff, from: current)
            if colors.count == 2 { break }
        }
        #expect(colors == [#""blue""#, #""red""#])
        try await store.close()
    }

    @Test func `the examples of Merging and Limits run`() async throws {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO pages DOCUMENTS ({ '_id': 'start' })")
        try await store.execute(
            """
            UPDATE COLLECTION pages (views COUNTER) APPLY views INCREMENT BY 1
            WHERE _id = 'start'
            """)
        try await store.execute("UPDATE pages APPLY views RESTART WITH 100 WHERE _id = 'start'")
        try await store.execute(
            "INSERT INTO settings INITIAL DOCUMENTS ({ '_id': 'theme', 'name': 'light' })")
        try await store.execute("ALTER SYSTEM SET dql_request_timeout_seconds = 5")
        let timeout = try await store.execute("SHOW dql_request_timeout_seconds")
        print(try timeout.items[0].jsonString)
        #expect(try timeout.items[0].jsonString == #"{"dql_request_timeout_seconds":5}"#)
        try await store.close()
    }

    @Test func `the examples of Attachments run`() async throws {
        let store = try await Store.open(at: path)
        let copy = directory.path + "/copy"
        try await store.newAttachment(data: [1, 2, 3]).copy(to: directory.path + "/photo")
        try await attach(store, directory.path + "/photo")
        let result = try await store.execute("SELECT photo FROM cars WHERE _id = 'a'")
        if let value = try result.items[0]["photo"],
            let photo = try await store.attachment(AttachmentToken(value))
        {
            let bytes = try await photo.data()
            print(bytes.count, photo.metadata["type"] ?? "")
            try await photo.copy(to: copy)
        }
        #expect(
            try PosixVolume(path: directory.path, creatingDirectory: false).names().contains("copy")
        )
        try await store.close()
    }

    private func attach(_ store: Store, _ path: String) async throws {
        let photo = try await store.newAttachment(
            path: path, metadata: ["type": "image/jpeg"])
        try await store.execute(
            "INSERT INTO COLLECTION cars (photo ATTACHMENT) DOCUMENTS (:car)",
            ["car": ["_id": "a", "photo": photo.token.value] as Value])
    }

    @Test func `the examples of Reliability run`() async throws {
        let store = try await Store.open(at: path)
        do {
            try await store.execute("UPDATE cars SET color = 'red'")
        } catch let error as StoreError where error.reason == .full {
            print("Make room, then open the store again: \(error)")
        }
        let reader = try await Store.open(at: path, options: StoreOptions(isReadOnly: true))
        try await reader.refresh()
        for try await cars in try reader.observe("SELECT * FROM cars") {
            print(cars.items.count)
            if cars.items.isEmpty { break }
        }
        try await reader.close()
        try await store.close()
    }

    @Test func `the example of backups copies an open store, and shares files`() async throws {
        let store = try await Store.open(at: directory.path("store"))
        try await store.execute("INSERT INTO cars DOCUMENTS ({ '_id': 'a' })")
        let monday = directory.path("monday")
        try await store.backup(to: monday)
        try await store.execute("INSERT INTO cars DOCUMENTS ({ '_id': 'b' })")
        let summary = try await store.backup(to: directory.path("tuesday"), since: monday)
        print("copied \(summary.copiedBytes) bytes, shared \(summary.sharedBytes)")
        try await Store.restore(from: monday, to: directory.path("restored"))
        let restored = try await Store.open(at: directory.path("restored"))
        let rows = try await restored.execute("SELECT * FROM cars")
        #expect(rows.items.count == 1)
        try await restored.close()
        try await store.close()
    }
}
