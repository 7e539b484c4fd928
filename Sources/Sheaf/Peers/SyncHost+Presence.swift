import SheafStorage
package import SheafSync

/// What peers tell each other of the mesh.
extension SyncHost {
    /// Who can be reached over any number of connections, the nearest first; this peer is the first of all.
    package var reachablePeers: [PeerRecord] { mesh.reachable }

    /// Says something else of this peer from now on.
    package func present(name: String? = nil, metadata: [UInt8]) {
        if let name { identity.name = name }
        var portrait = Self.portrait(of: identity)
        portrait.metadata = metadata
        mesh.present(portrait, at: now)
    }

    /// Has sessions say what the mesh wants said.
    func settlePresence() {
        for action in mesh.takeActions(at: now) {
            switch action {
            case .tell(let number, let message):
                guard let link = links[number] else { continue }
                link.session.tellPresence(message)
                handle(link)
            case .took(let number):
                guard let link = links[number] else { continue }
                link.session.takePresence()
                handle(link)
            case .changed: emit(.presenceChanged)
            case .contested(let rival): emit(.keyContested(rival))
            }
        }
    }

    /// What is known of a mesh before anybody is met.
    static func lonelyMesh(_ identity: Identity, _ queries: QueryEngine, salt: UInt64) -> MeshMap {
        MeshMap(
            identity.peerKey, portrait(of: identity),
            opening: queries.documents.store.options.clock.wallMilliseconds(), salt: salt)
    }

    /// What a peer says of itself.
    static func portrait(of identity: Identity) -> PeerRecord.Portrait {
        PeerRecord.Portrait(
            isServer: identity.isServer, name: identity.name,
            operatingSystem: SheafVersion.operatingSystem, softwareVersion: SheafVersion.current)
    }
}
