import SheafNetwork
import SheafTransport
import Testing

/// The choice between two connections to one peer.
struct DuplicateConnectionTests {
    private let small = PeerKey(unchecked: [UInt8](repeating: 1, count: 32))
    private let great = PeerKey(unchecked: [UInt8](repeating: 2, count: 32))

    /// The decisions of both ends about a connection that the end with the smaller key opened.
    private func isNewKept(
        smallOpenedOld: Bool, smallOpenedNew: Bool, age: UInt64
    ) -> (atSmall: Bool, atGreat: Bool) {
        func role(_ isOpener: Bool) -> Proof.Role { isOpener ? .dialer : .listener }
        return (
            DuplicateConnections.isNewKept(
                oldRole: role(smallOpenedOld), oldNanoseconds: age, newRole: role(smallOpenedNew),
                ownKey: small, remoteKey: great),
            DuplicateConnections.isNewKept(
                oldRole: role(!smallOpenedOld), oldNanoseconds: age,
                newRole: role(!smallOpenedNew), ownKey: great, remoteKey: small)
        )
    }

    @Test(arguments: [true, false], [0, 2_999_999_999, 3_000_000_000] as [UInt64])
    func `the newer one is kept if one end opened both, or the older one is old`(
        smallOpenedOld: Bool, age: UInt64
    ) {
        for smallOpenedNew in [true, false] {
            let kept = isNewKept(
                smallOpenedOld: smallOpenedOld, smallOpenedNew: smallOpenedNew, age: age)
            let isSameOpener = smallOpenedOld == smallOpenedNew
            let expected = isSameOpener || age >= 3_000_000_000 || smallOpenedNew
            #expect(kept == (expected, expected))
        }
    }
}
