import Sheaf
import SheafDocument
import Synchronization
import Testing

/// The work of inserting a sequence of instances.
@Suite struct TypedEncodingTests {
    private final class Counter: Sendable {
        let count = Mutex(0)
    }

    /// A document that counts how often it is encoded.
    private struct Counted: Encodable, Sendable {
        enum CodingKeys: String, CodingKey {
            case id = "_id"
            case number
        }

        let number: Int
        let counter: Counter

        func encode(to encoder: any Encoder) throws {
            counter.count.withLock { $0 += 1 }
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode("car \(number)", forKey: .id)
            try container.encode(number, forKey: .number)
        }
    }

    /// The first documents are encoded in another way than the later ones.
    @Test(arguments: [1, 16, 17, 60])
    func `each instance of a sequence is encoded once`(_ length: Int) async throws {
        let store = try await Store.inMemory()
        let counter = Counter()
        let cars = store.collection("cars", of: Counted.self)
        let sequence = (0..<length).map { Counted(number: $0, counter: counter) }
        #expect(try await cars.insert(sequence).ids.count == length)
        #expect(counter.count.withLock { $0 } == length)
        let found = try await store.execute("SELECT number FROM cars")
        #expect(found.items.count == length)
        try await store.close()
    }
}
