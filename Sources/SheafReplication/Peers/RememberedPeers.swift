import SheafDocument
import SheafEngine
package import SheafStorage
package import SheafSync
import SheafTransport

/// The status and the rights of peers at their last connection, by peer key.
package struct RememberedPeers {
    /// The rights of a remote peer at this one, and the rights of this peer at the remote one.
    package struct Authorization {
        let rights: PeerRights?
        let ownRights: PeerRights?
        let isServer: Bool
        /// The newest local commit when the rights last changed; nil if they never did.
        fileprivate var changedThrough: CommitID?

        package init(_ access: PeerAccess, isServer: Bool) {
            (rights, ownRights) = (access.rights, access.ownRights)
            self.isServer = isServer
        }

        fileprivate func isEqual(to other: Self) -> Bool {
            rights == other.rights && ownRights == other.ownRights && isServer == other.isServer
        }
    }

    /// Maximum number of peers; beyond it disconnected ones are discarded, unless there are fewer.
    package static let maximumCount = 4_096

    private(set) var statuses: [[UInt8]: ReplicationStatus] = [:]
    /// The keys of the peers whose status has changed since the last `drainChanged()`.
    private var changed: Set<[UInt8]> = []
    private var authorizations: [[UInt8]: Authorization] = [:]
    /// The state of peers with limited rights.
    private var limited: [[UInt8]: LimitedPeer] = [:]
    /// Cursors up to this commit are invalid: scopes were widened, or peers discarded.
    private var invalidThrough: CommitID?

    package init() {}

    var count: Int { max(statuses.count, authorizations.count) }

    /// Whether other peers must be discarded before this one is remembered.
    ///
    /// Connected peers cannot be discarded; all but one of them count in addition to the maximum.
    package func isFull(for key: [UInt8], connected: Int) -> Bool {
        authorizations[key] == nil && count >= Self.maximumCount + max(0, connected - 1)
    }

    /// Discards all peers that are not in `connected`; they reconcile when they connect again.
    package mutating func discard(but connected: Set<[UInt8]>, through newest: CommitID) {
        statuses = statuses.filter { connected.contains($0.key) }
        changed.formIntersection(connected)
        authorizations = authorizations.filter { connected.contains($0.key) }
        limited = limited.filter { connected.contains($0.key) }
        invalidThrough = newest
    }

    // MARK: Rights

    /// Records the rights of a connected peer; returns whether they have changed.
    ///
    /// Changed rights discard its shadows.
    package mutating func record(
        _ new: Authorization, of key: [UInt8], through newest: CommitID
    ) -> Bool {
        var new = new
        defer { authorizations[key] = new }
        guard let old = authorizations[key] else { return false }
        new.changedThrough = old.changedThrough
        guard !new.isEqual(to: old) else { return false }
        new.changedThrough = newest
        limited[key]?.shadows = ShadowTable()
        return true
    }

    /// Records that documents up to a commit have become visible to some peers.
    package mutating func recordWidening(through newest: CommitID) {
        invalidThrough = newest
    }

    /// Whether a cursor follows the last widening of the scopes, and the last change of rights.
    package func isCurrent(upTo cursor: Cursor, of key: [UInt8]) -> Bool {
        [invalidThrough, authorizations[key]?.changedThrough].allSatisfy { last in
            last.map { cursor.commit > $0 } ?? true
        }
    }

    /// Returns the state of a peer with limited rights; begins a new one if none is remembered.
    ///
    /// A new one has at most `most` read repairs.
    package mutating func openLimitedPeer(
        _ key: [UInt8], most: Int = LimitedPeer.maximumRepairs
    ) -> LimitedPeer {
        if let known = limited[key] { return known }
        let new = LimitedPeer(most: most)
        limited[key] = new
        return new
    }

    // MARK: Status

    package subscript(key: [UInt8]) -> ReplicationStatus? { statuses[key] }

    /// Changes the status of a peer; returns whether it differs afterwards.
    package mutating func change(
        _ key: [UInt8], _ body: (inout ReplicationStatus) -> Void
    ) -> Bool {
        let old = statuses[key]
        body(&statuses[key, default: ReplicationStatus()])
        let isOther = statuses[key] != old
        if isOther { changed.insert(key) }
        return isOther
    }

    /// Returns the statuses that have changed since the last call.
    package mutating func drainChanged() -> [[UInt8]: ReplicationStatus] {
        defer { changed = [] }
        var found: [[UInt8]: ReplicationStatus] = [:]
        for key in changed { found[key] = statuses[key] }
        return found
    }

    /// Records that a connection ended; returns the number of consecutive short ones, at least 1.
    package mutating func recordEnded(
        _ key: [UInt8], at address: String, _ reason: CloseReason, wall milliseconds: UInt64,
        isShort: Bool
    ) -> UInt64 {
        var status = statuses[key] ?? ReplicationStatus()
        status.isConnected = false
        (status.receiving, status.sending) = (nil, nil)
        status.address = address
        status.lastCloseReason = "\(reason)"
        status.endedMilliseconds = milliseconds
        status.shortConnections = isShort ? status.shortConnections + 1 : 1
        statuses[key] = status
        changed.insert(key)
        return status.shortConnections
    }
}
