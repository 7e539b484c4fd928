import Sheaf
import SheafTestSupport
import Testing

/// Observed documents, against a new read after each change.
@Suite struct TypedObservationTests {
    struct Item: Codable, Equatable, Sendable {
        var _id: Int
        var rank: Int
        var isOpen: Bool
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func `each list equals a new read, whatever changed`(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed, "typed observation")
        let store = try await Store.inMemory()
        let items = store.collection("items", of: Item.self)
        let condition: DQL = "isOpen AND rank < \(70) ORDER BY rank, _id LIMIT 20"
        var iterator = items.observe(where: condition).makeAsyncIterator()
        #expect(try await iterator.next()?.documents == [])
        var incremental = 0
        for _ in 0..<150 {
            let before = try await items.fetchAll(where: condition)
            let item = Item(
                _id: .random(in: 0..<40, using: &random),
                rank: .random(in: 0..<100, using: &random),
                isOpen: .random(using: &random))
            switch Int.random(in: 0..<4, using: &random) {
            case 0: try await items.delete(item._id)
            case 1:
                try await items.upsert(
                    (0..<3).map { Item(_id: ($0 + item._id) % 40, rank: item.rank, isOpen: true) })
            default: try await items.upsert(item)
            }
            let expected = try await items.fetchAll(where: condition)
            guard expected != before else { continue }
            var list = try #require(try await iterator.next())
            // Changes outside of the list may be delivered, too.
            while list.documents != expected { list = try #require(try await iterator.next()) }
            #expect(list.count == expected.count && list.elementsEqual(expected))
            if list.changes != nil { incremental += 1 }
        }
        #expect(incremental > 20)
    }

    @Test func `a loop ends with the error of an invalid condition or document`() async throws {
        let store = try await Store.inMemory()
        let items = store.collection("items", of: Item.self)
        await #expect(throws: StoreError.self) {
            for try await _ in items.observe(where: "rank <") {}
        }
        try await store.execute("INSERT INTO items DOCUMENTS ({'_id': 'x'})")
        await #expect(throws: DecodingError.self) { for try await _ in items.observe() {} }
    }
}
