/// A connection, or an address that the transport tries to connect to, for status reports.
public struct NetworkConnectionStatus: Hashable, Sendable {
    public enum State: Hashable, Sendable {
        /// The delay before the next attempt; `reason` is the last failure.
        case waiting(milliseconds: Int, reason: String?)
        /// Resolving the name, connecting, or authenticating.
        case connecting
        /// Connected to the peer that has proven `key`.
        case connected(key: [UInt8], queuedBytes: Int)
        /// No connection, because another one to the same peer is open.
        case elsewhere(key: [UInt8])
    }

    public let address: String
    /// Whether this end opens the connection.
    public let isOutgoing: Bool
    public let state: State
    /// The number of bytes sent and received on this connection.
    public let traffic: NetworkTraffic

    package init(
        address: String, isOutgoing: Bool, state: State, traffic: NetworkTraffic = NetworkTraffic()
    ) {
        self.address = address
        self.isOutgoing = isOutgoing
        self.state = state
        self.traffic = traffic
    }
}

/// The number of bytes on the wire of one connection, including both handshakes and TLS overhead.
public struct NetworkTraffic: Hashable, Sendable {
    public let sentBytes: UInt64
    public let receivedBytes: UInt64

    package init(sentBytes: UInt64 = 0, receivedBytes: UInt64 = 0) {
        self.sentBytes = sentBytes
        self.receivedBytes = receivedBytes
    }
}
