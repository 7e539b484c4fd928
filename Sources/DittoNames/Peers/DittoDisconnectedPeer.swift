public import Foundation
import Sheaf

/// A peer without a connection, with the reason: its last connection ended, or it cannot be reached.
///
/// The reference system has no such list; there a peer that is missing has no reason.
public struct DittoDisconnectedPeer: Hashable, Sendable {
    /// The key of the peer; nil if no peer was met at the address.
    public let peerKeyString: String?
    /// The address of its last connection, or the one that cannot be reached.
    public let address: String
    /// What one side said as it closed the connection, or what the transport says.
    public let reason: String
    /// When the last connection ended, or the first attempt failed.
    public let since: Date

    init(_ peer: DisconnectedPeer) {
        peerKeyString = peer.key?.description
        (address, reason) = (peer.address, peer.reason)
        since = Date(timeIntervalSince1970: Double(peer.sinceMilliseconds) / 1_000)
    }
}
