import SheafTransport

extension Replicator {
    /// Returns the known peers without a connection, and unreachable addresses of unknown peers.
    ///
    /// If an attempt to reach a peer failed after its connection ended, the reason is that of the
    /// attempt.
    package func disconnectedPeers(
        unreachable addresses: [UnreachableAddress]
    ) -> [DisconnectedPeer] {
        var unknown = Dictionary(
            addresses.map { ($0.address, $0) }, uniquingKeysWith: { first, _ in first })
        let attempted = unknown
        var peers: [DisconnectedPeer] = []
        let disconnected = allStatuses.filter { !$0.value.isConnected }
        for (key, status) in disconnected.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            guard let reason = status.lastCloseReason else { continue }
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
