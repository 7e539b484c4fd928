import Foundation
import Sheaf
import Testing

/// Swift's types in documents: each is read as it was written, and found by queries.
@Suite struct TypeQueryTests {
    private struct Order: Codable, Equatable, Sendable {
        enum State: String, Codable { case open, paid }

        enum Payment: Codable, Equatable {
            case cash
            case card(number: Int)
        }

        var _id: UUID
        var placed: Date
        var price: Decimal
        var took: Duration
        var link: URL
        var photo: Data
        var note: String?
        var state: State
        var payment: Payment
        var shipped: Date?
        var dates: [Date]
        var prices: [String: Decimal]
    }

    private func order(_ number: Int, price: String) throws -> Order {
        Order(
            _id: try #require(UUID(uuidString: "00000000-0000-0000-0000-00000000000\(number)")),
            placed: Date(timeIntervalSince1970: 1_764_000_000.25 + Double(number) * 3_600),
            price: try #require(Decimal(string: price)),
            took: .milliseconds(1_500 * number) + .nanoseconds(number),
            link: try #require(URL(string: "https://example.com/a%20b?q=\(number)#x")),
            photo: Data([0, 255, UInt8(number)]), note: number == 1 ? nil : "note",
            state: number == 1 ? .open : .paid,
            payment: number == 1 ? .cash : .card(number: number),
            shipped: number == 1 ? nil : Date(timeIntervalSince1970: 0),
            dates: [Date(timeIntervalSince1970: 1)], prices: ["a": 0.1])
    }

    private func orders() throws -> [Order] {
        [try order(1, price: "19.99"), try order(2, price: "0.10"), try order(3, price: "1000000")]
    }

    private static let codings = [
        ValueCoding(),
        ValueCoding(dates: .millisecondsSince1970, decimals: .string, durations: .nanoseconds),
        ValueCoding(dates: .secondsSince1970, decimals: .number, durations: .nanoseconds),
        ValueCoding(dates: .secondsSince2001, decimals: .number, durations: .nanoseconds),
    ]

    @Test(arguments: codings) func `all types are read as they were written`(
        coding: ValueCoding
    ) async throws {
        let store = try await Store.inMemory()
        let collection = store.collection("orders", of: Order.self, coding: coding)
        let orders = try orders()
        try await collection.insert(orders)
        #expect(try await collection.fetchAll(where: "TRUE ORDER BY _id") == orders)
        #expect(try await collection.get(orders[1]._id) == orders[1])
        // Conditions are in the coding of the collection, also within arrays.
        let (placed, price) = (orders[1].placed, orders[1].price)
        #expect(try await collection.fetchAll(where: "placed = \(placed)") == [orders[1]])
        #expect(try await collection.fetchAll(where: "price = \(price)") == [orders[1]])
        #expect(try await collection.fetchAll(where: "placed IN \([placed])") == [orders[1]])
        #expect(try await collection.count(where: "took >= \(orders[1].took)") == 2)
    }

