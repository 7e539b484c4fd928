import Sheaf
import SheafTestSupport
import Synchronization
import Testing

/// Saved documents of changing shapes: reading one returns what was saved.
@Suite struct TypedShapeTests {
    private enum State: Codable, Equatable, Sendable {
        case none
        case paid(by: String, sum: Int)
        case sent(Int)
    }

    private struct Order: Codable, Equatable, Sendable {
        var _id = "a"
        var state = State.none
        var any: Value = 1
        var notes: [String: String] = [:]
    }

    private static let shapes: [Value] = [
        1, "x", [1, 2], .null, ["a": 1], ["b": 2], ["a": 1, "s": 5], [:], ["a": ["x": 1, "y": 2]],
        ["a": ["z": 3]], ["a": [1]], ["a": "t", "b": ["c": [:]]], true, 2.5,
    ]

    @Test(arguments: [false, true])
    func `a saved document is read as it was saved, whatever its shape was`(
        isStrict: Bool
    ) async throws {
        var random = SeededRandom(seed: 7, "shapes")
        var options = StoreOptions()
        options.isStrict = isStrict
        let store = try await Store.inMemory(options: options)
        let orders = store.collection("orders", of: Order.self)
        try await orders.insert(Order())
        let states: [State] = [.none, .paid(by: "ann", sum: 5), .paid(by: "bob", sum: 6), .sent(1)]
        for _ in 0..<300 {
            var next = Order()
            next.any = Self.shapes.randomElement(using: &random) ?? 1
            next.state = states.randomElement(using: &random) ?? .none
            for key in ["x", "y", "z"] where Bool.random(using: &random) {
                next.notes[key] = "\(Int.random(in: 0...2, using: &random))"
            }
            if Bool.random(using: &random) {
                try await orders.update("a") { $0 = next }
            } else {
                try await orders.upsert(next)
            }
            #expect(try await orders.get("a") == next)
        }
    }

    @Test func `objects that a store in strict mode wrote keep their other fields`() async throws {
        let folder = StoreFolder()
        try await folder.withStore(isStrict: true) { store in
            try await store.execute(
                """
                INSERT INTO orders DOCUMENTS
                    ({'_id': 'a', 'state': {'none': {}}, 'any': {'a': 1, 'b': 2}, 'notes': {'x': '1', 'z': '3'}})
                """)
        }
        try await folder.withStore(isStrict: false) { store in
            let orders = store.collection("orders", of: Order.self)
            try await orders.update("a") { $0.notes["y"] = "2" }
            #expect(try await orders.get("a")?.notes == ["x": "1", "y": "2", "z": "3"])
            let old = Order(any: ["a": 1])
            try await orders.save(Order(any: ["a": 3]), over: old)
            #expect(try await orders.get("a")?.any == ["a": 3, "b": 2])
            try await orders.update("a") { $0.notes["x"] = nil }
            #expect(try await orders.get("a")?.notes == ["y": "2", "z": "3"])
        }
    }

    @Test func `an object that a statement has hidden does not come back`() async throws {
        let store = try await Store.inMemory()
        let orders = store.collection("orders", of: Order.self)
        try await orders.insert(Order(any: ["a": 1, "s": 5]))
        try await store.execute("UPDATE orders SET `any` = 5")
        try await orders.update("a") { $0.any = ["b": 2] }
        #expect(try await orders.get("a")?.any == ["b": 2])
    }

    @Test(arguments: ["COUNTER", "PN_COUNTER"])
    func `a counter is incremented by the difference`(type: String) async throws {
        struct Page: Codable, Sendable {
            var _id: String
            var views: Int
        }
        let store = try await Store.inMemory()
        try await store.execute(
            DQL(
                verbatim: "INSERT INTO COLLECTION pages (views \(type)) "
                    + "DOCUMENTS ({'_id': 'a', 'views': 5})"))
        let pages = store.collection("pages", of: Page.self)
        let first = try #require(try await pages.get("a"))
        try await pages.update("a") { $0.views += 2 }
        var second = first
        second.views += 10
        try await pages.save(second, over: first)
        #expect(try await pages.get("a")?.views == 17)
    }

