import SheafAttachments
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSync

/// Proofs of possession, which make the attachment tokens of limited peers valid.
///
/// A peer that sent a document with a token proves possession by sending the complete attachment.
/// The proof is requested once any peer wants the attachment, whether or not it is stored locally,
/// so the peer does not learn which ones are stored.
extension AttachmentTransfer {
    /// Schedules a check of the unproven tokens of wanted attachments, at most once per second.
    mutating func checkTokensSoon() {
        guard attachments != nil, documents.mayHaveUnprovenTokens else { return }
        awaitedProofs.beginRound()
        if tokenCheckAt == nil {
            tokenCheckAt = max(now, tokensCheckedAt &+ Self.checkNanoseconds)
        }
    }

    /// Requests proofs for the unproven tokens of wanted attachments, if a check is due.
    mutating func checkTokens() {
        guard let time = tokenCheckAt, time <= now else { return }
        (tokenCheckAt, tokensCheckedAt) = (nil, now)
        let snapshot = snapshot
        guard snapshot.hasUnprovenTokens else {
            awaitedProofs.removeAll()
            return
        }
        let awaited = awaitedProofs.take()
        var wanted = Set(order).union(awaited)
        for number in active {
            wanted.formUnion(self[number].sought.keys)
            wanted.formUnion(
                self[number].proofsOwed.keys.compactMap { AttachmentID(bytes: $0.attachment) })
        }
        if awaitedProofs.hasMore { tokenCheckAt = now + Self.checkNanoseconds }
        var senders: [[UInt8]: [UInt64]] = [:]
        for number in numbers where self[number].access.needsProofs {
            senders[self[number].key, default: []].append(number)
        }
        var proven: Set<AttachmentID> = []
        for id in wanted.sorted(by: Self.precedes) {
            // An unreadable entry proves nothing; it is read again after the next commit.
            guard let tokens = try? snapshot.unprovenTokens(of: id) else { continue }
            if tokens.isEmpty { proven.insert(id) }
            let found = Set(tokens.map(\.senderKey)).flatMap { senders[$0] ?? [] }
            for number in found.sorted() { beginCheck(of: id, on: number) }
        }
        for id in awaited where !proven.contains(id) { awaitedProofs.insert(id) }
    }

    /// Records that this peer fetches an attachment.
    ///
    /// While the attachment has unproven tokens, their proofs are requested even if it is stored
    /// locally.
    mutating func recordWantedHere(_ id: AttachmentID) {
        awaitedProofs.insert(id)
        checkTokensSoon()
    }

    private mutating func beginCheck(of id: AttachmentID, on number: UInt64) {
        guard !self[number].failedChecks.contains(id) else { return }
        guard !self[number].possessed.contains(id) else { return prove(id, by: number) }
        if self[number].check(of: id) == nil {
            guard self[number].checks.count < SyncLimits.possessionChecks else { return }
            self[number].checks.append(PossessionCheck(id))
            sendHopLimit(id)
        }
        // The peer may be able to read another document that names the attachment.
        checkSoon(id, by: number)
    }

    /// Handles an offer of an attachment whose possession the peer must prove.
    mutating func offeredProof(_ id: AttachmentID, length: Int, on number: UInt64) {
        guard let index = self[number].check(of: id) else { return }
        handleOutcome(self[number].checks[index].offer(length: length), of: id, on: number)
    }

    /// Returns the next part to request as a proof, for one attachment at a time.
    mutating func nextProofPart(from number: UInt64) -> AttachmentPart? {
        let underway = self[number].checks.firstIndex(where: \.isUnderway)
        guard let index = underway ?? self[number].checks.firstIndex(where: \.isOffered) else {
            return nil
        }
        return self[number].checks[index].nextPart()
    }

    /// Handles a received part that may belong to a proof.
    mutating func fetchedProof(_ part: AttachmentPart, _ bytes: [UInt8]?, on number: UInt64) {
        guard let id = AttachmentID(bytes: part.id), let index = self[number].check(of: id)
        else {
            return
        }
        let outcome = self[number].checks[index].receive(part, bytes)
        if case .failed = outcome {
        } else if let bytes, part.kind == .chunk {
            storeChunk(bytes, part.number, of: id, from: number)
        }
        handleOutcome(outcome, of: id, on: number)
    }

    /// Keeps a chunk that was received as a proof, unless it is stored locally.
    private mutating func storeChunk(
        _ bytes: [UInt8], _ chunk: Int, of id: AttachmentID, from number: UInt64
    ) {
        // The chunk of a wanted attachment is stored like any other.
        guard wanted[id] == nil, let incoming = (try? attachments?.incoming(id)) ?? nil,
            !incoming.contains(chunk), mayKeep(bytes.count, of: id, from: number)
        else { return }
        let outcome = bytes.span.withUnsafeBytes { try? incoming.put($0, at: chunk) }
        if outcome != nil { countReceived(bytes.count, of: id, from: number) }
        // The proof is valid even if there is no room for the chunk.
        if outcome == .complete { try? completeFile(id) }
    }

    private mutating func handleOutcome(
        _ outcome: PossessionCheck.Outcome, of id: AttachmentID, on number: UInt64
    ) {
        switch outcome {
        case .hasMore: break
        case .listed(let list):
            if case .seeking? = wanted[id]?.phase {
                beginFile(id, length: list.length, hashes: list.hashes, from: number)
            } else if let attachments, wanted[id] == nil,
                mayKeep(list.length, of: id, from: number)
            {
                // The attachment is kept for peers that want it, which receive it after the proof.
                _ = try? beginFetch(
                    id, length: list.length, hashes: list.hashes, from: number, in: attachments)
            }
        case .proven: prove(id, by: number)
        case .failed:
            if self[number].failedChecks.count < SyncLimits.soughtAttachments {
                self[number].failedChecks.insert(id)
            }
            endCheck(of: id, on: number)
        }
    }

    /// Marks as proven all tokens that the peer has sent of an attachment.
    mutating func prove(_ id: AttachmentID, by number: UInt64) {
        if self[number].possessed.count < SyncLimits.soughtAttachments {
            self[number].possessed.insert(id)
        }
        endCheck(of: id, on: number)
        guard let tokens = try? snapshot.unprovenTokens(of: id) else { return }
        let proven = tokens.filter { $0.senderKey == self[number].key }
        guard !proven.isEmpty else { return }
        effects.append(.prove(connection: number, self[number].site, proven))
    }

    private mutating func endCheck(of id: AttachmentID, on number: UInt64) {
        guard let index = self[number].check(of: id) else { return }
        self[number].checks.remove(at: index)
        removeIfEmpty(id)
        sendHopLimit(id)
    }
}
