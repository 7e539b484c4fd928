public import SheafDocument
package import SheafSync
public import SheafTransport

/// The reachable peers, direct and indirect, and the connections between them.
///
/// The descriptions of neighbors come from the neighbors themselves, over connections authenticated
/// by the transport. All others are relayed and unsigned: use them for display only, never to grant
/// rights.
public struct PresenceGraph: Sendable, Hashable {
    /// The local peer.
    public let localPeer: PresencePeer
    /// All other reachable peers, the nearest first.
    public let remotePeers: [PresencePeer]
    /// Peers without a connection to this one, with the reasons; other peers may still reach them.
    public let disconnectedPeers: [DisconnectedPeer]

    /// The local or remote peer with a key.
    public subscript(key: PeerKey) -> PresencePeer? {
        key == localPeer.key ? localPeer : remotePeers.first { $0.key == key }
    }

    /// All connections, without duplicates.
    public var connections: [PresenceConnection] {
        var seen: Set<PresenceConnection> = []
        return ([localPeer] + remotePeers).flatMap(\.connections).filter {
            seen.insert($0).inserted
        }
    }
}

/// A reachable peer, as it describes itself.
public struct PresencePeer: Sendable, Hashable {
    /// The key that identifies the peer.
    public let key: PeerKey
    /// The readable name of the device.
    public let deviceName: String
    /// Whether the peer presents itself as a server.
    public let isServer: Bool
    /// The operating system, or nil if the peer has not reported one.
    public let operatingSystem: String?
    /// The version of Sheaf, or nil if the peer has not reported one.
    public let sheafVersion: String?
    /// Number of connections on the shortest path: 0 for the local peer, 1 for a neighbor.
    public let distance: Int
    /// The connections of the peer that both ends report.
    public let connections: [PresenceConnection]
    private let metadataBytes: [UInt8]

    /// The metadata that the peer has set with `Presence.setMetadata(_:)`.
    public var metadata: Object {
        guard case .object(let object)? = try? Value(jsonBytes: metadataBytes) else {
            return Object()
        }
        return object
    }
}

/// A connection between two peers.
public struct PresenceConnection: Sendable, Hashable {
    /// The lesser key in bytewise order.
    public let peer1: PeerKey
    /// The greater key in bytewise order.
    public let peer2: PeerKey
    /// The kind of transport.
    public let kind: PeerConnectionKind

    /// The unique id of the connection in the graph, composed of both keys and the kind.
    public var id: String { "\(peer1)<->\(peer2):\(kind)" }

    /// Returns the key of the peer to which the connection leads from `key`.
    public func other(than key: PeerKey) -> PeerKey { key == peer1 ? peer2 : peer1 }
}

extension PresenceGraph {
    /// Creates a graph from records in order of distance, beginning with the local peer.
    package init(_ records: [PeerRecord], disconnected: [DisconnectedPeer] = []) {
        precondition(!records.isEmpty, "The first record is that of the local peer.")
        let indices = Dictionary(
            records.enumerated().map { ($0.element.key, $0.offset) }, uniquingKeysWith: min)
        var connections = records.map { _ in [PresenceConnection]() }
        var distances = records.map { _ in 0 }
        for (index, record) in records.enumerated() {
            for neighbor in record.neighbors {
                guard let other = indices[neighbor.key],
                    let kind = records[other].kind(ofConnectionWith: record.key)
                else { continue }
                if other > index, distances[other] == 0 { distances[other] = distances[index] + 1 }
                let isLess = record.key.lexicographicallyPrecedes(neighbor.key)
                // If the ends report different kinds, the kind reported by the lesser key applies.
                let (low, high) = isLess ? (record.key, neighbor.key) : (neighbor.key, record.key)
                connections[index].append(
                    PresenceConnection(
                        peer1: PeerKey(unchecked: low), peer2: PeerKey(unchecked: high),
                        kind: PeerConnectionKind(rawValue: isLess ? neighbor.kind : kind) ?? .other)
                )
            }
        }
        let peers = records.indices.map { index in
            PresencePeer(records[index], distance: distances[index], connections[index])
        }
        disconnectedPeers = disconnected
        localPeer = peers[0]
        remotePeers = Array(peers.dropFirst())
    }
}

extension PresencePeer {
    fileprivate init(_ record: PeerRecord, distance: Int, _ connections: [PresenceConnection]) {
        func known(_ text: String) -> String? { text.isEmpty ? nil : text }
        key = PeerKey(unchecked: record.key)
        deviceName = record.description.name
        isServer = record.description.isServer
        operatingSystem = known(record.description.operatingSystem)
        sheafVersion = known(record.description.softwareVersion)
        self.distance = distance
        self.connections = connections
        metadataBytes = record.description.metadata
    }
}
