public import SheafTransport

/// A peer without a connection, or an unreachable address, with the reason.
public struct DisconnectedPeer: Sendable, Hashable {
    /// The key of the peer; nil if no peer was ever connected at the address.
    public let key: PeerKey?
    /// The address of its last connection, or the unreachable address.
    public let address: String
    /// The close reason of one side, or the error of the transport.
    public let reason: String
    /// Time of the disconnection, refusal or first failed attempt, in milliseconds since 1970.
    public let sinceMilliseconds: Int64
}
