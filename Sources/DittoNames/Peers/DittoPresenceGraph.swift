public import Foundation
import Sheaf

/// All peers that can be reached, seen from one of them.
///
/// What is told of peers that this one is not connected with is hearsay.
public struct DittoPresenceGraph: Hashable, Sendable {
    /// This peer.
    public let localPeer: DittoPeer
    /// All others, the nearest first.
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

    /// All connections of all peers, by their ids.
    public func allConnectionsByID() -> [String: DittoConnection] {
        let connections = ([localPeer] + remotePeers).flatMap(\.connections)
        return Dictionary(connections.map { ($0.id, $0) }) { first, _ in first }
    }
}

/// A peer that can be reached.
public struct DittoPeer: Hashable, Sendable {
    /// By what it is known.
    public let peerKeyString: String
    /// What people call the device.
    public let deviceName: String
    /// Its connections with others.
    public let connections: [DittoConnection]
    /// Whether it is connected with a peer that calls itself a server: the nearest thing to a cloud.
    public let isConnectedToDittoCloud: Bool
    /// The system that it runs on, where it has said.
    public let os: String?
    /// Its version of Sheaf, where it has said.
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

    /// Whether it is connected with a peer that calls itself a server.
    public var isConnectedToDittoServer: Bool { isConnectedToDittoCloud }

    /// The 32 bytes of its key.
    public var peerKey: Data { Data(PeerKey(peerKeyString)?.bytes ?? []) }

    /// What it says of itself.
    public var peerMetadata: [String: Any?] { metadata.dittoValue }

    /// What a cloud says of it: there is none, so this is empty.
    public var identityServiceMetadata: [String: Any?] { [:] }
}

/// A connection between two peers.
public struct DittoConnection: Hashable, Sendable {
    /// Tells it from all others.
    public let id: String
    /// What carries it.
    public let type: DittoConnectionType
    /// The lesser key of both ends.
    public let peerKeyString1: String
    /// The greater key of both ends.
    public let peerKeyString2: String

    init(_ connection: PresenceConnection) {
        id = connection.id
        type = .accessPoint
        peerKeyString1 = connection.peer1.description
        peerKeyString2 = connection.peer2.description
    }
}

/// What carries a connection; here all are `accessPoint`, which is TCP.
public enum DittoConnectionType: String, CaseIterable, Hashable, Sendable {
    case bluetooth, accessPoint, p2pWiFi, webSocket
}
