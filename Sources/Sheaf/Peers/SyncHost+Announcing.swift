import SheafBytes
import SheafDocument
import SheafQuery
import SheafStorage
import SheafSync

/// Where the same comes from several sides, all but one announce it: whoever lacks what was announced for a
/// while asks for it, and has it sent by that side from then on.
///
/// So connections that bring things first become a tree, and the others stand by.
extension SyncHost {
    /// What was announced and is not here yet.
    struct Announced {
        var messages: [Announce] = []
        /// The commits here that have what was sent between them, by the commits there.
        var written: [UInt64: CommitID] = [:]
        /// When it is asked for.
        var deadline: UInt64?
        /// About how much memory they take, since the first of them came.
        var length = 0
        /// Whether the other side announces.
        var isAnnouncing = false
    }

    /// So long others may take to bring what was announced.
    static let patience: UInt64 = 300_000_000
    /// More bytes of what was announced are not kept.
    private static let mostKept = 8 << 20
    /// More documents are sent without a word before.
    private static let mostAnnounced = 256

    // MARK: What comes

    func announced(_ message: Announce, on link: Link) {
        // Whether a document is here that was announced could be told by when that is acknowledged.
        guard !link.isLimited else {
            return fail(link, .protocolBroken, "an announcement that was not asked for")
        }
        guard message.generation == link.asking.generation else { return }
        link.asking.announced.messages.append(message)
        if link.asking.announced.deadline == nil {
            link.asking.announced.deadline = now + Self.patience
        }
        link.asking.announced.length += message.entries.reduce(64) { $0 + $1.length }
        // Whoever is announced so much asks for it at once, and keeps none of it.
        guard link.asking.announced.length < Self.mostKept else { return ask(link) }
        correct(known(in: message), on: link)
        checkAnnounced(link)
        tell(link)
    }

    /// What was announced as it was before something that is known here.
    private func known(in message: Announce) -> [WriteJob.Known] {
        let snapshot = news.snapshot
        return message.entries.compactMap { entry in
            guard let key = snapshot.key(of: entry.address),
                let document = try? snapshot.document(key), !document.isRemnant,
                let seen = document.read({ bytes in try? EncodedDocument(bytes).vector() }),
                !entry.vector.covers(seen)
            else { return nil }
            return WriteJob.Known(address: entry.address, before: document)
        }
    }

    /// Acknowledges what was announced and has come from elsewhere.
    func checkAnnounced(_ link: Link) {
        guard !link.asking.announced.messages.isEmpty else { return }
        // What was sent before comes first.
        guard !link.asking.isWriting, link.asking.waiting.isEmpty, link.asking.written.isEmpty
        else {
            return
        }
        let durable = news.snapshot.log.commit
        let come = link.asking.announced.messages.prefix { message in
            link.asking.announced.written[message.commit] ?? 0 <= durable && isHere(message)
        }
        let count = come.count
        guard let commit = come.last?.commit else { return }
        link.asking.announced.written = link.asking.announced.written.filter { $0.key > commit }
        // Something newer may have come before it.
        for message in come { correct(known(in: message), on: link) }
        link.asking.announced.messages.removeFirst(count)
        if link.asking.announced.messages.isEmpty { link.asking.announced.length = 0 }
        link.asking.announced.deadline =
            link.asking.announced.messages.isEmpty ? nil : now + Self.patience
        noteReached(commit, on: link)
        link.session.acknowledge(commit: commit, of: link.asking.generation)
    }

    /// Whether all that was announced has been seen by what is durable here.
    private func isHere(_ message: Announce) -> Bool {
        let snapshot = news.snapshot
        return message.entries.allSatisfy { entry in
            guard let key = snapshot.key(of: entry.address),
                let document = try? snapshot.document(key), !document.isRemnant
            else { return false }
            let seen = document.read { bytes in try? EncodedDocument(bytes).vector() }
            return seen?.covers(entry.vector) ?? false
        }
    }

    /// Notes a step that was sent behind what was announced: it says nothing before that is here.
    func noteWrittenBehindAnnounced(_ commit: UInt64, here: CommitID, on link: Link) {
        link.asking.announced.messages.append(
            Announce(generation: link.asking.generation, commit: commit, []))
        link.asking.announced.written[commit] = here
    }

    /// Asks for what was announced a while ago, and is not here.
    func checkPatience(_ link: Link) {
        guard let deadline = link.asking.announced.deadline, deadline <= now,
            !link.asking.isWriting
        else { return }
        // One side at a time: what comes from it may be all that is missing, and if all were asked, all would
        // bring everything twice from then on.
        for other in links.values where other.asking.announced.deadline != nil {
            other.asking.announced.deadline = now + Self.patience
        }
        // Connections of the tree go both ways.
        link.telling?.isAnnouncing = false
        // With a new generation, so that nothing of the old one is taken for what was asked for.
        ask(link)
    }

    /// Notes that the other side has what this one brings from elsewhere: so it is not needed here, either.
    ///
    /// Connections over which both sides send form a tree, whoever writes. If one of them went only one way,
    /// what others write would come too late, or twice.
    func announceFromNowOn(on link: Link) {
        guard !link.isLimited else { return }
        link.telling?.isAnnouncing = true
        noteRepetition(on: link)
    }

    /// Notes that a connection brings what others have brought before.
    func noteRepetition(on link: Link) {
        guard !link.isLimited else { return }
        let hasOthers = links.values.contains { other in
            // A peer with limited rights does not bring all that is written.
            other !== link && other.session.isOpen && other.asking.generation > 0
                && !other.asking.announced.isAnnouncing && !other.isLimited
        }
        guard hasOthers, !link.asking.announced.isAnnouncing else { return }
        link.asking.announced.isAnnouncing = link.session.announceOnly()
    }

    // MARK: What is announced

    /// Announces what changed since the last step; false where that is too much.
    func announce(on link: Link) throws(EngineError) -> Bool {
        guard let telling = link.telling, telling.isAnnouncing, !telling.isBehind,
            !telling.matcher.isRanked, telling.whole.isEmpty,
            let commits = news.commits(after: telling.sent),
            commits.reduce(0, { $0 + $1.changes.count }) <= Self.mostAnnounced
        else { return false }
        var entries: [DocumentAddress: VersionVector] = [:]
        var last: CommitID?
        defer { if link.telling?.judging.begun == nil { link.telling?.judging.done = [:] } }
        for commit in commits {
            guard let shipped = try concerning(commit, on: link) else { return false }
            link.telling?.judging.done[commit.number] = shipped
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
        link.telling?.sent = newest
        if sorted.isEmpty, commits.last?.number == newest,
            commits.allSatisfy({ isTheirs($0, link) })
        {
            sayHowFarLater(link)
            return true
        }
        link.telling?.echoDue = nil
        if let last { noteDelivery(of: last, with: newest, on: link) }
        for (address, _) in sorted {
            noteSentAgain(address.collection, address.id[...], with: newest, on: link)
        }
        link.session.announce(
            sorted.map { Announce.Entry(address: $0.key, vector: $0.value) }, of: newest)
        return true
    }
}
