import SheafDocument
import SheafStorage
import SheafSync

/// The connections of a replicator, and those that an event must visit.
///
/// A connection reports each change of its state. So an event costs in proportion to the
/// connections that have changed or whose deadline has been reached, not to all of them. The lists
/// other than `touched` and `unfollowed`, and the deadlines, are valid after `refresh`.
final class ConnectionTable {
    typealias Connection = Replicator.Connection

    private(set) var byNumber: [UInt64: Connection] = [:]
    /// All connections in the order of their numbers, so that runs are deterministic.
    private(set) var ordered: [Connection] = []
    /// The connections whose hello was received, by the key of the peer, in order.
    private var byKey: [[UInt8]: [Connection]] = [:]
    /// The same by the site in the hello.
    private var bySite: [Site: [Connection]] = [:]

    /// The connections that have changed since the pump last visited them.
    private(set) var touched = ConnectionList(.touched, holding: .touchedHeld)
    /// The connections that have changed since their last `follow`.
    private(set) var unfollowed = ConnectionList(.unfollowed, holding: .unfollowedHeld)
    /// The connections with unfinished work, or with a delayed subscription.
    private(set) var working = ConnectionList(.working, holding: .workingHeld)
    /// The connections for which commits may permit further steps.
    private(set) var followers = ConnectionList(.followers, holding: .followersHeld)
    /// The connections with a sender that has not sent the newest commit.
    private(set) var behind = ConnectionList(.behind, holding: .behindHeld)
    /// The connections whose peers have requested parts of attachments.
    private(set) var serving = ConnectionList(.serving, holding: .servingHeld)
    /// The connections whose reconciliation waits for received documents.
    private(set) var awaiting = ConnectionList(.awaiting, holding: .awaitingHeld)
    private(set) var unfinishedCount = 0
    /// Number of bytes of complete batches that are not written.
    private(set) var unwrittenLength = 0
    private var deadlines = DeadlineHeap()

    // MARK: Connections

    func insert(_ connection: Connection) {
        byNumber[connection.number] = connection
        var index = ordered.count
        while index > 0, ordered[index - 1].number > connection.number { index -= 1 }
        ordered.insert(connection, at: index)
        touch(connection)
    }

    /// Removes and returns a connection; nil if there is none with the number.
    func remove(_ number: UInt64) -> Connection? {
        guard let connection = byNumber.removeValue(forKey: number) else { return nil }
        if let index = index(of: number) { ordered.remove(at: index) }
        if let hello = connection.session.remote {
            Self.remove(connection, from: &byKey, hello.peerKey)
            Self.remove(connection, from: &bySite, hello.site)
        }
        touched.forget(connection)
        unfollowed.forget(connection)
        working.forget(connection)
        followers.forget(connection)
        behind.forget(connection)
        serving.forget(connection)
        awaiting.forget(connection)
        deadlines.set(connection, nil)
        if connection.marks.contains(.unfinished) { unfinishedCount -= 1 }
        unwrittenLength -= connection.countedLength
        connection.marks = .removed
        return connection
    }

    private static func remove<Key: Hashable>(
        _ connection: Connection, from index: inout [Key: [Connection]], _ key: Key
    ) {
        index[key]?.removeAll { $0 === connection }
        if index[key]?.isEmpty == true { index[key] = nil }
    }

    private func index(of number: UInt64) -> Int? {
        var (low, high) = (0, ordered.count)
        while low < high {
            let middle = (low + high) / 2
            if ordered[middle].number < number { low = middle + 1 } else { high = middle }
        }
        return low < ordered.count && ordered[low].number == number ? low : nil
    }

    // MARK: Peers

    /// Records the peer of a connection whose hello was received.
    func recordPeer(of connection: Connection) {
        guard let hello = connection.session.remote, !connection.marks.contains(.removed) else {
            return
        }
        Self.insert(connection, into: &byKey, hello.peerKey)
        Self.insert(connection, into: &bySite, hello.site)
    }

    private static func insert<Key: Hashable>(
        _ connection: Connection, into index: inout [Key: [Connection]], _ key: Key
    ) {
        var connections = index[key] ?? []
        let next = connections.firstIndex { $0.number > connection.number }
        connections.insert(connection, at: next ?? connections.count)
        index[key] = connections
    }

    /// Returns the connections to a peer, in the order of their numbers.
    func connections(to key: [UInt8]) -> [Connection] { byKey[key] ?? [] }

    /// Returns the connections whose peers reported a site in their hellos, in order.
    func connections(withSite site: Site) -> [Connection] { bySite[site] ?? [] }

