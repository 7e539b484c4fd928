import SheafBytes
import SheafHubLog
import SheafHubPostgreSQL
import SheafTestSupport
import Testing

/// Tests of the queue of messages to PostgreSQL with random calls, against a model.
@Suite struct AppendQueueModelTests {
    private struct Message: Equatable {
        let sequence: UInt64
        var isRepeated = false
    }

    /// The messages of each shard in their order, those in flight first.
    private struct Model {
        private var pending: [UInt16: [Message]] = [:]
        private var inFlight: [(shard: UInt16, count: Int)] = []
        /// The time at which a shard became ready to be sent.
        private var readySince: [UInt16: Int] = [:]
        private var time = 0

        /// The messages of the oldest batch in flight.
        var oldest: [Message]? {
            inFlight.first.map { Array((pending[$0.shard] ?? []).prefix($0.count)) }
        }

        mutating func append(_ sequence: UInt64, to shard: UInt16) {
            let messages = pending[shard] ?? []
            guard !messages.contains(where: { $0.sequence == sequence }) else { return }
            pending[shard] = messages + [Message(sequence: sequence)]
            makeReady(shard)
        }

        mutating func next() -> (shard: UInt16, messages: [Message])? {
            guard inFlight.count < 4,
                let shard = readySince.min(by: { $0.value < $1.value })?.key
            else { return nil }
            readySince[shard] = nil
            let messages = pending[shard] ?? []
            inFlight.append((shard: shard, count: messages.count))
            return (shard: shard, messages: messages)
        }

        mutating func complete(again: [UInt64]) {
            guard !inFlight.isEmpty else { return }
            let batch = inFlight.removeFirst()
            let messages = pending[batch.shard] ?? []
            pending[batch.shard] =
                again.map { Message(sequence: $0, isRepeated: true) }
                + messages.dropFirst(batch.count)
            makeReady(batch.shard)
        }

        mutating func putBackAll() {
            let batches = inFlight
            inFlight = []
            for batch in batches {
                for index in 0..<batch.count { pending[batch.shard]?[index].isRepeated = true }
                makeReady(batch.shard)
            }
        }

        private mutating func makeReady(_ shard: UInt16) {
            guard readySince[shard] == nil, pending[shard]?.isEmpty == false,
                !inFlight.contains(where: { $0.shard == shard })
            else { return }
            time += 1
            readySince[shard] = time
        }
    }

    private func item(_ sequence: Int, _ shard: UInt16) -> AppendQueue.Item {
        AppendQueue.Item(
            log: HubLogID(low: 1, high: 1), id: TestedEngine.id(sequence, shard: shard), bytes: [1])
    }

    private func messages(_ batch: AppendQueue.Batch?) -> [Message]? {
        batch?.items.map { Message(sequence: $0.id.sequence, isRepeated: $0.isRepeated) }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func `each shard has one batch in flight, in order, and the longest waiting one is next`(
        seed: UInt64
    ) {
        var random = SeededRandom(seed: seed, "append queue")
        var queue = AppendQueue()
        var model = Model()
        for step in 0..<400 {
            switch random.below(16) {
            case 0..<8:
                let (sequence, shard) = (random.below(30) + 1, UInt16(random.below(6)))
                queue.append(item(sequence, shard))
                model.append(UInt64(sequence), to: shard)
            case 8..<12:
                let batch = queue.next()
                let expected = model.next()
                #expect(messages(batch) == expected?.messages, "seed \(seed), step \(step)")
                let shard = batch?.items.first?.id.shard
                #expect(shard == expected?.shard, "seed \(seed), step \(step)")
            case 12..<15:
                var again: [AppendQueue.Item] = []
                for item in queue.oldest?.items ?? [] where random.chance(1, in: 3) {
                    again.append(item)
                }
                queue.complete(again: again)
                model.complete(again: again.map(\.id.sequence))
            default:
                queue.putBackAll()
                model.putBackAll()
            }
            #expect(messages(queue.oldest) == model.oldest, "seed \(seed), step \(step)")
        }
    }
}
