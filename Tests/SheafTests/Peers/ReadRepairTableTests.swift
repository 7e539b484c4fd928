import SheafDocument
import SheafReplication
import SheafSync
import Testing

/// Tests of the tables that remember what peers lack across their connections.
struct ReadRepairTableTests {
    private let key: [UInt8] = [1]

    private func address(_ number: UInt8) -> DocumentAddress {
        DocumentAddress(collection: "cars", id: [number])
    }

    private func addresses(_ numbers: ClosedRange<UInt8>) -> Set<DocumentAddress> {
        Set(numbers.map { address($0) })
    }

    @Test func `documents need repair until the batch that has them is acknowledged`() {
        var table = ReadRepairTable(most: 10)
        // Nothing is recorded for a peer that lacks nothing.
        table.recordSent([address(1)], with: 3, to: key)
        for number: UInt8 in 1...4 { table.insert(address(number), for: key) }
        table.recordSent([address(1), address(9)], with: 5, to: key)
        table.recordSent([address(2)], with: 7, to: key)
        table.recordSent([address(3)], with: 8, to: key)
        table.recordAcknowledged(4, by: key)
        #expect(table.count == 4)
        table.recordAcknowledged(7, by: key)
        #expect(table.documents(for: key) == addresses(3...4))
        #expect(table.count == 2)
        table.recordAcknowledged(8, by: key)
        #expect(table.documents(for: key) == [address(4)])
        table.recordAcknowledged(.max, by: key)
        #expect(table.documents(for: key) == [address(4)] && table.count == 1)
    }

    @Test func `a document that is outdated again needs another batch`() {
        var table = ReadRepairTable(most: 10)
        for number: UInt8 in 1...2 { table.insert(address(number), for: key) }
        table.recordSent(addresses(1...2), with: 5, to: key)
        table.insert(address(1), for: key)
        table.recordAcknowledged(5, by: key)
        #expect(table.documents(for: key) == [address(1)])
        table.recordSent([address(1)], with: 6, to: key)
        table.recordAcknowledged(6, by: key)
        #expect(table.documents(for: key).isEmpty && table.count == 0)
    }

    @Test func `batches of an earlier subscription repair nothing`() {
        var table = ReadRepairTable(most: 10)
        table.insert(address(1), for: key)
        table.recordSent([address(1)], with: 5, to: key)
        table.beginAnew(key)
        table.recordAcknowledged(.max, by: key)
        #expect(table.documents(for: key) == [address(1)])
        table.recordSent([address(1)], with: 9, to: key)
        table.recordAcknowledged(9, by: key)
        #expect(table.documents(for: key).isEmpty)
    }

    @Test func `a document counts once for each peer that lacks it`() {
        var table = ReadRepairTable(most: 3)
        for _ in 0..<2 {
            for peer: UInt8 in 1...3 { table.insert(address(7), for: [peer]) }
        }
        #expect(table.count == 3 && !table.isOverfull)
        table.insert(address(8), for: [1])
        #expect(table.count == 4 && table.isOverfull)
        #expect(table.documents(for: [1]) == addresses(7...8))
    }

    @Test func `disconnected peers are discarded first, the least recently changed before others`()
    {
        var table = ReadRepairTable(most: 4)
        // Peers 1 to 4 have two documents each; peer 1 was changed last.
        for peer: UInt8 in 1...4 { table.insert(address(1), for: [peer]) }
        for peer: UInt8 in [4, 3, 2, 1] { table.insert(address(2), for: [peer]) }
        let discarded = table.discardExcess(connected: [[4], [3]], newest: 50)
        #expect(discarded == [[2], [1]])
        #expect(table.count == 4 && !table.isOverfull)
        #expect(table.discardedThrough == 50)
        let counts = (1...4 as ClosedRange<UInt8>).map { table.documents(for: [$0]).count }
        #expect(counts == [0, 0, 2, 2])
        let nothing = table.discardExcess(connected: [[4], [3]], newest: 60)
        #expect(nothing.isEmpty && table.discardedThrough == 50)
    }

    @Test func `of connected peers, one with the most documents is discarded`() {
        var table = ReadRepairTable(most: 3)
        #expect(table.discardedThrough == nil)
        for number: UInt8 in 1...2 {
            for peer: UInt8 in [2, 1, 3] { table.insert(address(number), for: [peer]) }
        }
        table.insert(address(3), for: [3])
        let discarded = table.discardExcess(connected: [[1], [2], [3]], newest: 9)
        // Peer 3 has three documents; of the others, peer 2 was changed less recently.
        #expect(discarded == [[3], [2]])
        #expect(table.documents(for: [1]) == addresses(1...2) && table.count == 2)
    }

    // MARK: Unfinished writes

    @Test func `batches of a peer are unfinished until their last commit is durable`() {
        var writes = UnfinishedWrites()
        writes.begin(on: 7, from: key)
        writes.begin(on: 8, from: [2])
        #expect(writes.has(key) && writes.has([2]) && !writes.has([3]))
        writes.end(on: 7, through: 12, durable: 11)
        #expect(writes.has(key))
        // An earlier commit, on another connection, ends nothing.
        writes.begin(on: 9, from: key)
        writes.end(on: 9, through: 10, durable: 9)
        writes.removeDurable(through: 11)
        #expect(writes.has(key))
        writes.removeDurable(through: 12)
        #expect(!writes.has(key) && writes.has([2]))
    }

    @Test(arguments: [(nil, false), (10, false), (11, true)] as [(UInt64?, Bool)])
    func `a job whose commit is durable leaves nothing unfinished`(
        _ commit: UInt64?, _ isUnfinished: Bool
    ) {
        var writes = UnfinishedWrites()
        writes.begin(on: 7, from: key)
        writes.end(on: 7, through: commit, durable: 10)
        #expect(writes.has(key) == isUnfinished)
        // Its connection has no other job.
        writes.end(on: 7, through: 20, durable: 10)
        writes.removeDurable(through: 11)
        #expect(!writes.has(key))
    }
}
