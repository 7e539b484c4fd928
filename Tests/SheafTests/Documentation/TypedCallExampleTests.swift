import Foundation
import Sheaf
import Testing

/// The code examples of the page about typed calls.
@Suite struct TypedCallExampleTests {
    struct Order: Codable, Sendable {
        var _id: String
        var placed: Date
        var price: Decimal
        var state = "open"
        var note: String?
    }

    private let now = Date(timeIntervalSince1970: 1_764_000_000)
    private var yesterday: Date { now.addingTimeInterval(-86_400) }

    @Test func `the examples of Typed Calls run`() async throws {
        let store = try await Store.inMemory()
        let orders = store.collection("orders", of: Order.self)
        try await orders.insert(Order(_id: "a", placed: now, price: 19.99))
        try await orders.insert((1...10_000).map { Order(_id: "\($0)", placed: now, price: 5) })
        try await orders.update("a") { $0.state = "paid" }
        try await orders.delete("1")
        guard let original = try await orders.get("a") else { return }
        var edited = original
        edited.note = "leave it at the door"
        try await orders.save(edited, over: original)
        #expect(try await orders.get("a")?.note == edited.note)
        try await read(orders, in: store)
        try await store.transaction { transaction in
            let orders = orders.within(transaction)
            guard let order = try await orders.get("a"), order.state == "paid" else { return }
            try await orders.delete("a")
        }
        #expect(try await orders.get("a") == nil)
        try await imported(edited, in: store)
        try await values(in: store)
    }

    private func read(_ orders: DocumentCollection<Order>, in store: Store) async throws {
        let order = try await orders.get("a")
        let state = "open"
        let open = try await orders.fetchAll(where: "state = \(state) ORDER BY placed LIMIT 20")
        let count = try await orders.count(where: "placed > \(yesterday)")
        let isKnown = try await orders.exists("a")
        #expect(
            order?.price == Decimal(string: "19.99") && open.count == 20 && count == 10_000
                && isKnown)
        let total: Decimal = try await store.fetchValue("SELECT SUM(price) FROM orders")
        let last: Order? = try await store.fetchOne(
            "SELECT * FROM orders ORDER BY placed DESC LIMIT 1")
        let paid: [Order] = try await store.fetchAll("SELECT * FROM orders WHERE state = 'paid'")
        #expect(total == Decimal(string: "50014.99") && last != nil && paid.count == 1)
        for try await list in orders.observe(where: "state = 'paid' ORDER BY placed") {
            print(list.documents, list.changes?.insertions ?? [])
            if list.count == 1 { break }
        }
    }

    private func imported(_ order: Order, in store: Store) async throws {
        let coding = ValueCoding(dates: .millisecondsSince1970, decimals: .string)
        let imported = store.collection("imported", of: Order.self, coding: coding)
        try await imported.insert(order)
        let recent = try await imported.fetchAll(where: "placed > \(yesterday)")
        #expect(recent.count == 1 && recent[0].price == Decimal(string: "19.99"))
        let placed: Int = try await store.fetchValue("SELECT placed FROM imported")
        #expect(placed == 1_764_000_000_000)
    }

    private func values(in store: Store) async throws {
        let item = try await store.execute("SELECT * FROM orders LIMIT 1").items[0]
        let value = try item["note"]?.string
        let tags: Value = ["colors": ["blue", ["code": 5]]]
        let code = tags["colors"]?[1]?["code"]?.int
        #expect(value == nil && code == 5)
    }
}
