/// A peer that lost its connection or was refused by this one, or an address that cannot be reached, with the reason.
public struct DisconnectedPeer: Sendable, Hashable {
    /// The key of the peer; nil if no peer was met at the address.
    public let key: PeerKey?
    /// The address of its last connection, or the one that cannot be reached.
    public let address: String
    /// What one side said as it closed the connection, or what the transport says.
    public let reason: String
    /// Time of the last disconnection or refusal, or of the first failed attempt, in milliseconds since 1970.
    public let sinceMilliseconds: Int64
}

extension SyncHost {
    /// Returns the peers that were met and have no connection, and addresses without a known peer.
    ///
    /// A peer whose address cannot be reached any more has the reason for that, if it is the later one.
    package func disconnectedPeers(
        unreachable addresses: [UnreachableAddress]
    ) -> [DisconnectedPeer] {
        var unknown = Dictionary(
            addresses.map { ($0.address, $0) }, uniquingKeysWith: { first, _ in first })
        let attempted = unknown
        var peers: [DisconnectedPeer] = []
        for (key, status) in allStatuses.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            guard !status.isConnected, let reason = status.lastCloseReason else { continue }
            unknown[status.address] = nil
            let ended = Int64(clamping: status.endedMilliseconds)
            let attempt = attempted[status.address].flatMap {
                $0.lastAttemptMilliseconds >= ended ? $0 : nil
            }
            peers.append(
                DisconnectedPeer(
                    key: PeerKey(unchecked: key), address: status.address,
                    reason: attempt?.reason ?? reason, sinceMilliseconds: ended))
        }
        return peers
            + unknown.values.sorted { $0.address < $1.address }.map {
                DisconnectedPeer(
                    key: nil, address: $0.address, reason: $0.reason,
                    sinceMilliseconds: $0.firstAttemptMilliseconds)
            }
    }
}
