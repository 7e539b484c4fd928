public import Foundation
import Sheaf

/// All peers that can be reached from the local peer.
///
/// Information about peers without a direct connection is reported by other peers.
public struct DittoPresenceGraph: Hashable, Sendable {
    /// The local peer.
    public let localPeer: DittoPeer
    /// All other reachable peers, the nearest first.
    public let remotePeers: [DittoPeer]
    /// Peers without a connection to this one, with the reasons.
    public let disconnectedPeers: [DittoDisconnectedPeer]

    init(_ graph: PresenceGraph) {
        func peer(_ known: PresencePeer) -> DittoPeer {
            let isAtServer = known.connections.contains {
                graph[$0.other(than: known.key)]?.isServer ?? false
            }
            return DittoPeer(known, isAtServer: isAtServer)
        }
        localPeer = peer(graph.localPeer)
        remotePeers = graph.remotePeers.map(peer)
        disconnectedPeers = graph.disconnectedPeers.map { DittoDisconnectedPeer($0) }
    }

    init(alone key: PeerKey) {
        localPeer = DittoPeer(alone: key)
        (remotePeers, disconnectedPeers) = ([], [])
    }

    /// Returns the connections of all peers, by id.
    public func allConnectionsByID() -> [String: DittoConnection] {
        let connections = ([localPeer] + remotePeers).flatMap(\.connections)
        return Dictionary(connections.map { ($0.id, $0) }) { first, _ in first }
    }
}

/// A peer that can be reached.
public struct DittoPeer: Hashable, Sendable {
    /// The key of the peer.
    public let peerKeyString: String
    /// The name of the device.
    public let deviceName: String
    /// The connections of the peer.
    public let connections: [DittoConnection]
    /// Whether the peer is connected to one that announces itself as a server.
    ///
    /// This is the closest equivalent of a cloud connection.
    public let isConnectedToDittoCloud: Bool
    /// The operating system, if the peer has sent it.
    public let os: String?
    /// The version of Sheaf, if the peer has sent it.
    public let dittoSDKVersion: String?
    private let metadata: Object

    init(_ peer: PresencePeer, isAtServer: Bool) {
        peerKeyString = peer.key.description
        deviceName = peer.deviceName
        connections = peer.connections.map { DittoConnection($0) }
        isConnectedToDittoCloud = isAtServer
        os = peer.operatingSystem
        dittoSDKVersion = peer.sheafVersion
        metadata = peer.metadata
    }

    init(alone key: PeerKey) {
        peerKeyString = key.description
        (deviceName, connections, isConnectedToDittoCloud) = ("", [], false)
        (os, dittoSDKVersion, metadata) = (nil, SheafVersion.current, Object())
    }

    /// Whether the peer is connected to one that announces itself as a server.
    public var isConnectedToDittoServer: Bool { isConnectedToDittoCloud }

    /// The 32 bytes of the key.
    public var peerKey: Data { Data(PeerKey(peerKeyString)?.bytes ?? []) }

    /// The metadata that the peer publishes.
    public var peerMetadata: [String: Any?] { metadata.dittoValue }

    /// Metadata of an identity service; always empty, since there is none.
    public var identityServiceMetadata: [String: Any?] { [:] }
}

/// A connection between two peers.
public struct DittoConnection: Hashable, Sendable {
    /// The unique id of the connection.
    public let id: String
    /// The transport of the connection.
    public let type: DittoConnectionType
    /// The lesser key of the two peers.
    public let peerKeyString1: String
    /// The greater key of the two peers.
    public let peerKeyString2: String

    init(_ connection: PresenceConnection) {
        id = connection.id
        type = .accessPoint
        peerKeyString1 = connection.peer1.description
        peerKeyString2 = connection.peer2.description
    }
}

/// The transport of a connection; always `accessPoint`, which is TCP.
public enum DittoConnectionType: String, CaseIterable, Hashable, Sendable {
    /// Bluetooth Low Energy; never reported.
    case bluetooth
    /// TCP.
    case accessPoint
    /// A direct wireless connection; never reported.
    case p2pWiFi
    /// A web socket; never reported.
    case webSocket
}
