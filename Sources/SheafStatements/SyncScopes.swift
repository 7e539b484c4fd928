package import SheafDocument

/// The kinds of peers that each collection is sent to: the parameter `user_collection_sync_scopes`.
package struct SyncScopes: Equatable, Sendable {
    package enum Scope: String, CaseIterable, Sendable {
        case allPeers = "AllPeers"
        case bigPeerOnly = "BigPeerOnly"
        case smallPeersOnly = "SmallPeersOnly"
        case localPeerOnly = "LocalPeerOnly"
    }

    private var scopes: [[UInt8]: Scope] = [:]

    package init() {}

    /// Parses the parameter: an object of collection names and scopes.
    package init(_ object: Object) throws(StoreError) {
        for field in object {
            guard case .string(let name) = field.value, let scope = Scope(rawValue: name) else {
                let known = Scope.allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ")
                throw StoreError(
                    .argument,
                    "invalid sync scope \(field.value.json) of \(field.name); "
                        + "expected one of \(known)")
            }
            scopes[Array(field.name.utf8)] = scope
        }
    }

    /// Whether no collection has a scope, so that all are sent to all peers.
    package var isEmpty: Bool { scopes.isEmpty }

    /// Returns the scope of a collection.
    package func scope(of collection: String) -> Scope {
        scopes[Array(collection.utf8)] ?? .allPeers
    }

    /// Whether a collection may be sent to servers, or to other peers if `toServer` is false.
    package func allows(_ collection: String, toServer: Bool) -> Bool {
        switch scope(of: collection) {
        case .allPeers: true
        case .bigPeerOnly: toServer
        case .smallPeersOnly: !toServer
        case .localPeerOnly: false
        }
    }

    /// Whether these scopes permit sending any collection to peers that `old` excludes.
    package func isWider(than old: SyncScopes) -> Bool {
        old.scopes.keys.contains { isWider(than: old, for: String(decoding: $0, as: UTF8.self)) }
    }

    /// Whether these scopes permit sending any collection to servers that `old` does not send to
    /// them.
    package func isWiderForServers(than old: SyncScopes) -> Bool {
        old.scopes.keys.map { String(decoding: $0, as: UTF8.self) }.contains {
            allows($0, toServer: true) && !old.allows($0, toServer: true)
        }
    }

    /// Whether these scopes permit sending a collection to peers that `old` excludes.
    package func isWider(than old: SyncScopes, for collection: String) -> Bool {
        [false, true].contains {
            allows(collection, toServer: $0) && !old.allows(collection, toServer: $0)
        }
    }

    /// Whether documents of a collection may be sent to peers.
    package func isShared(_ collection: String) -> Bool {
        scopes[Array(collection.utf8)] != .localPeerOnly
    }
}
