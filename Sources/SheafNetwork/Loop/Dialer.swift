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

    /// The other end to which the dialer connects.
    enum Target {
        case address(NetworkAddress)
        /// A peer on the local network; its addresses may change.
        case discovered(DiscoveredPeer)
        /// A peer whose addresses presence has reported.
        case learned(PeerKey, [SocketAddress])

        /// The address for reports; that of a found peer is its first one.
        var text: String {
            switch self {
            case .address(let address): address.description
            case .discovered(let peer): peer.sockets.first?.description ?? ""
            case .learned(_, let addresses): addresses.first?.description ?? ""
            }
        }
    }

    let identifier: UInt64
    var target: Target
    var phase: Phase
    var backoff: Backoff
    /// The key of the peer last reached at this address.
    var knownKey: PeerKey?
    /// The reason of the last failure.
    var lastFailure: String?
    /// Number of failures since the last connection.
    var failures = 0

    /// The name of a discovered peer; nil for other targets.
    var name: AnnouncedName? {
        if case .discovered(let peer) = target { return peer.name }
        return nil
    }

    /// The key of a learned peer, the only one that is accepted; nil for other targets.
    var expectedKey: PeerKey? {
        if case .learned(let key, _) = target { return key }
        return nil
    }

    /// The addresses to try for a learned peer, from another one after each failure.
    ///
    /// A failure delays all addresses of one host, so the first of them would always be tried.
    var rotatedAddresses: [SocketAddress] {
        guard case .learned(_, let addresses) = target, !addresses.isEmpty else { return [] }
        let start = failures % addresses.count
        return Array(addresses[start...] + addresses[..<start])
    }

    /// Whether the address was given by the application.
    var isConfigured: Bool {
        if case .address = target { return true }
        return false
    }
}

extension DiscoveredPeer {
    /// The addresses as the system needs them.
    var sockets: [SocketAddress] {
        addresses.map { SocketAddress($0.address, port: $0.port, interface: $0.interface) }
    }
}
