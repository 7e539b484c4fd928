import Synchronization

/// The byte counters of one connection, updated by sending threads and readable from any thread.
final class TrafficMeter: Sendable {
    private let sent = Atomic<UInt64>(0)
    private let received = Atomic<UInt64>(0)

    func record(_ traffic: NetworkTraffic) {
        sent.store(traffic.sentBytes, ordering: .relaxed)
        received.store(traffic.receivedBytes, ordering: .relaxed)
    }

    var traffic: NetworkTraffic {
        NetworkTraffic(
            sentBytes: sent.load(ordering: .relaxed),
            receivedBytes: received.load(ordering: .relaxed))
    }
}
