import Sheaf
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the state of a sender: documents that are due, delivered, or wait for a commit.
struct SenderStateTests {
    private func sender() throws -> Sender {
        let store = try SceneStore(SimulatedVolume(seed: 1), LogStoreOptions())
        return Sender(SubscriptionMatcher([], store.queries), from: 0)
    }

    private func address(_ number: UInt8) -> DocumentAddress {
        DocumentAddress(collection: "cars", id: [number])
    }

    // MARK: Sending

    @Test func `a sender is due while something remains to be sent to a peer with all rights`()
        throws
    {
        var sender = try sender()
        #expect(!sender.isDue(through: 9, isLimited: false))
        sender.begin(from: 5, complete: [address(1)])
        #expect(sender.isStreaming && sender.isBehind && sender.sent == 5)
        #expect(sender.complete == [address(1)])
        #expect(sender.isDue(through: 5, isLimited: true))
        sender.isAwake = false
        #expect(sender.isDue(through: 5, isLimited: false))
        #expect(!sender.isDue(through: 5, isLimited: true))
        sender.isBehind = false
        #expect(sender.isDue(through: 5, isLimited: false))
        sender.complete = []
        #expect(!sender.isDue(through: 5, isLimited: false))
        #expect(sender.isDue(through: 6, isLimited: false))
        sender.hasMore = true
        #expect(!sender.isDue(through: 6, isLimited: false))
        sender.hasMore = false
        sender.isStreaming = false
        #expect(!sender.isDue(through: 6, isLimited: false))
    }

    @Test func `documents before a commit are pending until they are sent`() throws {
        var sender = try sender()
        #expect(!sender.isPending(before: 9))
        sender.begin(from: 5, complete: [])
        #expect(sender.newestSent == 5)
        #expect(!sender.isPending(before: 5) && sender.isPending(before: 6))
        sender.sent = 6
        #expect(!sender.isPending(before: 6) && sender.newestSent == 6)
        sender.isStreaming = false
        #expect(!sender.isPending(before: 9))
    }

    @Test func `documents of a reconciled snapshot are pending before later commits`() throws {
        let store = try SceneStore(SimulatedVolume(seed: 1), LogStoreOptions())
        try store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        let snapshot = store.queries.documents.snapshot()
        let commit = snapshot.log.commit
        var sender = Sender(SubscriptionMatcher([], store.queries), from: 0)
        sender.compared = snapshot
        #expect(!sender.isPending(before: commit) && sender.isPending(before: commit + 1))
        sender.compared = nil
        #expect(!sender.isPending(before: commit + 1))
    }

    // MARK: Read repair

    @Test func `a read repair waits until its commit is durable`() throws {
        var sender = try sender()
        for (number, commit) in [(1, nil), (2, 7), (3, 8), (4, 9)] as [(UInt8, UInt64?)] {
            sender.queueRepair(of: address(number), after: commit, durable: 7)
        }
        #expect(sender.complete == [address(1), address(2)])
        for (durable, count) in [(7, 2), (8, 3), (8, 3), (9, 4)] as [(UInt64, Int)] {
            sender.queueDurableRepairs(through: durable)
            #expect(sender.complete == Set((1...UInt8(count)).map(address)))
        }
        // Each repair is queued once.
        sender.complete = []
        sender.queueDurableRepairs(through: 20)
        #expect(sender.complete.isEmpty)
    }

    // MARK: The position of the peer

    @Test func `a position is sent a tenth of a second after the first commit of the peer`() throws
    {
        var sender = try sender()
        sender.begin(from: 5, complete: [])
        var isDue = sender.beginPosition(at: 1_000_000_000)
        #expect(!isDue)
        sender.schedulePosition(at: 1_000)
        sender.schedulePosition(at: 50_000_000)
        isDue = sender.beginPosition(at: 100_000_999)
        #expect(!isDue)
        isDue = sender.beginPosition(at: 100_001_000)
        #expect(isDue)
        // It is sent once, and then scheduled again.
        isDue = sender.beginPosition(at: 200_000_000)
        #expect(!isDue)
        sender.schedulePosition(at: 200_000_000)
        sender.isStreaming = false
        isDue = sender.beginPosition(at: 300_000_000)
        #expect(!isDue)
        sender.isStreaming = true
        isDue = sender.beginPosition(at: 400_000_000)
        #expect(!isDue)
    }

    // MARK: Deliveries

    @Test func `an acknowledgment confirms the newest document of the batches up to it`() throws {
        let seed: UInt64 = 7
        var random = SeededRandom(seed: seed, "deliveries")
        var sender = try sender()
        var model: [(step: UInt64, commit: UInt64)] = []
        var step: UInt64 = 0
        for number in 0..<200 {
            if random.chance(2, in: 3) {
                step += UInt64(1 + random.below(3))
                let commit = step - UInt64(random.below(Int(min(step, 4))))
                sender.recordDelivery(of: commit, with: step)
                model.append((step, commit))
            } else {
                let acknowledged = step - UInt64(random.below(Int(min(step, 6)) + 1))
                let found = sender.removeDelivered(acknowledged)
                let confirmed = model.filter { $0.step <= acknowledged }.map(\.commit)
                #expect(found == confirmed.max(), "seed \(seed), step \(number)")
                model.removeAll { $0.step <= acknowledged }
            }
        }
        let rest = sender.removeDelivered(step)
        #expect(rest == model.map(\.commit).max())
        let none = sender.removeDelivered(step)
        #expect(none == nil)
    }

    @Test(arguments: [1_023, 1_024, 1_025] as [UInt64])
    func `of more than 1,024 deliveries, the last one stands for all later ones`(
        _ count: UInt64
    ) throws {
        var sender = try sender()
        for step in 1...count { sender.recordDelivery(of: step + 10_000, with: step) }
        let before = sender.removeDelivered(1_023)
        #expect(before == 11_023)
        // The delivery of step 1,024 gives way to that of step 1,025.
        let at = sender.removeDelivered(1_024)
        #expect(at == (count == 1_024 ? 11_024 : nil))
        let last = sender.removeDelivered(1_025)
        #expect(last == (count == 1_025 ? 11_025 : nil))
    }
}
