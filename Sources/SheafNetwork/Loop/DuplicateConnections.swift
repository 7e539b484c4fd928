import SheafTransport

/// The choice between two connections to the same peer; both ends make the same choice.
enum DuplicateConnections {
    /// Whether the newer connection replaces the older one.
    ///
    /// If the same end opened both, the newer one is kept, since the opener must have lost the
    /// older one. Otherwise the one opened by the end with the smaller key is kept.
    static func isNewKept(
        oldRole: Proof.Role, newRole: Proof.Role, ownKey: PeerKey, remoteKey: PeerKey
    ) -> Bool {
        guard oldRole != newRole else { return true }
        let opensOwnConnection = ownKey.bytes.lexicographicallyPrecedes(remoteKey.bytes)
        return (newRole == .dialer) == opensOwnConnection
    }
}
