public import Foundation
import Sheaf

/// A peer without a connection, and the reason.
///
/// The reference system has no such list.
public struct DittoDisconnectedPeer: Hashable, Sendable {
    /// The key of the peer; nil if no connection to the address has succeeded.
    public let peerKeyString: String?
    /// The address of the last connection, or of the failed attempts.
    public let address: String
    /// The close reason of the last connection, or the error of the transport.
    public let reason: String
    /// The time when the last connection ended, or of the first failed attempt.
    public let since: Date

    init(_ peer: DisconnectedPeer) {
        peerKeyString = peer.key?.description
        (address, reason) = (peer.address, peer.reason)
        since = Date(timeIntervalSince1970: Double(peer.sinceMilliseconds) / 1_000)
    }
}
