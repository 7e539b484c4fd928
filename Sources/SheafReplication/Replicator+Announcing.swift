import SheafBytes
import SheafDocument
package import SheafEngine
import SheafQuery
import SheafStorage
import SheafSync

/// Announcements, which avoid that several peers send the same documents.
///
/// All but one of these peers only announce their documents. A peer that still lacks announced
/// documents after a timeout subscribes again, and receives documents on that connection from then
/// on. So the connections that deliver first form a spanning tree, and the others are spares.
extension Replicator {
    /// Received announcements whose documents are not all stored here.
    struct Announced {
        var messages: [Announce] = []
        /// Local commits of batches received after an announcement, by their remote commits.
        var written: [UInt64: CommitID] = [:]
        /// The time at which the announced documents are requested.
        package var deadline: UInt64?
        /// Approximate size in memory of the announcements since the list was last empty.
        var length = 0
        /// Whether the peer announces its commits instead of sending them.
        var isAnnouncing = false
    }

    /// Time that other peers have to deliver announced documents, in nanoseconds.
    static let announcementTimeout: UInt64 = 300_000_000
    /// Maximum number of bytes of announcements kept; beyond it their documents are requested.
    private static let maximumBufferedBytes = 8 << 20
    /// Maximum number of documents in an announcement; more are sent without one.
    private static let maximumAnnounced = 256

    // MARK: Received announcements

    func announced(_ message: Announce, on connection: Connection) {
        // The time of the acknowledgment would reveal whether an announced document is stored here.
        guard !connection.isLimited else {
            return fail(connection, .protocolBroken, "unrequested announcement")
        }
        guard message.generation == connection.receiver.generation else { return }
        connection.receiver.announced.messages.append(message)
        if connection.receiver.announced.deadline == nil {
            connection.receiver.announced.deadline = now + Self.announcementTimeout
        }
        connection.receiver.announced.length += message.entries.reduce(64) { $0 + $1.length }
        // Beyond the limit, the documents are requested and the announcements discarded.
        guard connection.receiver.announced.length < Self.maximumBufferedBytes else {
            return renewSubscription(connection)
        }
        repair(outdated(in: message), on: connection)
        checkAnnounced(connection)
        announceChanges(connection)
    }

    /// Returns the announced documents that lack writes of the local state.
    private func outdated(in message: Announce) -> [WriteJob.OutdatedDocument] {
        let snapshot = news.snapshot
        return message.entries.compactMap { entry in
            guard let key = snapshot.key(of: entry.address),
                let document = try? snapshot.document(key), !document.isRemnant,
                let seen = document.read({ bytes in try? EncodedDocument(bytes).vector() }),
                !entry.vector.covers(seen)
            else { return nil }
            return WriteJob.OutdatedDocument(address: entry.address, before: document)
        }
    }

    /// Acknowledges announcements whose documents are durable here, received from other peers.
    func checkAnnounced(_ connection: Connection) {
        guard !connection.receiver.announced.messages.isEmpty else { return }
        // Batches received earlier are acknowledged first.
        guard !connection.receiver.isWriting, connection.receiver.waiting.isEmpty,
            connection.receiver.written.isEmpty
        else {
            return
        }
        let durable = news.snapshot.log.commit
        let arrived = connection.receiver.announced.messages.prefix { message in
            connection.receiver.announced.written[message.commit] ?? 0 <= durable
                && isCovered(message)
        }
        let count = arrived.count
        guard let commit = arrived.last?.commit else { return }
        connection.receiver.announced.written = connection.receiver.announced.written.filter {
            $0.key > commit
        }
        // The local state may be newer than the announced one.
        for message in arrived { repair(outdated(in: message), on: connection) }
        connection.receiver.announced.messages.removeFirst(count)
        if connection.receiver.announced.messages.isEmpty {
            connection.receiver.announced.length = 0
        }
        connection.receiver.announced.deadline =
            connection.receiver.announced.messages.isEmpty ? nil : now + Self.announcementTimeout
        advanceCursor(commit, on: connection)
        connection.session.acknowledge(commit: commit, of: connection.receiver.generation)
    }

