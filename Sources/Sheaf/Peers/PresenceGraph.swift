public import SheafDocument
package import SheafSync

/// All peers of the mesh that can be reached, directly or over others, and how they are connected.
///
/// What is told of peers that are no neighbors comes from others, unsigned: it is of use for showing people
/// who is there, and nothing to give rights for. Neighbors speak for themselves, each over a connection
/// whose other end the transport has proven.
public struct PresenceGraph: Sendable, Hashable {
    /// This peer.
    public let localPeer: PresencePeer
    /// All others, the nearest first.
    public let remotePeers: [PresencePeer]
    /// Peers without a connection to this one, with the reasons; other peers may still reach them.
    public let disconnectedPeers: [DisconnectedPeer]

    /// A peer of it.
    public subscript(key: PeerKey) -> PresencePeer? {
        key == localPeer.key ? localPeer : remotePeers.first { $0.key == key }
    }

    /// All connections, each once.
    public var connections: [PresenceConnection] {
        var seen: Set<PresenceConnection> = []
        return ([localPeer] + remotePeers).flatMap(\.connections).filter {
            seen.insert($0).inserted
        }
    }
}

/// A peer of the mesh, as it describes itself.
public struct PresencePeer: Sendable, Hashable {
    /// By what it is known.
    public let key: PeerKey
    /// What people call the device.
    public let deviceName: String
    /// Whether it calls itself a server.
    public let isServer: Bool
    /// The system that it runs on; none where it has not said.
    public let operatingSystem: String?
    /// Its version of Sheaf; none where it has not said.
    public let sheafVersion: String?
    /// Over how many connections it is reached: 0 is this peer, 1 a neighbor.
    public let distance: Int
    /// Its connections with others, which both ends know of.
    public let connections: [PresenceConnection]
    private let metadataBytes: [UInt8]

    /// What its user has said of it, with `Presence.setMetadata(_:)`.
    public var metadata: Object {
        guard case .object(let object)? = try? Value(jsonBytes: metadataBytes) else {
            return Object()
        }
        return object
    }
}

/// A connection between two peers.
public struct PresenceConnection: Sendable, Hashable {
    /// The lesser one of both keys, byte by byte.
    public let peer1: PeerKey
    /// The greater one of both keys.
    public let peer2: PeerKey
    /// What it goes over.
    public let kind: PeerConnectionKind

    /// Tells it from all others of the mesh: both keys, and what it goes over.
    public var id: String { "\(peer1)<->\(peer2):\(kind)" }

    /// The other end, seen from a peer.
    public func other(than key: PeerKey) -> PeerKey { key == peer1 ? peer2 : peer1 }
}

extension PresenceGraph {
    /// The graph that records make; the first is of this peer, and nearer ones stand before farther ones.
    package init(_ records: [PeerRecord], disconnected: [DisconnectedPeer] = []) {
        precondition(!records.isEmpty, "A peer knows itself.")
        let places = Dictionary(
            records.enumerated().map { ($0.element.key, $0.offset) }, uniquingKeysWith: min)
        var connections = records.map { _ in [PresenceConnection]() }
        var distances = records.map { _ in 0 }
        for (place, record) in records.enumerated() {
            for neighbor in record.neighbors {
                guard let other = places[neighbor.key],
                    let kind = records[other].kind(ofConnectionWith: record.key)
                else { continue }
                if other > place, distances[other] == 0 { distances[other] = distances[place] + 1 }
                let isLess = record.key.lexicographicallyPrecedes(neighbor.key)
                // Where the two do not agree what it is, it is what the lesser one says.
                let (low, high) = isLess ? (record.key, neighbor.key) : (neighbor.key, record.key)
                connections[place].append(
                    PresenceConnection(
                        peer1: PeerKey(unchecked: low), peer2: PeerKey(unchecked: high),
                        kind: PeerConnectionKind(rawValue: isLess ? neighbor.kind : kind) ?? .other)
                )
            }
        }
        let peers = records.indices.map { place in
            PresencePeer(records[place], distance: distances[place], connections[place])
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
        deviceName = record.portrait.name
        isServer = record.portrait.isServer
        operatingSystem = known(record.portrait.operatingSystem)
        sheafVersion = known(record.portrait.softwareVersion)
        self.distance = distance
        self.connections = connections
        metadataBytes = record.portrait.metadata
    }
}
