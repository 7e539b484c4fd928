/// Which of two connections with the same peer stays; both ends decide alike.
enum Rivalry {
    /// Whether the one that came later takes the place of the other.
    ///
    /// Of two that the same end has opened, the later one: it would not have opened it if the other one
    /// still worked. Otherwise that of the end with the smaller key.
    static func isNewKept(
        oldRole: Proof.Role, newRole: Proof.Role, ownKey: [UInt8], remoteKey: [UInt8]
    ) -> Bool {
        guard oldRole != newRole else { return true }
        let opensHere = ownKey.lexicographicallyPrecedes(remoteKey)
        return (newRole == .dialer) == opensHere
    }
}