    @Test func `fields that the type does not know are kept within objects`() async throws {
        let store = try await Store.inMemory()
        try await store.execute(
            """
            INSERT INTO orders DOCUMENTS
                ({'_id': 'a', 'state': {'none': {}}, 'any': {'a': 1}, 'notes': {}, 'more': {'k': 1}})
            """)
        let orders = store.collection("orders", of: Order.self)
        try await store.execute("UPDATE orders SET `any`.b = 2")
        let old = Order(any: ["a": 1])
        var new = old
        new.any = ["a": 3]
        try await orders.save(new, over: old)
        #expect(try await orders.get("a")?.any == ["a": 3, "b": 2])
        #expect(try await store.fetchValue("SELECT more.k FROM orders") == 1)
    }

    @Test func `large documents are logged, whichever call writes them`() async throws {
        let logged = Mutex<[String]>([])
        let log = StoreLog(from: .warning) { _, message, _ in logged.withLock { $0.append(message) }
        }
        let store = try await Store.inMemory(options: StoreOptions(log: log))
        try await store.execute("ALTER SYSTEM SET document_size_soft_limit_bytes = 1000")
        let orders = store.collection("orders", of: Order.self)
        try await orders.insert(Order())
        let large = Order(any: .string(String(repeating: "x", count: 2_000)))
        try await orders.update("a") { $0 = large }
        try await orders.update("a") { $0.any = 1 }
        #expect(logged.withLock { $0.count } == 1)
        try await orders.upsert([large, Order(_id: "b", any: large.any)])
        #expect(logged.withLock { $0.count } == 3)
        #expect(logged.withLock { $0.allSatisfy { $0.contains("soft_limit") } })
    }

    @Test func `ids of one upsert differ, also in different portions`() async throws {
        let store = try await Store.inMemory()
        let orders = store.collection("orders", of: Order.self)
        let many = (0..<1_500).map { Order(_id: "\($0)") }
        for list in [[Order(), Order()], [Order()] + many + [Order()]] {
            let error = await #expect(throws: StoreError.self) { try await orders.upsert(list) }
            #expect(error?.reason == .conflict)
        }
        #expect(try await orders.count() == 0)
        #expect(try await orders.upsert(many).count == 1_500)
        #expect(try await orders.upsert(many).isEmpty)
    }

    @Test func `conditions with a limit are read, but not counted`() async throws {
        let store = try await Store.inMemory()
        let orders = store.collection("orders", of: Order.self)
        try await orders.insert((0..<10).map { Order(_id: "\($0)") })
        #expect(try await orders.fetchOne(where: "TRUE ORDER BY _id DESC")?._id == "9")
        #expect(try await orders.fetchOne(where: "TRUE ORDER BY _id LIMIT 3")?._id == "0")
        await #expect(throws: StoreError.self) { try await orders.count(where: "TRUE LIMIT 3") }
    }

    @Test func `a collection is not used within the transaction of another store`() async throws {
        let (one, other) = (try await Store.inMemory(), try await Store.inMemory())
        let orders = one.collection("orders", of: Order.self)
        try await other.transaction { transaction in
            let foreign = orders.within(transaction)
            await #expect(throws: StoreError.self) { try await foreign.insert(Order()) }
            await #expect(throws: StoreError.self) { try await foreign.get("a") }
            await #expect(throws: StoreError.self) { try await foreign.update("a") { _ in } }
        }
        let count: Int = try await other.fetchValue("SELECT COUNT(*) FROM orders")
        #expect(count == 0)
    }
}

/// A folder whose store is opened several times.
private struct StoreFolder {
    let directory = TemporaryDirectory()

    func withStore(
        isStrict: Bool, _ body: (Store) async throws -> Void
    ) async throws {
        var options = StoreOptions()
        options.isStrict = isStrict
        let store = try await Store.open(at: directory.path + "/store", options: options)
        try await body(store)
        try await store.close()
    }
}
