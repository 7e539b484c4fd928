import SheafDocument
import SheafReplication
import SheafSync
import Testing

/// Tests of the state of a receiver: subscriptions, and batches until they are durable.
struct ReceiverStateTests {
    @Test func `batches are acknowledged in their order, once they are durable`() {
        var receiver = Receiver()
        receiver.written = [(10, 3), (11, 5), (14, 5), (20, 4)]
        for (durable, commit, count) in [
            (2, nil, 4), (3, 10, 3), (4, nil, 3), (5, 20, 0), (6, nil, 0),
        ] as [(UInt64, UInt64?, Int)] {
            let found = receiver.removeDurable(through: durable)
            #expect(found == commit && receiver.written.count == count, "through \(durable)")
        }
    }

    @Test func `a new subscription begins without the state of the one before`() {
        var receiver = Receiver()
        receiver.written = [(10, 3)]
        (receiver.hasCaughtUp, receiver.awaitsRenewal) = (true, true)
        (receiver.awaitsComparison, receiver.reconcilesQuarantine) = (true, true)
        receiver.retried = [DocumentAddress(collection: "cars", id: [1])]
        receiver.rankFactor = 4
        let length = receiver.renew(7)
        #expect(length == 0 && receiver.generation == 1 && receiver.epoch == 7)
        #expect(receiver.written.isEmpty && receiver.retried.isEmpty)
        #expect(!receiver.hasCaughtUp && !receiver.awaitsRenewal)
        #expect(!receiver.awaitsComparison && !receiver.reconcilesQuarantine)
        #expect(receiver.rankFactor == 1)
        // The factor remains while the queries do.
        receiver.rankFactor = 2
        _ = receiver.renew(7)
        #expect(receiver.rankFactor == 2 && receiver.generation == 2)
        _ = receiver.renew(8)
        #expect(receiver.rankFactor == 1 && receiver.generation == 3)
    }

    @Test func `a subscription is settled before the first one, and when all is received`() {
        var receiver = Receiver()
        #expect(receiver.isSettled && receiver.isIdle)
        _ = receiver.renew(1)
        #expect(!receiver.isSettled && receiver.isIdle)
        receiver.hasCaughtUp = true
        #expect(receiver.isSettled)
        receiver.isWriting = true
        #expect(!receiver.isSettled && !receiver.isIdle)
    }

    @Test func `a peer may name as many collections as a subscription has queries`() {
        var receiver = Receiver()
        receiver.learn(["a", "b"])
        receiver.learn(["b", "c"])
        #expect(receiver.learned == ["a", "b", "c"])
        let names = (0..<SyncLimits.queries).map { "c\($0)" }
        receiver.learn(names)
        #expect(receiver.learned.count == SyncLimits.queries)
        #expect(receiver.learned.isSuperset(of: ["a", "b", "c"]))
        #expect(receiver.learned.contains(names[SyncLimits.queries - 4]))
        #expect(!receiver.learned.contains(names[SyncLimits.queries - 3]))
    }
}