    @Test func `dates are compared, ordered and computed with as times`() async throws {
        let store = try await Store.inMemory()
        let collection = store.collection("orders", of: Order.self)
        let orders = try orders()
        try await collection.insert(orders.reversed())
        let after = orders[0].placed
        #expect(
            try await collection.fetchAll(where: "placed > \(after) ORDER BY placed")
                == [orders[1], orders[2]])
        #expect(
            try await collection.fetchAll(where: "placed = date_add(\(after), 'hour', 1)")
                == [orders[1]])
        let later: Date = try await store.fetchValue(
            "SELECT date_add(MAX(placed), 'minute', 1) FROM orders")
        #expect(later == orders[2].placed.addingTimeInterval(60))
        let now: Date = try await store.fetchValue("SELECT clock() FROM orders LIMIT 1")
        #expect(abs(now.timeIntervalSinceNow) < 3_600)
        let text: String = try await store.fetchValue(
            "SELECT placed FROM orders ORDER BY placed LIMIT 1")
        #expect(text == "2025-11-24T17:00:00.250+00:00")
    }

    @Test func `decimals are exact in comparisons, SUM and AVG`() async throws {
        struct Amount: Codable, Equatable {
            var _id: Int
            var price: Decimal
        }
        let store = try await Store.inMemory()
        let amounts = store.collection("amounts", of: Amount.self)
        // Added as floats one by one, a thousand times 0.1 and 0.7 is 799.9999999999990.
        try await amounts.insert(
            (0..<2_000).map { Amount(_id: $0, price: $0 % 2 == 0 ? 0.1 : 0.7) })
        let sum: Decimal = try await store.fetchValue("SELECT SUM(price) FROM amounts")
        #expect(sum == 800)
        let mean: Decimal = try await store.fetchValue("SELECT AVG(price) FROM amounts")
        #expect(mean == 0.4)
        #expect(try await amounts.count(where: "price = 0.7") == 1_000)
        // The nearest float of the sum of both floats is not 0.3.
        try await store.execute("INSERT INTO few DOCUMENTS ({'price': 0.1}), ({'price': 0.2})")
        let few: Double = try await store.fetchValue("SELECT SUM(price) FROM few")
        #expect(few == 0.3)
        // The places of other amounts do not matter.
        try await store.execute(
            "INSERT INTO many DOCUMENTS ({'n': 0.12345678}), ({'n': -0.12345678})")
        let many = store.collection("many", of: Value.self)
        try await many.insert((0..<1_000).map { _ in ["n": 84_492_037.9] as Value })
        let total: Decimal = try await store.fetchValue("SELECT SUM(n) FROM many")
        #expect(total == Decimal(string: "84492037900"))
        #expect(try await amounts.count(where: "price > \(Decimal(string: "0.1"))") == 1_000)
        let large = try #require(Decimal(string: "1234567890123456.78"))
        let error = await #expect(throws: EncodingError.self) {
            try await amounts.insert(Amount(_id: -1, price: large))
        }
        guard case .invalidValue(_, let context)? = error else { return }
        #expect(context.codingPath.map(\.stringValue) == ["price"])
        #expect(
            context.debugDescription
                == "1234567890123456.78 has more digits than a number can hold; encode it with "
                + "ValueCoding(decimals: .string), or as a String")
    }

    @Test func `durations are summed exactly, as integers`() async throws {
        let store = try await Store.inMemory()
        let collection = store.collection("orders", of: Order.self)
        try await collection.insert(try orders())
        let total: Duration = try await store.fetchValue("SELECT SUM(took) FROM orders")
        #expect(total == .milliseconds(9_000) + .nanoseconds(6))
        #expect(try await collection.count(where: "took < \(Duration.seconds(2))") == 1)
    }

    @Test func `other types are found by their texts and bytes`() async throws {
        let store = try await Store.inMemory()
        let collection = store.collection("orders", of: Order.self)
        let orders = try orders()
        try await collection.insert(orders)
        let (link, photo, state) = (orders[2].link, orders[2].photo, orders[0].state)
        #expect(try await collection.fetchAll(where: "link = \(link)") == [orders[2]])
        #expect(try await collection.fetchAll(where: "link LIKE '%q=3#x'") == [orders[2]])
        #expect(try await collection.fetchAll(where: "photo = \(photo)") == [orders[2]])
        #expect(try await collection.fetchAll(where: "state = \(state)") == [orders[0]])
        #expect(try await collection.fetchAll(where: "note IS MISSING") == [orders[0]])
        #expect(try await collection.fetchAll(where: "payment.card.number = 3") == [orders[2]])
        #expect(try await collection.fetchAll(where: "shipped IS NOT MISSING").count == 2)
        // Null is nil, as a missing field is.
        try await store.execute("UPDATE orders SET note = NULL WHERE state = 'paid'")
        #expect(try await collection.fetchAll().allSatisfy { $0.note == nil })
    }
}
