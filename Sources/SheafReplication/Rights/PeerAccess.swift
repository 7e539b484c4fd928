package import SheafDocument
package import SheafEngine
import SheafQuery
package import SheafStatements
import SheafStorage
import SheafSync
package import SheafSystem
package import SheafTransport

/// The access of a peer: the documents that it may read or write, and those it may be sent.
///
/// The rights of the peer become rules when its hello is received.
package struct PeerAccess {
    /// The rights of the peer at this store; nil if unlimited.
    let rights: PeerRights?
    /// The rights of this peer at the remote store; nil if unlimited.
    let ownRights: PeerRights?
    /// The sharing scopes of the collections.
    var scopes: SyncScopes
    private var isServer = false
    /// Matcher of the documents that the peer may read; nil if it may read all.
    private(set) var readable: SubscriptionMatcher?
    /// Meter of the evaluations of `readable`.
    let readMeter: EvaluationMeter
    /// The read rule as queries, and a matcher of its part that depends on `_id` alone.
    private(set) var readRule: [SubscriptionQuery]?
    private(set) var readableByID: SubscriptionMatcher?
    /// Matcher of the documents that this peer may write remotely; nil if it may write all.
    private(set) var sendable: SubscriptionMatcher?
    /// Queries for the documents that the peer may write locally; nil if it may write all.
    private(set) var writable: [SubscriptionQuery]?

    package init(
        _ rights: PeerRights?, own ownRights: PeerRights?, _ scopes: SyncScopes,
        until stop: EvaluationStop
    ) {
        (self.rights, self.ownRights, self.scopes) = (rights, ownRights, scopes)
        readMeter = .unlimited(stop: stop)
    }

    /// Parses the rules of a peer whose hello was received.
    package mutating func open(
        _ queries: QueryEngine, isServer: Bool, until stop: EvaluationStop
    ) throws(StoreError) {
        self.isServer = isServer
        if let rights {
            let rule = try Self.rule(rights.read, queries)
            readRule = rule
            readable = SubscriptionMatcher(rule: rule, queries, meter: readMeter, stop: stop)
            readableByID = SubscriptionMatcher(
                rule: rule.filter(\.isDecidedByID), queries, stop: stop)
            writable = try Self.rule(rights.write, queries)
        }
        if let ownRights {
            sendable = SubscriptionMatcher(
                rule: try Self.rule(ownRights.write, queries), queries, stop: stop)
        }
    }

    private static func rule(
        _ conditions: [String: String], _ queries: QueryEngine
    ) throws(StoreError) -> [SubscriptionQuery] {
        var found: [SubscriptionQuery] = []
        for (collection, condition) in conditions.sorted(by: { $0.key < $1.key }) {
            let name = NameSpelling.quoted(collection)
            let query = DQL(verbatim: "SELECT * FROM \(name) WHERE \(condition)")
            found.append(
                try SubscriptionQuery(try queries.statement(query), ArgumentValues(), queries))
        }
        return found
    }

    /// Whether the peer may read only some documents.
    package var isLimited: Bool { readable != nil }

    /// Whether the peer may write only some documents, so that its tokens need proofs.
    package var needsProofs: Bool { writable != nil }

    /// Whether some documents may have to be withheld from the peer.
    package var isRestricted: Bool { readable != nil || sendable != nil || !scopes.isEmpty }

    /// Whether a collection is shared with the peer.
    package func isShared(_ collection: String) -> Bool {
        scopes.allows(collection, toServer: isServer)
    }

    /// The collections of which the peer may read some documents; nil if it may read all.
    package var readableCollections: [String]? { readable?.named }

    /// Whether the peer may read some documents of a collection, and this peer may send some.
    package func maySelectSome(of collection: String) -> Bool {
        guard isShared(collection) else { return false }
        return readable?.selects(for: collection) ?? true
            && sendable?.selects(for: collection) ?? true
    }

    /// Whether the peer may read a document and this peer may send it.
    ///
    /// A tombstone has no content: a peer that could read the former state may receive it.
    package func maySend(
        _ document: StoredDocument, before: StoredDocument?, _ key: [UInt8],
        _ address: DocumentAddress, _ names: NameTable
    ) throws(EngineError) -> Bool {
        try maySelect(document.isTombstone ? before : document, key, address, names)
    }

    /// Whether the peer's queries may select a document; unlike `maySend`, ignores former states.
    package func maySelect(
        _ document: StoredDocument?, _ key: [UInt8], _ address: DocumentAddress, _ names: NameTable
    ) throws(EngineError) -> Bool {
        guard isShared(address.collection) else { return false }
        for matcher in [readable, sendable] {
            guard let matcher else { continue }
            guard try matcher.matches(document, key: key, in: address.collection, names)
            else { return false }
        }
        return true
    }

    /// Whether the rights of the peer let it read a document in this state.
    package func mayRead(
        _ document: StoredDocument, _ key: [UInt8], _ address: DocumentAddress, _ names: NameTable
    ) throws(EngineError) -> Bool {
        guard isShared(address.collection) else { return false }
        guard let readable else { return true }
        return try readable.matches(document, key: key, in: address.collection, names)
    }

    /// Whether a document may be revealed to the peer; with `isOwn`, this peer is the subscriber.
    package func isShown(
        _ document: StoredDocument, _ key: [UInt8], _ address: DocumentAddress,
        _ names: NameTable, isOwn: Bool
    ) throws(EngineError) -> Bool {
        guard isOwn else { return try maySend(document, before: nil, key, address, names) }
        return try mayRead(document, key, address, names)
    }

    /// Returns the filter for documents that are ranked for the peer; nil if all are.
    ///
    /// With `isOwn`, this peer is the subscriber, which names its documents when the peers
    /// reconcile.
    package func rankFilter(
        in snapshot: DocumentSnapshot, isOwn: Bool
    ) -> SubscriptionRankings.Filter? {
        guard isRestricted else { return nil }
        return { (document, key, address) throws(EngineError) in
            try isShown(document, key, address, snapshot.names, isOwn: isOwn)
        }
    }
}