    /// Whether a peer is connected.
    func isConnected(_ key: [UInt8]) -> Bool { byKey[key] != nil }

    /// The keys of all connected peers.
    var keys: Set<[UInt8]> { Set(byKey.keys) }

    /// Number of connected peers.
    var peerCount: Int { byKey.count }

    // MARK: Changes

    /// Records that the state of a connection is about to change.
    func touch(_ connection: Connection) {
        let marks: ConnectionMarks = [.touched, .unfollowed]
        guard connection.marks.isDisjoint(with: .removed),
            !connection.marks.isSuperset(of: marks)
        else { return }
        touched.insert(connection)
        unfollowed.insert(connection)
    }

    /// Touches all connections whose deadline has been reached.
    func touchDue(at now: UInt64) {
        guard let first = deadlines.first, first <= now else { return }
        var due: [Connection] = []
        deadlines.forEachDue(at: now) { due.append($0) }
        for connection in due { touched.insert(connection) }
    }

    /// Records that a connection has taken all steps that its state permits.
    func recordFollowed(_ connection: Connection) {
        unfollowed.remove(connection)
    }

    /// Removes a touched connection from the list, before it is visited.
    func beginVisit(_ connection: Connection) {
        touched.remove(connection)
    }

    /// Updates the lists and the deadlines for all changed connections.
    func refresh(through newest: CommitID) {
        var last: UInt64?
        while let connection = touched.next(after: last) {
            last = connection.number
            refresh(connection, through: newest)
        }
    }

    /// Updates the lists and the deadline of one connection; `newest` is the newest durable commit.
    func refresh(_ connection: Connection, through newest: CommitID) {
        guard !connection.marks.contains(.removed) else { return }
        let isUnfinished = connection.isUnfinished
        if isUnfinished != connection.marks.contains(.unfinished) {
            unfinishedCount += isUnfinished ? 1 : -1
            connection.marks.formSymmetricDifference(.unfinished)
        }
        let length = connection.unwrittenLength
        unwrittenLength += length - connection.countedLength
        connection.countedLength = length
        working.set(connection, isUnfinished || connection.delayed != nil)
        followers.set(connection, connection.followsCommits)
        behind.set(connection, connection.isBehind(newest))
        serving.set(connection, connection.session.nextServed != nil)
        awaiting.set(connection, connection.receiver.awaitsComparison)
        deadlines.set(connection, connection.deadline)
    }

    /// The earliest deadline of all connections.
    var deadline: UInt64? { deadlines.first }

    /// Returns the next connection after a number that may take steps after a commit.
    func nextAfterCommit(_ number: UInt64?) -> Connection? {
        Self.first(followers.next(after: number), unfollowed.next(after: number))
    }

    /// Returns the next connection after a number that may have work left for this iteration.
    func nextWorking(after number: UInt64?) -> Connection? {
        Self.first(working.next(after: number), unfollowed.next(after: number))
    }

    private static func first(_ one: Connection?, _ other: Connection?) -> Connection? {
        guard let one else { return other }
        guard let other else { return one }
        return other.number < one.number ? other : one
    }
}

extension ConnectionTable {
    /// A description of the first violated invariant, or nil; for tests.
    func violation(through newest: CommitID) -> String? {
        refresh(through: newest)
        for connection in ordered {
            let number = connection.number
            if connection.isPending, !touched.contains(connection) {
                return "connection \(number) is pending and not listed"
            }
            let expected: [(String, ConnectionList, Bool)] = [
                ("working", working, connection.isUnfinished || connection.delayed != nil),
                ("followers", followers, connection.followsCommits),
                ("lagging", behind, connection.isBehind(newest)),
                ("serving", serving, connection.session.nextServed != nil),
                ("awaiting", awaiting, connection.receiver.awaitsComparison),
            ]
            for (name, list, isMember) in expected where list.contains(connection) != isMember {
                return "connection \(number) is \(isMember ? "not " : "")listed as \(name)"
            }
            if deadlines.deadline(of: connection) != connection.deadline {
                return "the deadline of connection \(number) is outdated"
            }
        }
        if deadline != ordered.compactMap(\.deadline).min() { return "a deadline is missed" }
        let unfinished = ordered.count(where: \.isUnfinished)
        if unfinishedCount != unfinished { return "\(unfinished) connections are unfinished" }
        let length = ordered.reduce(0) { $0 + $1.unwrittenLength }
        if unwrittenLength != length { return "\(length) bytes are not written" }
        let numbers = ordered.map(\.number)
        if numbers != byNumber.keys.sorted() { return "the connections are not in order" }
        return nil
    }
}
