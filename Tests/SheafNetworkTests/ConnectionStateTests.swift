import SheafNetwork
import SheafTransport
import Testing

/// Tests of the connection states that a loop publishes.
struct ConnectionStateTests {
    private typealias Entry = ConnectionStates.Entry

    private func key(_ number: UInt8) -> PeerKey {
        PeerKey(unchecked: [UInt8](repeating: number, count: 32))
    }

    /// Returns an open connection that has sent and received some bytes, and queued one more.
    private func connected(
        _ number: UInt8, sent: UInt64 = 0, received: UInt64 = 0, isOutgoing: Bool = false
    ) -> Entry {
        let meter = TrafficMeter()
        meter.record(NetworkTraffic(sentBytes: sent, receivedBytes: received))
        let queue = OutgoingQueue(limit: 100)
        _ = queue.append([UInt8](repeating: 7, count: Int(number)))
        return Entry(
            address: "c\(number)", isOutgoing: isOutgoing,
            state: .connected(key: key(number), queue, meter))
    }

    @Test func `addresses are listed first, then connections in the order of their numbers`() {
        let states = ConnectionStates()
        #expect(states.connections(at: 0).isEmpty)
        let dialers = [
            Entry(
                address: "d", isOutgoing: true,
                state: .waiting(untilNanoseconds: 5_000_000, reason: "a reason")),
            Entry(address: "b", isOutgoing: true, state: .connecting),
            Entry(address: "a", isOutgoing: true, state: .elsewhere(key: key(9))),
        ]
        states.publish(
            dialers, [30: connected(3), 4: connected(1, sent: 5, received: 6, isOutgoing: true)])
        states.publish(dialers, [7: connected(2), 8: connected(8)])
        states.publish(dialers, [8: nil, 99: nil])
        /// Returns the first status when an attempt is due after some time.
        func waiting(_ milliseconds: Int) -> NetworkConnectionStatus {
            NetworkConnectionStatus(
                address: "d", isOutgoing: true,
                state: .waiting(milliseconds: milliseconds, reason: "a reason"))
        }
        let others = [
            NetworkConnectionStatus(address: "b", isOutgoing: true, state: .connecting),
            NetworkConnectionStatus(address: "a", isOutgoing: true, state: .elsewhere(key: key(9))),
            NetworkConnectionStatus(
                address: "c1", isOutgoing: true, state: .connected(key: key(1), queuedBytes: 1),
                traffic: NetworkTraffic(sentBytes: 5, receivedBytes: 6)),
            NetworkConnectionStatus(
                address: "c2", isOutgoing: false, state: .connected(key: key(2), queuedBytes: 2)),
            NetworkConnectionStatus(
                address: "c3", isOutgoing: false, state: .connected(key: key(3), queuedBytes: 3)),
        ]
        let times: [(UInt64, Int)] = [
            (0, 5), (1, 4), (4_000_000, 1), (4_000_001, 0), (5_000_000, 0), (9_000_000, 0),
        ]
        for (now, milliseconds) in times {
            #expect(states.connections(at: now) == [waiting(milliseconds)] + others, "\(now)")
        }
        states.publish([], [:])
        #expect(states.connections(at: 0) == Array(others.dropFirst(2)))
    }

    @Test func `counters never go back`() {
        let meter = TrafficMeter()
        #expect(meter.traffic == NetworkTraffic())
        meter.record(NetworkTraffic(sentBytes: 7, receivedBytes: 2))
        // Read before by another thread.
        meter.record(NetworkTraffic(sentBytes: 5, receivedBytes: 3))
        #expect(meter.traffic == NetworkTraffic(sentBytes: 7, receivedBytes: 3))
        meter.record(NetworkTraffic(sentBytes: 8, receivedBytes: 1))
        #expect(meter.traffic == NetworkTraffic(sentBytes: 8, receivedBytes: 3))
    }
}
