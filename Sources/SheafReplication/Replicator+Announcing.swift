import SheafBytes
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStorage
import SheafSync

/// Announcements, which keep several peers from sending the same documents.
///
/// All but one of these peers only announce their documents. A peer that still lacks announced
/// documents after a timeout subscribes again, and receives documents on that connection from then
/// on. So the connections that deliver first form a spanning tree, and the others are spares.
extension Replicator {
    // MARK: Received announcements

    func announced(_ message: Announce, on connection: Connection) {
        // The time of the acknowledgment would reveal whether a document is stored locally.
        guard !connection.isLimited else {
            return fail(connection, .protocolBroken, "unrequested announcement")
        }
        guard message.generation == connection.receiver.generation else { return }
        // Beyond the limit, the documents are requested and the announcements discarded.
        guard connection.receiver.announced.add(message, at: now) else {
            return renewSubscription(connection)
        }
        repair(outdated(in: message), on: connection)
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

    /// Acknowledges announcements whose documents, received from other peers, are durable.
    func checkAnnounced(_ connection: Connection) {
        guard !connection.receiver.announced.messages.isEmpty else { return }
        // Batches received earlier are acknowledged first.
        guard !connection.receiver.isWriting, connection.receiver.waiting.isEmpty,
            connection.receiver.written.isEmpty
        else {
            return
        }
        let durable = news.snapshot.log.commit
        let arrived = connection.receiver.announced.arrived(through: durable, where: isCovered)
        guard let commit = arrived.last?.commit else { return }
        // The local state may be newer than the announced one.
        for message in arrived { repair(outdated(in: message), on: connection) }
        connection.receiver.announced.removeFirst(arrived.count, through: commit, at: now)
        advanceCursor(commit, on: connection)
        connection.session.acknowledge(commit: commit, of: connection.receiver.generation)
    }

    /// Whether the durable local documents cover all announced versions.
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

    /// Subscribes again if announced documents were not delivered in time.
    func checkAnnouncementTimeout(_ connection: Connection) {
        guard let deadline = connection.receiver.announced.deadline, deadline <= now,
            !connection.receiver.isWriting
        else { return }
        // Only one connection is subscribed again: its peer may send all missing documents. If all
        // connections were, each peer would send every document from then on.
        for other in connections.values where other.receiver.announced.deadline != nil {
            other.receiver.announced.restartTimer(at: now)
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

    /// Requests announcements from a peer whose documents had arrived from another peer before.
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
}
