import Sheaf
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// The number of bytes that commits write to the log.
@Suite struct LogBytesTests {
    @Test func `an edit of one field of a large map writes little more than the field`() throws {
        let store = try StoreEngine(
            opening: SimulatedVolume(seed: 1), options: LogStoreOptions())
        let engine = try DocumentEngine(store)
        func commit(_ action: DocumentChange.Action) throws -> Int {
            let before = store.snapshot().end
            _ = try engine.commit([DocumentChange("carts", "0b5e6f2c-cart", action)]) {
                batch throws(StorageError) in try store.append(batch)
            }
            try store.flush()
            let after = store.snapshot().end
            return after.segment == before.segment ? after.offset - before.offset : 0
        }
        let map = Object((0..<1_000).map { ("item-\(100_000 + $0)", .integer(Int64($0))) })
        _ = try commit(.insert(["items": .object(map)]))
        var largest = 0
        for round in 0..<20 {
            let length = try commit(
                .edit([.set(path: ["items", "item-\(100_500 + round)"], to: .integer(7))]))
            largest = max(largest, length)
        }
        #expect((100...200).contains(largest), "\(largest) bytes")
        let snapshot = engine.snapshot()
        let key = try #require(try snapshot.key(collection: "carts", id: "0b5e6f2c-cart"))
        let document = try #require(try snapshot.document(key))
        let value = try document.read { try EncodedDocument($0).value(snapshot.names) }
        #expect(value?["items"].map { $0["item-100519"] } == .integer(7))
    }
}
