import SheafTransport

/// The state of an address to which the transport keeps a connection.
struct Dialer {
    enum Phase {
        case waiting(untilNanoseconds: UInt64)
        case resolving
        /// A channel is connecting to one address; `others` are tried next.
        case trying(channel: UInt64, others: [SocketAddress])
        case connected(channel: UInt64)
        /// Another connection to the same peer is open already.
        case content(key: PeerKey)
    }

    let identifier: UInt64
    let address: NetworkAddress
    var phase: Phase
    var backoff: Backoff
    /// The key of the peer last reached at this address.
    var knownKey: PeerKey?
    /// The reason of the last failure.
    var lastFailure: String?
}
