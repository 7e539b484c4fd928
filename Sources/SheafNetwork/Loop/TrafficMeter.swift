import Synchronization

/// Counts what goes over one connection: the loop writes it down, and anybody may read.
final class TrafficMeter: Sendable {
    private let sent = Atomic<UInt64>(0)
    private let received = Atomic<UInt64>(0)

    func note(_ traffic: NetworkTraffic) {
        sent.store(traffic.sentBytes, ordering: .relaxed)
        received.store(traffic.receivedBytes, ordering: .relaxed)
    }

    var traffic: NetworkTraffic {
        NetworkTraffic(
            sentBytes: sent.load(ordering: .relaxed),
            receivedBytes: received.load(ordering: .relaxed))
    }
}
