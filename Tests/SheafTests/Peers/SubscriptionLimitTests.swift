import Sheaf
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// The limits of subscriptions, and the errors beyond them.
struct SubscriptionLimitTests {
    /// Returns a query that matches the cars with one number, and is longer by `length`.
    private func query(_ number: Int, length: Int = 0) -> DQL {
        let padding = String(repeating: "x", count: length)
        return DQL(verbatim: "SELECT * FROM cars WHERE n = \(number) AND '\(padding)' != 'y'")
    }

    @Test func `4,096 subscriptions in several frames deliver their documents`() async throws {
        let scene = try await PeerScene(2)
        let (left, right) = (scene.peers[0], scene.peers[1])
        try await left.store.execute(
            "INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 0}), ({'_id': 'b', 'n': 4095}), ({'_id': 'c', 'n': 4096})"
        )
        for number in 0..<SyncLimits.queries {
            try right.sync.registerSubscription(query(number, length: 900))
        }
        scene.connect(0, 1)
        try await right.items(of: "SELECT _id FROM cars ORDER BY _id") {
            $0 == [#"{"_id":"a"}"#, #"{"_id":"b"}"#]
        }
        #expect(try left.sync.surveys().map { $0.queries?.count } == [SyncLimits.queries])
        try await scene.close()
    }

    @Test func `a subscription above a limit is rejected with an error that states the limit`()
        async throws
    {
        let scene = try await PeerScene(1)
        let sync = scene.peers[0].sync
        func message(_ query: DQL, _ arguments: QueryArguments = [:]) -> String {
            do {
                try sync.registerSubscription(query, arguments)
                return "accepted"
            } catch {
                return "\(error)"
            }
        }
        let long = message(query(1, length: SyncLimits.queryLength))
        #expect(long.contains("65,") || long.contains("65536"), "\(long)")
        #expect(long.contains("query of a subscription has"), "\(long)")
        let wide = message(
            "SELECT * FROM cars WHERE n = :n",
            ["n": String(repeating: "x", count: SyncLimits.argumentsLength)])
        #expect(wide.contains("arguments of a subscription have"), "\(wide)")
        #expect(wide.contains("262144"), "\(wide)")
        // Rejected queries do not count, and a query subscribed to twice counts once.
        for number in 0..<SyncLimits.queries { try sync.registerSubscription(query(number)) }
        try sync.registerSubscription(query(7))
        let many = message(query(SyncLimits.queries))
        #expect(many.contains("4097 subscriptions; 4096 are allowed"), "\(many)")
        sync.subscriptions[3].cancel()
        #expect(message(query(SyncLimits.queries)) == "accepted")
        try await scene.close()
    }

    @Test func `queries that exceed the total length are rejected with the limit`() async throws {
        let scene = try await PeerScene(1)
        let sync = scene.peers[0].sync
        for number in 0..<69 {
            do {
                try sync.registerSubscription(query(number, length: 60 << 10))
                #expect(number < 68)
            } catch {
                #expect(number == 68)
                #expect("\(error)".contains("4194304 are allowed"), "\(error)")
            }
        }
        try await scene.close()
    }

    /// The LIMITs of both queries together exceed the limit of all subscriptions.
    @Test func `a query counts until each of its subscriptions is removed`() throws {
        let store = try SceneStore(SimulatedVolume(seed: 1), LogStoreOptions())
        let queries = try store.subscriptions([
            "SELECT * FROM cars ORDER BY n LIMIT 40000",
            "SELECT * FROM boats ORDER BY n LIMIT 40000",
        ])
        var tally = SubscriptionTally()
        for _ in 0..<3 { try tally.add(queries[0]) }
        // It was not added.
        tally.remove(queries[1])
        for _ in 0..<3 {
            var full = tally
            #expect(throws: StoreError.self) { try full.add(queries[1]) }
            tally.remove(queries[0])
        }
        try tally.add(queries[1])
        #expect(throws: StoreError.self) { try tally.add(queries[0]) }
    }

    @Test func `a query is not sent while another one covers it`() async throws {
        let scene = try await PeerScene(2)
        let (left, right) = (scene.peers[0], scene.peers[1])
        try await left.store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a', 'n': 1})")
        for number in 0..<100 { try right.sync.registerSubscription(query(number % 10)) }
        let all = try right.sync.registerSubscription("SELECT * FROM cars")
        try right.sync.registerSubscription("SELECT * FROM boats WHERE n = 1")
        scene.connect(0, 1)
        try await right.items(of: "SELECT * FROM cars") { $0.count == 1 }
        #expect(
            try left.sync.surveys().map(\.queries) == [
                ["SELECT * FROM cars", "SELECT * FROM boats WHERE n = 1"]
            ])
        // Without the query that covered them, the other queries are sent.
        all.cancel()
        try await left.store.execute(
            "INSERT INTO cars DOCUMENTS ({'_id': 'b', 'n': 99}), ({'_id': 'c', 'n': 2})")
        try await right.items(of: "SELECT _id FROM cars ORDER BY _id") {
            $0 == [#"{"_id":"a"}"#, #"{"_id":"c"}"#]
        }
        #expect(try left.sync.surveys().map { $0.queries?.count } == [11])
        try await scene.close()
    }

    /// Measures each length in the error of a longer subscription.
    @Test func `subscriptions of exactly the maximum lengths are accepted`() async throws {
        let scene = try await PeerScene(1)
        let sync = scene.peers[0].sync
        /// Returns the first number of the error; nil if the subscription is accepted.
        func refused(_ query: DQL, _ arguments: QueryArguments = [:]) -> Int? {
            do {
                try sync.registerSubscription(query, arguments)
                return nil
            } catch {
                return "\(error)".split(separator: " ").compactMap { Int($0) }.first
            }
        }
        let excess = try #require(refused(query(1, length: 65_536))) - 65_536
        #expect(refused(query(1, length: 65_537 - excess)) == 65_537)
        #expect(refused(query(1, length: 65_536 - excess)) == nil)
        func wide(_ length: Int) -> Int? {
            refused("SELECT * FROM cars WHERE n = :n", ["n": String(repeating: "x", count: length)])
        }
        let overhead = try #require(wide(262_144)) - 262_144
        #expect(wide(262_145 - overhead) == 262_145)
        #expect(wide(262_144 - overhead) == nil)
        for subscription in sync.subscriptions { subscription.cancel() }
        // 68 queries of 60 KiB leave room for a shorter one.
        for number in 10..<78 { #expect(refused(query(number, length: 60 << 10)) == nil) }
        let total = try #require(refused(query(78, length: 60 << 10)))
        let rest = (60 << 10) - (total - 4_194_304)
        #expect(refused(query(78, length: rest + 1)) == 4_194_305)
        #expect(refused(query(78, length: rest)) == nil)
        try await scene.close()
    }
}
