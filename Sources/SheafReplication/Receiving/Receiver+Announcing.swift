import SheafBytes
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSync

/// Received announcements, which keep several peers from sending the same documents.
///
/// All but one of these peers only announce their documents. A peer that still lacks announced
/// documents after a timeout subscribes again, and receives documents on that connection from then
/// on. So the connections that deliver first form a spanning tree, and the others are spares.
extension Receiver {
    mutating func receive(
        _ message: Announce, _ context: PeerContext, on exchange: inout DocumentExchange
    ) {
        // The time of the acknowledgment would reveal whether a document is stored locally.
        guard !context.isLimited else {
            return exchange.end(.protocolBroken, "unrequested announcement")
        }
        guard message.generation == generation else { return }
        let message = message.shared(context.access.scopes)
        // Beyond the limit, the documents are requested and the announcements discarded.
        let followsBatch = isWriting || !waiting.isEmpty
        guard announced.add(message, followsBatch: followsBatch, at: context.now) else {
            return effects.append(.renew(complete: []))
        }
        repair(context.snapshot.outdated(in: message))
    }

    private mutating func repair(_ outdated: [WriteJob.OutdatedDocument]) {
        if !outdated.isEmpty { effects.append(.repair(outdated, after: nil)) }
    }

    /// Acknowledges announcements whose documents, received from other peers, are durable.
    mutating func checkAnnounced(_ context: PeerContext, on exchange: inout DocumentExchange) {
        guard !announced.messages.isEmpty else { return }
        // Batches received earlier are acknowledged first; a write of those that waited has begun.
        guard !isWriting, written.isEmpty else { return }
        let snapshot = context.snapshot
        let arrived = announced.arrived(through: snapshot.log.commit) {
            snapshot.covers($0)
        }
        guard let commit = arrived.last?.commit else { return }
        // The local state may be newer than the announced one.
        for message in arrived { repair(snapshot.outdated(in: message)) }
        announced.removeFirst(arrived.count, through: commit, at: context.now)
        advanceCursor(to: commit)
        exchange.session.acknowledge(commit: commit, of: generation)
    }

    /// Whether announced documents were not delivered in time.
    ///
    /// They are not late during a write, which may contain them.
    func isAnnouncementLate(at now: UInt64) -> Bool {
        !isWriting && announced.deadline.map { $0 <= now } ?? false
    }
}

extension Announce {
    /// Returns the announcement without documents that would not be written.
    fileprivate func shared(_ scopes: SyncScopes) -> Announce {
        guard !scopes.isEmpty else { return self }
        return Announce(
            generation: generation, commit: commit,
            entries.filter { scopes.isShared($0.address.collection) })
    }
}

extension DocumentSnapshot {
    /// Returns the announced documents that lack writes of the local state.
    fileprivate func outdated(in message: Announce) -> [WriteJob.OutdatedDocument] {
        message.entries.compactMap { entry in
            guard let key = key(of: entry.address), let document = try? document(key),
                !document.isRemnant,
                let seen = document.read({ bytes in try? EncodedDocument(bytes).vector() }),
                !entry.vector.covers(seen)
            else { return nil }
            return WriteJob.OutdatedDocument(address: entry.address, before: document)
        }
    }

    /// Whether the documents have all announced versions.
    fileprivate func covers(_ message: Announce) -> Bool {
        message.entries.allSatisfy { entry in
            guard let key = key(of: entry.address), let document = try? document(key),
                !document.isRemnant
            else { return false }
            let seen = document.read { bytes in try? EncodedDocument(bytes).vector() }
            return seen?.covers(entry.vector) ?? false
        }
    }
}
