public import SheafTransport

/// A connection, or an address that the transport tries to connect to, for status reports.
public struct NetworkConnectionStatus: Hashable, Sendable {
    /// The state of a connection or of the attempts to open it.
    public enum State: Hashable, Sendable {
        /// The delay before the next attempt; `reason` is the last failure.
        case waiting(milliseconds: Int, reason: String?)
        /// Resolving the name, connecting, or authenticating.
        case connecting
        /// Connected to the peer that has proven `key`.
        case connected(key: PeerKey, queuedBytes: Int)
        /// No connection, because another one to the same peer is open.
        case elsewhere(key: PeerKey)
    }

    /// The address of the remote end, or the configured one of an address not connected.
    public let address: String
    /// Whether this end opens the connection.
    public let isOutgoing: Bool
    /// The current state.
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
    /// Number of bytes sent.
    public let sentBytes: UInt64
    /// Number of bytes received.
    public let receivedBytes: UInt64

    package init(sentBytes: UInt64 = 0, receivedBytes: UInt64 = 0) {
        self.sentBytes = sentBytes
        self.receivedBytes = receivedBytes
    }
}