    /// Whether the durable local documents cover all that was announced.
    private func isCovered(_ message: Announce) -> Bool {
        let snapshot = news.snapshot
        return message.entries.allSatisfy { entry in
            guard let key = snapshot.key(of: entry.address),
                let document = try? snapshot.document(key), !document.isRemnant
            else { return false }
            let seen = document.read { bytes in try? EncodedDocument(bytes).vector() }
            return seen?.covers(entry.vector) ?? false
        }
    }

    /// Records a written batch that followed announcements; it is acknowledged after them.
    func recordWrittenAfterAnnounced(
        _ commit: UInt64, localCommit: CommitID, on connection: Connection
    ) {
        connection.receiver.announced.messages.append(
            Announce(generation: connection.receiver.generation, commit: commit, []))
        connection.receiver.announced.written[commit] = localCommit
    }

    /// Subscribes again if announced documents were not delivered in time.
    func checkAnnouncementTimeout(_ connection: Connection) {
        guard let deadline = connection.receiver.announced.deadline, deadline <= now,
            !connection.receiver.isWriting
        else { return }
        // Only one connection is subscribed again: its peer may send all that is missing. If all of
        // them were, each peer would send every document from then on.
        for other in connections.values where other.receiver.announced.deadline != nil {
            other.receiver.announced.deadline = now + Self.announcementTimeout
        }
        // Connections of the spanning tree send in both directions.
        connection.sender?.isAnnouncing = false
        // A new generation excludes messages of the old one.
        renewSubscription(connection)
    }

    /// Switches the connection to announcements, since the peer has another source.
    ///
    /// Connections that send must form a tree for every writer. If one sent in a single direction
    /// only, documents of other writers would arrive late or twice.
    func announceFromNowOn(on connection: Connection) {
        guard !connection.isLimited else { return }
        connection.sender?.isAnnouncing = true
        recordRepetition(on: connection)
    }

    /// Requests announcements from a peer whose documents had arrived from another one before.
    func recordRepetition(on connection: Connection) {
        guard !connection.isLimited else { return }
        let hasOthers = connections.values.contains { other in
            // A peer with limited rights does not send all documents.
            other !== connection && other.session.isOpen && other.receiver.generation > 0
                && !other.receiver.announced.isAnnouncing && !other.isLimited
        }
        guard hasOthers, !connection.receiver.announced.isAnnouncing else { return }
        connection.receiver.announced.isAnnouncing = connection.session.announceOnly()
    }

    // MARK: Sent announcements

    /// Announces the changes since the last batch; returns false if they must be sent instead.
    package func announce(on connection: Connection) throws(EngineError) -> Bool {
        guard let sender = connection.sender, sender.isAnnouncing, !sender.isBehind,
            !sender.matcher.isRanked, sender.complete.isEmpty,
            let commits = news.commits(after: sender.sent),
            commits.reduce(0, { $0 + $1.changes.count }) <= Self.maximumAnnounced
        else { return false }
        var entries: [DocumentAddress: VersionVector] = [:]
        var last: CommitID?
        defer {
            if connection.sender?.judging.openCommit == nil {
                connection.sender?.judging.done = [:]
            }
        }
        for commit in commits {
            guard let shipped = try concerning(commit, on: connection) else { return false }
            connection.sender?.judging.done[commit.number] = shipped
            if !shipped.isEmpty { last = commit.number }
            for document in shipped {
                entries[document.address] = try onDocument(document.key) { () throws(Malformed) in
                    try document.written.document.read { (bytes) throws(Malformed) in
                        try EncodedDocument(bytes).vector()
                    }
                }
            }
        }
        let sorted = entries.sorted { $0.key.bytes.lexicographicallyPrecedes($1.key.bytes) }
        let newest = news.snapshot.log.commit
        connection.sender?.sent = newest
        if sorted.isEmpty, commits.last?.number == newest,
            commits.allSatisfy({ isFromPeer($0, connection) })
        {
            schedulePosition(connection)
            return true
        }
        connection.sender?.echoDue = nil
        if let last { recordDelivery(of: last, with: newest, on: connection) }
        for (address, _) in sorted {
            recordSentAgain(address.collection, address.id[...], with: newest, on: connection)
        }
        connection.session.announce(
            sorted.map { Announce.Entry(address: $0.key, vector: $0.value) }, of: newest)
        return true
    }
}
