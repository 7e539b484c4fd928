import Synchronization

/// The byte counters of one connection, updated by sending threads and readable from any thread.
package final class TrafficMeter: Sendable {
    private let sent = Atomic<UInt64>(0)
    private let received = Atomic<UInt64>(0)

    package init() {}

    /// Records the counters; earlier ones, which another thread read before, are ignored.
    package func record(_ traffic: NetworkTraffic) {
        _ = sent.max(traffic.sentBytes, ordering: .relaxed)
        _ = received.max(traffic.receivedBytes, ordering: .relaxed)
    }

    package var traffic: NetworkTraffic {
        NetworkTraffic(
            sentBytes: sent.load(ordering: .relaxed),
            receivedBytes: received.load(ordering: .relaxed))
    }
}
