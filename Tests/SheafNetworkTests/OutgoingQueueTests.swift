import SheafNetwork
import SheafTestSupport
import Testing

/// Tests of the queue of bytes that a connection sends, against an array.
struct OutgoingQueueTests {
    /// Returns the next bytes of a queue, as many as fit into a buffer.
    private func next(_ queue: OutgoingQueue, _ size: Int) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: size)
        let count = buffer.withUnsafeMutableBytes { queue.copyNext(into: $0) }
        return Array(buffer.prefix(count))
    }

    @Test func `a queue has the appended bytes in order, without those that were sent`() {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("bytes in queues, seed \(seed)")
        var random = SeededRandom(seed: seed, "queues")
        for run in 0..<10 {
            let queue = OutgoingQueue(limit: 30_000)
            var model: [UInt8] = []
            var (isOverfull, isReported) = (false, false)
            for step in 0..<100 {
                let comment: Comment = "run \(run), step \(step), seed \(seed)"
                switch random.below(5) {
                case 0, 1:
                    let bytes = random.bytes(random.below(random.chance(1, in: 5) ? 6_000 : 300))
                    let isIgnored = bytes.isEmpty || isOverfull
                    let demand = queue.append(bytes)
                    #expect(demand == (isIgnored || isReported ? .nothing : .attention), comment)
                    if isIgnored { break }
                    isReported = true
                    if model.count + bytes.count > 30_000 {
                        isOverfull = true
                    } else {
                        model += bytes
                    }
                case 2, 3:
                    let size = 1 + random.below(7_000)
                    let bytes = next(queue, size)
                    #expect(bytes == Array(model.prefix(size)), comment)
                    let sent = random.below(bytes.count + 1)
                    model.removeFirst(sent)
                    let isEmpty = queue.advance(by: sent)
                    #expect(isEmpty == model.isEmpty, comment)
                default:
                    queue.acknowledge()
                    isReported = false
                }
                #expect(queue.length == model.count, comment)
                #expect(queue.isOverfull == isOverfull, comment)
            }
        }
    }

    @Test func `a queue of more than a thousand pieces is sent in order`() {
        let queue = OutgoingQueue(limit: 8 << 20)
        for number in 0..<1_100 {
            var piece = [UInt8](repeating: 7, count: 4_096)
            (piece[0], piece[1]) = (UInt8(number >> 8), UInt8(number & 0xFF))
            _ = queue.append(piece)
        }
        #expect(queue.length == 1_100 * 4_096)
        for number in 0..<1_100 {
            let start = next(queue, 2)
            #expect(start == [UInt8(number >> 8), UInt8(number & 0xFF)])
            let isEmpty = queue.advance(by: 4_096)
            #expect(isEmpty == (number == 1_099))
        }
        #expect(next(queue, 2).isEmpty && queue.length == 0)
    }

    @Test func `a closed queue sends what it has, and accepts nothing more`() {
        let queue = OutgoingQueue(limit: 100)
        _ = queue.append([1, 2, 3])
        queue.acknowledge()
        #expect(!queue.isClosing && !queue.isFinished && queue.closeReason == nil)
        #expect(queue.close(because: "done") == .attention)
        #expect(queue.close(because: "again") == .nothing)
        queue.acknowledge()
        #expect(queue.append([4]) == .nothing)
        #expect(queue.isClosing && queue.closeReason == "done" && !queue.isFinished)
        #expect(next(queue, 9) == [1, 2, 3])
        let isEmptyEarly = queue.advance(by: 2)
        #expect(!isEmptyEarly && !queue.isFinished && next(queue, 9) == [3])
        let isEmpty = queue.advance(by: 1)
        #expect(isEmpty && queue.isFinished)
    }

    @Test func `a queue that has ended has no bytes, and never has any`() {
        let queue = OutgoingQueue(limit: 100)
        _ = queue.append([1, 2, 3])
        _ = queue.advance(by: 1)
        let rest = queue.die()
        #expect(rest == 2 && queue.length == 0 && next(queue, 9).isEmpty)
        #expect(queue.append([4]) == .nothing)
        #expect(queue.close() == .nothing)
        let isEmpty = queue.advance(by: 0)
        #expect(!isEmpty && !queue.isClosing && !queue.isFinished && queue.length == 0)
        let again = queue.die()
        #expect(again == 0)
    }

    @Test func `replaced bytes are sent instead of those in an overfull queue`() {
        let queue = OutgoingQueue(limit: 10)
        _ = queue.append([1, 2, 3])
        _ = queue.append([UInt8](repeating: 7, count: 8))
        #expect(queue.isOverfull && queue.length == 3)
        queue.replaceAll(with: [5, 6])
        #expect(!queue.isOverfull && queue.length == 2 && next(queue, 9) == [5, 6])
        _ = queue.append([8])
        #expect(next(queue, 9) == [5, 6, 8])
        let isEmpty = queue.advance(by: 3)
        #expect(isEmpty)
    }
}
