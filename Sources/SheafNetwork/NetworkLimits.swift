/// How much of anything strangers and peers can make a transport do.
public struct NetworkLimits: Hashable, Sendable {
    /// Connections of any kind at a time.
    public var connections = 256
    /// Incoming connections at a time that have not proven a key yet.
    ///
    /// Where there are as many, a new one replaces the oldest that has sent nothing, or, where all have sent
    /// something, the oldest of the network from which most of them come.
    public var unknownConnections = 64
    /// The same for the connections of one network: of an IPv4 address, or of the first 64 bits of an IPv6 address.
    public var unknownConnectionsPerNetwork = 32
    /// From the first byte to the last one of an introduction.
    public var handshakeMilliseconds = 10_000
    /// Time in which an incoming connection that has sent something is not replaced by another one of its network.
    public var patienceMilliseconds = 1_000
    /// What may wait to be sent to one peer; a connection that has more is ended.
    public var queuedBytes = 8 << 20
    /// For how long a connection that ends waits until the other end takes something, or closes.
    public var closingMilliseconds = 5_000
    /// The first wait before an address is tried again; it doubles with each failure.
    public var firstRetryMilliseconds = 500
    /// The longest wait before an address is tried again.
    public var longestRetryMilliseconds = 60_000
    /// A connection that lasted this long makes the next wait the first one again.
    public var steadyMilliseconds = 5_000
    /// How many refusals are reported in a second; what is more is counted.
    public var reportsPerSecond = 20

    public init() {}
}
