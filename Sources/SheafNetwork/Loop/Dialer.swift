/// Somebody who keeps a connection with an address, for as long as he is asked to.
struct Dialer {
    enum Phase {
        case waiting(untilNanoseconds: UInt64)
        case resolving
        /// A channel is on its way; the other addresses come next.
        case trying(channel: UInt64, others: [SocketAddress])
        case connected(channel: UInt64)
        /// A connection with that peer is there already, which somebody else has opened.
        case content(key: [UInt8])
    }

    let identifier: UInt64
    let address: NetworkAddress
    var phase: Phase
    var backoff: Backoff
    /// Who was there the last time.
    var knownKey: [UInt8]?
    /// What went wrong the last time.
    var lastFailure: String?
}
