/// The limits of a transport on the resources that remote peers can consume.
public struct NetworkLimits: Hashable, Sendable {
    /// Maximum number of connections, both incoming and outgoing.
    public var connections = 256
    /// Maximum number of incoming connections that have not proven a key yet.
    ///
    /// At the limit, a new connection replaces the oldest one that has sent nothing. If all have
    /// sent something, it replaces the oldest connection of the network with the most connections.
    public var unknownConnections = 64
    /// The same limit for one network: one IPv4 address, or the first 64 bits of an IPv6 address.
    public var unknownConnectionsPerNetwork = 32
    /// Maximum time from the start of a connection to the end of its authentication.
    public var handshakeMilliseconds = 10_000
    /// Time for which a connection that has sent bytes is not replaced by a new one.
    ///
    /// At the limit `unknownConnections`, it does not protect the network with the most connections
    /// if that has several.
    public var patienceMilliseconds = 1_000
    /// Maximum number of peers found on the local network, or reported with their addresses by
    /// others, that this peer connects to.
    ///
    /// They are chosen at random; further peers are reached through them.
    public var discoveredPeers = 16
    /// Maximum number of bytes queued for one peer; a connection that exceeds it is closed.
    public var queuedBytes = 8 << 20
    /// Time that a closing connection waits for the remote peer to receive data or to close.
    public var closingMilliseconds = 5_000
    /// Maximum delay before the first retry of an address; it doubles with each failure.
    public var firstRetryMilliseconds = 500
    /// Maximum delay before an address is retried.
    public var longestRetryMilliseconds = 60_000
    /// Duration after which a connection resets the retry delay of its address.
    public var steadyMilliseconds = 5_000
    /// Maximum number of refusals reported per second; the rest is only counted.
    public var reportsPerSecond = 20

    /// Creates the default limits.
    public init() {}
}
