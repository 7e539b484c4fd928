import SheafBytes
import SheafHubLog
import SheafHubPostgreSQL
import Testing

/// The queue of messages to PostgreSQL, which needs no server.
@Suite struct AppendQueueTests {
    private static let log = HubLogID(low: 1, high: 1)

    private func item(_ sequence: Int, shard: UInt16 = 0) -> AppendQueue.Item {
        AppendQueue.Item(
            log: Self.log, id: TestedEngine.id(sequence, shard: shard),
            bytes: TestedEngine.message(sequence))
    }

    private func sequences(_ batch: AppendQueue.Batch?) -> [UInt64] {
        batch?.items.map(\.id.sequence) ?? []
    }

    @Test func `messages that are appended again during an outage wait once`() throws {
        var queue = AppendQueue()
        for _ in 1...100 { for sequence in 1...3 { queue.append(item(sequence)) } }
        #expect(sequences(queue.next()) == [1, 2, 3])
        // In flight, and put back after the connection has ended.
        for sequence in 1...4 { queue.append(item(sequence)) }
        queue.putBackAll()
        for sequence in 1...4 { queue.append(item(sequence)) }
        let next = queue.next()
        let batch = try #require(next)
        #expect(sequences(batch) == [1, 2, 3, 4])
        #expect(batch.items.map(\.isRepeated) == [true, true, true, false])
        queue.complete(again: Array(batch.items.dropFirst(2)))
        #expect(sequences(queue.next()) == [3, 4])
        queue.complete(again: [])
        #expect(sequences(queue.next()) == [])
    }

    @Test func `a message with an answer is appended again, and ids of other shards are others`() {
        var queue = AppendQueue()
        queue.append(item(1))
        queue.append(item(1, shard: 1))
        #expect(sequences(queue.next()) == [1])
        #expect(sequences(queue.next()) == [1])
        queue.complete(again: [])
        queue.append(item(1))
        queue.append(item(1, shard: 1))
        #expect(sequences(queue.next()) == [1])
        #expect(sequences(queue.next()) == [])
    }
}
