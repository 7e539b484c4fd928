import Synchronization

/// The bytes that one connection has sent and received, counted by the replication thread.
package final class ConnectionTraffic: Sendable {
    /// The proven key of the other peer.
    let key: [UInt8]
    private let sent = Atomic<UInt64>(0)
    private let received = Atomic<UInt64>(0)

    package init(with key: [UInt8]) {
        self.key = key
    }

    /// Counts bytes passed to the transport.
    package func recordSent(_ length: Int) {
        sent.add(UInt64(length), ordering: .relaxed)
    }

    /// Counts bytes received from the transport.
    package func recordReceived(_ length: Int) {
        received.add(UInt64(length), ordering: .relaxed)
    }

    /// Number of bytes passed to the transport, without its encryption.
    package var bytesSent: UInt64 { sent.load(ordering: .relaxed) }
    /// Number of bytes received from the transport, without its encryption.
    package var bytesReceived: UInt64 { received.load(ordering: .relaxed) }
}
