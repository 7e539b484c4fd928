import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage
import SheafSync
import SheafSystem

/// The store and the peer of one connection, as an event finds them.
///
/// `Receiver` and `Sender` change only themselves, the `DocumentExchange` of their connection and
/// the shared `LimitedPeer`; they charge the evaluation slice, write to the log, and may number
/// field names. Everything else that they cause is an effect.
struct PeerContext {
    let queries: QueryEngine
    let recent: RecentCommits
    let limits: ReplicatorLimits
    /// The time of the event.
    let now: UInt64
    /// The number of the connection, and its random number in the local hello.
    let connection: UInt64
    let nonce: UInt64
    /// The rights of the peer.
    let access: PeerAccess
    /// The state of a peer with limited rights that outlives its connections; nil for other peers.
    let limitedPeer: LimitedPeer?
    /// Evaluation units left in this iteration for the queries of all peers.
    let slice: EvaluationSlice
    /// Flag that cancels query evaluation when the peer stops.
    let evaluationStop: EvaluationStop
    /// The subscription of this peer.
    let subscriptions: LocalSubscriptions
    /// Local documents that peers refuse.
    let refusals: RefusalTable
    /// The local commit up to which all commits are hub-durable; `.max` without a hub log.
    let hubDurable: CommitID
    /// The key of the remote peer; empty before its hello.
    let key: [UInt8]
    /// The local commit up to which the peer has all documents of its subscription.
    let syncedUpTo: CommitID
    /// The local commit of the version list that this peer reconciled last; `.max` before that.
    let listed: CommitID

    /// Whether the peer may read only some documents.
    var isLimited: Bool { access.isLimited }

    /// The local commit up to which batches of the peer may be acknowledged.
    var acknowledgeable: CommitID { min(snapshot.log.commit, hubDurable) }

    /// The newest durable snapshot.
    var snapshot: DocumentSnapshot { recent.snapshot }

    /// Whether the peer refuses the local version of a document, and so lacks the base of a delta.
    func isRefused(_ address: DocumentAddress) -> Bool {
        !refusals.isEmpty && refusals.has(address, of: key)
    }

    /// Whether the peer's queries may select a document in the given state.
    func maySelect(
        _ document: StoredDocument, _ key: [UInt8], _ address: DocumentAddress
    ) throws(EngineError) -> Bool {
        try access.maySelect(document, key, address, snapshot.names)
    }

    /// Whether a commit was received on this connection, so that it is not sent back.
    ///
    /// `remoteCommit` was the newest remote commit at the time of the subscription. Earlier commits
    /// are excluded, since the peer may have removed their documents. The site of the commit does
    /// not decide: a peer can name another store's site in its hello.
    func isFromPeer(_ commit: RecentCommits.Commit, after remoteCommit: UInt64) -> Bool {
        guard let change = commit.changes.first, let origin = change.origin else { return false }
        return change.connection == nonce && origin.commit > remoteCommit
    }

    /// Returns the commits that the peer has not acknowledged, or else the last one.
    func unacknowledged(_ commits: [CommitID]) -> [CommitID] {
        let newer = commits.drop { $0 <= syncedUpTo }
        return Array(newer.isEmpty ? commits.suffix(1) : newer)
    }

    /// Whether this peer has no right to send a document that the queries of the peer select.
    func isUnsendable(
        _ document: StoredDocument, _ key: [UInt8], _ address: DocumentAddress,
        _ snapshot: DocumentSnapshot, wantedBy wanted: SubscriptionMatcher
    ) throws(EngineError) -> Bool {
        guard access.isShared(address.collection), let sendable = access.sendable,
            try !sendable.matches(document, key: key, in: address.collection, snapshot.names),
            try access.mayRead(document, key, address, snapshot.names)
        else { return false }
        return try wanted.matches(document, key: key, in: address.collection, snapshot.names)
    }
}
