import SheafAttachments
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSync

/// Proofs of possession, which make the attachment tokens of limited peers valid.
///
/// A peer that sent a document with a token proves possession by sending the complete attachment.
/// The proof is requested once any peer wants the attachment, whether or not it is stored here, so
/// the peer does not learn which attachments are.
extension Replicator {
    /// Whether the peer may write only some documents, so that its tokens need proofs.
    func isLimited(_ connection: Connection) -> Bool { connection.writable != nil }

    /// Schedules a check of the unproven tokens of wanted attachments, at most once per second.
    func checkTokensSoon() {
        guard attachments != nil, files.tokenCheckAt == nil,
            queries.documents.mayHaveUnprovenTokens
        else { return }
        files.tokenCheckAt = max(now, files.tokensCheckedAt &+ Files.checkNanoseconds)
    }

    /// Requests proofs for the unproven tokens of attachments that any peer wants.
    func checkTokens() {
        guard let time = files.tokenCheckAt, time <= now else { return }
        (files.tokenCheckAt, files.tokensCheckedAt) = (nil, now)
        let snapshot = news.snapshot
        guard snapshot.hasUnprovenTokens else {
            files.possiblyUnproven = []
            return
        }
        var wanted = Set(files.order).union(files.possiblyUnproven)
        for connection in connections.values {
            wanted.formUnion(connection.files.sought.keys)
            wanted.formUnion(
                connection.files.proofsOwed.keys.compactMap { AttachmentID(bytes: $0.attachment) })
        }
        for id in wanted.sorted(by: { $0.description < $1.description }) {
            do throws(EngineError) {
                let senderKeys = Set(try snapshot.unprovenTokens(of: id).map(\.senderKey))
                if senderKeys.isEmpty { files.possiblyUnproven.remove(id) }
                for connection in orderedConnections where isLimited(connection) {
                    guard let key = connection.session.remote?.peerKey, senderKeys.contains(key)
                    else {
                        continue
                    }
                    beginCheck(of: id, on: connection)
                }
            } catch {
                // An unreadable entry proves nothing; it is read again after the next commit.
                return
            }
        }
    }

    /// Records that this peer fetches an attachment.
    ///
    /// While the attachment has unproven tokens, their proofs are requested even if it is stored
    /// here.
    func recordWantedHere(_ id: AttachmentID) {
        guard files.possiblyUnproven.count < SyncLimits.soughtAttachments else { return }
        files.possiblyUnproven.insert(id)
        checkTokensSoon()
    }

    private func beginCheck(of id: AttachmentID, on connection: Connection) {
        guard connection.session.isOpen, !connection.files.failedChecks.contains(id) else { return }
        guard !connection.files.possessed.contains(id) else { return prove(id, by: connection) }
        if connection.files.check(of: id) == nil {
            guard connection.files.checks.count < SyncLimits.possessionChecks else { return }
            connection.files.checks.append(PossessionCheck(id))
            sendHopLimit(id)
        }
        // The peer may be able to read another document that names the attachment.
        checkSoon(connection)
    }

    /// Handles an offer of an attachment whose possession the peer must prove.
    func offeredProof(_ id: AttachmentID, length: Int, on connection: Connection) {
        guard let index = connection.files.check(of: id) else { return }
        handleOutcome(connection.files.checks[index].offer(length: length), of: id, on: connection)
    }

    /// Returns the next part to request as a proof, for one attachment at a time.
    func nextProofPart(from connection: Connection) -> AttachmentPart? {
        let underway = connection.files.checks.firstIndex(where: \.isUnderway)
        guard let index = underway ?? connection.files.checks.firstIndex(where: \.isOffered) else {
            return nil
        }
        return connection.files.checks[index].nextPart()
    }

    /// Handles a received part that may belong to a proof.
    func fetchedProof(_ part: AttachmentPart, _ bytes: [UInt8]?, on connection: Connection) {
        guard let id = AttachmentID(bytes: part.id), let index = connection.files.check(of: id)
        else {
            return
        }
        let outcome = connection.files.checks[index].receive(part, bytes)
        if case .failed = outcome {
        } else if let bytes, part.kind == .chunk {
            storeChunk(bytes, part.number, of: id, from: connection)
        }
        handleOutcome(outcome, of: id, on: connection)
    }

    /// Keeps a chunk that was received as a proof, unless it is stored here.
    private func storeChunk(
        _ bytes: [UInt8], _ chunk: Int, of id: AttachmentID, from connection: Connection
    ) {
        // The chunk of a wanted attachment is stored like any other.
        guard files.wanted[id] == nil, let incoming = (try? attachments?.incoming(id)) ?? nil,
            !incoming.contains(chunk), mayKeep(bytes.count, of: id, from: connection)
        else { return }
        let outcome = bytes.span.withUnsafeBytes { try? incoming.put($0, at: chunk) }
        if outcome != nil { countReceived(bytes.count, of: id, from: connection) }
        // The proof is valid even if there is no room for the chunk.
        if outcome == .complete { try? completeFile(id) }
    }

    private func handleOutcome(
        _ outcome: PossessionCheck.Outcome, of id: AttachmentID, on connection: Connection
    ) {
        switch outcome {
        case .hasMore: break
        case .listed(let list):
            if case .seeking? = files.wanted[id]?.phase {
                beginFile(id, length: list.length, hashes: list.hashes, from: connection)
            } else if let attachments, files.wanted[id] == nil,
                mayKeep(list.length, of: id, from: connection)
            {
                // The attachment is kept for peers that want it, which receive it after the proof.
                _ = try? beginFetch(
                    id, length: list.length, hashes: list.hashes, from: connection, in: attachments)
            }
        case .proven: prove(id, by: connection)
        case .failed:
            if connection.files.failedChecks.count < SyncLimits.soughtAttachments {
                connection.files.failedChecks.insert(id)
            }
            endCheck(of: id, on: connection)
        }
    }

    /// Marks the tokens of an attachment that the peer has sent as proven.
    func prove(_ id: AttachmentID, by connection: Connection) {
        if connection.files.possessed.count < SyncLimits.soughtAttachments {
            connection.files.possessed.insert(id)
        }
        endCheck(of: id, on: connection)
        guard let hello = connection.session.remote,
            let tokens = try? news.snapshot.unprovenTokens(of: id)
        else { return }
        let proven = tokens.filter { $0.senderKey == hello.peerKey }
        guard !proven.isEmpty else { return }
        emit(
            .write(
                WriteJob(
                    connection: connection.number, steps: [], peer: hello.site, writable: nil,
                    proven: proven)))
    }

    private func endCheck(of id: AttachmentID, on connection: Connection) {
        guard let index = connection.files.check(of: id) else { return }
        connection.files.checks.remove(at: index)
        removeIfEmpty(id)
        sendHopLimit(id)
        files.isStirred = true
    }

    /// Logs the failure of a job that marks tokens as proven.
    func recordProven(_ outcome: WriteJob.Outcome) {
        guard let error = outcome.error else { return }
        queries.log?.write(
            .warning, "cannot write the proof of an attachment: \(error)")
    }
}

extension Replicator.AttachmentExchange {
    /// Returns the index of the peer's proof for an attachment; nil if there is none.
    func check(of id: AttachmentID) -> Int? {
        checks.firstIndex { $0.id == id }
    }
}
