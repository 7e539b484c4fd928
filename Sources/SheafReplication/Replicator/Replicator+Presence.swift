import SheafEngine
import SheafStatements
import SheafStorage
package import SheafSync
import SheafSystem

/// Gossip about the peers and connections of the mesh.
extension Replicator {
    /// All reachable peers, the nearest first; this peer precedes all others.
    package var reachablePeers: [PeerRecord] { mesh.reachable }

    /// Changes the name and the metadata that this peer publishes.
    package func present(name: String? = nil, metadata: [UInt8]) {
        if let name { identity.name = name }
        present(metadata, mesh.description.addresses)
    }

    /// The addresses of other peers that are reachable or were until a while ago, by key.
    package var knownAddresses: [[UInt8]: [PeerRecord.Address]] { mesh.knownAddresses }

    /// Changes the addresses that this peer publishes.
    package func publish(_ addresses: [PeerRecord.Address]) {
        present(mesh.description.metadata, addresses)
    }

    private func present(_ metadata: [UInt8], _ addresses: [PeerRecord.Address]) {
        mesh.present(
            Self.portrait(of: identity, metadata: metadata, addresses: addresses), at: now)
    }

    /// Performs the actions of the link-state database.
    func performPresenceActions() {
        for action in mesh.drainActions(at: now) {
            switch action {
            case .send(LinkStateDatabase.broadcasts, let message): broadcast(message)
            case .send(let number, let message):
                guard let connection = connections[number] else { continue }
                connection.session.sendPresence(message)
                settle(connection)
            case .acknowledged(let number):
                guard let connection = connections[number] else { continue }
                connection.session.takePresence()
                settle(connection)
            case .changed: emit(.presenceChanged)
            case .contested(let rival): emit(.keyContested(rival))
            }
        }
    }

    /// Returns the link-state database of a peer without connections.
    static func isolatedDatabase(_ identity: Identity, _ queries: QueryEngine, salt: UInt64)
        -> LinkStateDatabase
    {
        LinkStateDatabase(
            identity.peerKey, portrait(of: identity),
            opening: queries.documents.store.options.clock.wallMilliseconds(), salt: salt)
    }

    /// Returns the description that a peer publishes.
    package static func portrait(
        of identity: Identity, metadata: [UInt8] = [], addresses: [PeerRecord.Address] = []
    ) -> PeerRecord.Description {
        PeerRecord.Description(
            isServer: identity.isServer, name: identity.name,
            operatingSystem: SheafVersion.operatingSystem, softwareVersion: SheafVersion.current,
            metadata: metadata, addresses: addresses)
    }
}
