import SheafDocument
import SheafQuery

/// With whom each collection is shared: the parameter `user_collection_sync_scopes`.
struct SyncScopes: Equatable, Sendable {
    enum Scope: String, CaseIterable, Sendable {
        case allPeers = "AllPeers"
        case bigPeerOnly = "BigPeerOnly"
        case smallPeersOnly = "SmallPeersOnly"
        case localPeerOnly = "LocalPeerOnly"
    }

    private var scopes: [[UInt8]: Scope] = [:]

    init() {}

    /// Reads the parameter: a scope for each collection that is not shared with all.
    init(_ object: Object) throws(QueryError) {
        for field in object {
            guard case .string(let name) = field.value, let scope = Scope(rawValue: name) else {
                let known = Scope.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
                throw QueryError(
                    .argument,
                    "the sync scope of \(field.name) is one of \(known), and not "
                        + field.value.json)
            }
            scopes[Array(field.name.utf8)] = scope
        }
    }

    /// Whether all collections are shared with all.
    var isEmpty: Bool { scopes.isEmpty }

    /// With whom a collection is shared.
    func scope(of collection: String) -> Scope {
        scopes[Array(collection.utf8)] ?? .allPeers
    }

    /// Whether documents of a collection may be sent to another peer.
    func allows(_ collection: String, toServer: Bool) -> Bool {
        switch scope(of: collection) {
        case .allPeers: true
        case .bigPeerOnly: toServer
        case .smallPeersOnly: !toServer
        case .localPeerOnly: false
        }
    }

    /// Whether documents of any collection may be sent to somebody to whom they might not.
    func isWider(than old: SyncScopes) -> Bool {
        old.scopes.keys.contains { isWider(than: old, for: String(decoding: $0, as: UTF8.self)) }
    }

    /// The same of one collection.
    func isWider(than old: SyncScopes, for collection: String) -> Bool {
        [false, true].contains {
            allows(collection, toServer: $0) && !old.allows(collection, toServer: $0)
        }
    }

    /// Whether documents of a collection are shared with anybody.
    func isShared(_ collection: String) -> Bool {
        scopes[Array(collection.utf8)] != .localPeerOnly
    }
}
