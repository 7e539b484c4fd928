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

    private func queue(_ lengths: [Int]) -> AppendQueue {
        var queue = AppendQueue()
        for (index, length) in lengths.enumerated() {
            queue.append(
                AppendQueue.Item(
                    log: Self.log, id: TestedEngine.id(index + 1, shard: 0),
                    bytes: [UInt8](repeating: 0, count: length)))
        }
        return queue
    }

    @Test func `a batch has at most 64 messages`() {
        var queue = queue(Array(repeating: 1, count: 65))
        #expect(sequences(queue.next()) == Array(1...64))
        queue.complete(again: [])
        #expect(sequences(queue.next()) == [65])
    }

    @Test(arguments: [
        ([2_097_152, 2_097_152, 1], 2), ([2_097_152, 2_097_153], 1), ([4_194_305, 1], 1),
    ])
    func `a batch has at most 4 MiB, or one message`(_ lengths: [Int], _ count: Int) {
        var queue = queue(lengths)
        #expect(sequences(queue.next()).count == count)
    }

    @Test func `at most four batches are in flight`() {
        var queue = AppendQueue()
        for shard in 0..<5 as Range<UInt16> { queue.append(item(1, shard: shard)) }
        for _ in 0..<4 { #expect(sequences(queue.next()) == [1]) }
        #expect(sequences(queue.next()) == [])
        queue.complete(again: [])
        #expect(sequences(queue.next()) == [1])
    }

    @Test func `the limits of hub logs in PostgreSQL have the expected values`() {
        #expect(PostgreSQLLimits.responseSeconds == 30)
        #expect(PostgreSQLLimits.statementSeconds == 20)
        #expect(PostgreSQLLimits.querySeconds == 1)
        #expect(PostgreSQLLimits.broadcastSeconds == 30)
        #expect(PostgreSQLLimits.retryMilliseconds == 50...2_000)
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

    @Test func `a batch has the messages of one shard of one log`() throws {
        let other = HubLogID(low: 2, high: 1)
        var queue = AppendQueue()
        #expect(queue.isIdle && sequences(queue.oldest) == [])
        for (log, bytes) in [(Self.log, [5, 6]), (other, [7])] as [(HubLogID, [UInt8])] {
            queue.append(AppendQueue.Item(log: log, id: TestedEngine.id(3, shard: 2), bytes: bytes))
        }
        let batches = [queue.next(), queue.next()].compactMap { $0 }
        #expect(queue.isIdle == false)
        #expect(batches.map(\.shard) == [HubShard(2, of: Self.log), HubShard(2, of: other)])
        #expect(batches.map { $0.items.map(\.bytes) } == [[[5, 6]], [[7]]])
        #expect(batches.map { $0.items.map(\.log) } == [[Self.log], [other]])
        #expect(batches.map(\.isRepeated) == [false, false])
        queue.putBackAll()
        #expect(queue.isIdle)
        queue.append(AppendQueue.Item(log: other, id: TestedEngine.id(4, shard: 2), bytes: [8]))
        _ = queue.next()
        let found = queue.next()
        let last = try #require(found)
        #expect(last.isRepeated && last.items.map(\.isRepeated) == [true, false])
        queue.complete(again: [])
        #expect(!queue.isIdle)
        queue.complete(again: [])
        #expect(queue.isIdle)
    }
}
