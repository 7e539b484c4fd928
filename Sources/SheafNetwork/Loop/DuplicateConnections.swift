package import SheafTransport

/// The choice between two connections to the same peer; both ends make the same choice.
package enum DuplicateConnections {
    /// Age from which an older connection cannot have been opened at the same time.
    package static let agedNanoseconds: UInt64 = 3_000_000_000

    /// Whether the newer connection replaces the older one.
    ///
    /// If the same end opened both, or the older one is at least 3 s old, the newer one is kept,
    /// since its opener must have lost the older one. Otherwise both ends have connected to each
    /// other at once, and the one opened by the end with the smaller key is kept.
    package static func isNewKept(
        oldRole: Proof.Role, oldNanoseconds: UInt64, newRole: Proof.Role, ownKey: PeerKey,
        remoteKey: PeerKey
    ) -> Bool {
        guard oldRole != newRole, oldNanoseconds < agedNanoseconds else { return true }
        let opensOwnConnection = ownKey.bytes.lexicographicallyPrecedes(remoteKey.bytes)
        return (newRole == .dialer) == opensOwnConnection
    }
}
