/// How much of anything strangers and peers can make a transport do.
public struct NetworkLimits: Hashable, Sendable {
    /// Connections of any kind at a time.
    public var connections = 256
    /// Connections at a time that came from outside, and have not said yet who they are.
    public var unknownConnections = 64
    /// From the first byte to the last one of an introduction.
    public var handshakeMilliseconds = 10_000
    /// For this long nobody who has not said who he is makes room for somebody who comes later.
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
