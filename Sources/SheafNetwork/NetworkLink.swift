/// One connection, or an address that one is wanted with, for people and tools to look at.
public struct NetworkLink: Hashable, Sendable {
    public enum State: Hashable, Sendable {
        /// Nothing is there; it is tried again in so many milliseconds, as the last time went wrong.
        case waiting(milliseconds: Int, reason: String?)
        /// The name is being looked up, the connection made, or the other end asked who it is.
        case connecting
        /// The other end has proven this key.
        case connected(key: [UInt8], queuedBytes: Int)
        /// Another connection leads to the same peer.
        case elsewhere(key: [UInt8])
    }

    public let address: String
    /// Whether this end has opened it, or wants to.
    public let isOutgoing: Bool
    public let state: State
    /// What has gone over the wire on this connection.
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

/// How many bytes a connection has moved, with all that TLS adds to them, and its handshake.
public struct NetworkTraffic: Hashable, Sendable {
    public let sentBytes: UInt64
    public let receivedBytes: UInt64

    package init(sentBytes: UInt64 = 0, receivedBytes: UInt64 = 0) {
        self.sentBytes = sentBytes
        self.receivedBytes = receivedBytes
    }
}
