import SheafStorage
import SheafSync

/// Proofs of possession: a peer with limited rights that has brought a token sends the whole attachment, and
/// the token counts from then on.
///
/// A proof is requested once any peer wants the attachment, in the same way whether it is here or
/// not: so the peer does not learn from that which attachments there are.
extension SyncHost {
    /// Whether the other side of a connection may not write everything, and its tokens need a proof.
    func isLimited(_ link: Link) -> Bool { link.writable != nil }

    /// Schedules a lookup of the unproven tokens of wanted attachments, once a second at most.
    func checkTokensSoon() {
        guard attachments != nil, files.tokenCheckAt == nil,
            queries.documents.mayHaveUnprovenTokens
        else { return }
        files.tokenCheckAt = max(now, files.tokensCheckedAt &+ Files.checkNanoseconds)
    }

    /// Asks for the proofs of tokens whose attachments are wanted here, or by others.
    func checkTokens() {
        guard let time = files.tokenCheckAt, time <= now else { return }
        (files.tokenCheckAt, files.tokensCheckedAt) = (nil, now)
        let snapshot = news.snapshot
        guard snapshot.hasUnprovenTokens else {
            files.wantedHere = []
            return
        }
        var wanted = Set(files.order).union(files.wantedHere)
        for link in links.values {
            wanted.formUnion(link.files.sought.keys)
            wanted.formUnion(
                link.files.proofsOwed.keys.compactMap { AttachmentID(bytes: $0.attachment) })
        }
        for id in wanted.sorted(by: { $0.description < $1.description }) {
            do throws(EngineError) {
                let bringers = Set(try snapshot.unprovenTokens(of: id).map(\.bringer))
                if bringers.isEmpty { files.wantedHere.remove(id) }
                for link in allLinks where isLimited(link) {
                    guard let key = link.session.remote?.peerKey, bringers.contains(key) else {
                        continue
                    }
                    beginCheck(of: id, on: link)
                }
            } catch {
                // An unreadable entry proves nothing; it is read again with the next commit.
                return
            }
        }
    }

    /// Notes that an attachment is fetched for this peer: as long as it has unproven tokens, their proofs
    /// are asked for, also where the attachment is here.
    func noteWantedHere(_ id: AttachmentID) {
        guard files.wantedHere.count < SyncLimits.soughtAttachments else { return }
        files.wantedHere.insert(id)
        checkTokensSoon()
    }

    private func beginCheck(of id: AttachmentID, on link: Link) {
        guard link.session.isOpen, !link.files.failedChecks.contains(id) else { return }
        guard !link.files.possessed.contains(id) else { return prove(id, by: link) }
        if link.files.check(of: id) == nil {
            guard link.files.checks.count < SyncLimits.possessionChecks else { return }
            link.files.checks.append(PossessionCheck(id))
            tellWish(id)
        }
        // The peer may read another document by now that names the attachment.
        checkSoon(link)
    }

    /// Handles a peer's offer of an attachment that it has to prove to possess.
    func offeredProof(_ id: AttachmentID, length: Int, on link: Link) {
        guard let index = link.files.check(of: id) else { return }
        note(link.files.checks[index].offer(length: length), of: id, on: link)
    }

    /// Returns the next part to be asked for as a proof: of one attachment after the other.
    func nextProofPart(from link: Link) -> AttachmentPart? {
        let underway = link.files.checks.firstIndex(where: \.isUnderway)
        guard let index = underway ?? link.files.checks.firstIndex(where: \.isOffered) else {
            return nil
        }
        return link.files.checks[index].nextPart()
    }

    /// Handles a received part that may belong to a proof.
    func fetchedProof(_ part: AttachmentPart, _ bytes: [UInt8]?, on link: Link) {
        guard let id = AttachmentID(bytes: part.id), let index = link.files.check(of: id) else {
            return
        }
        let outcome = link.files.checks[index].take(part, bytes)
        if case .failed = outcome {
        } else if let bytes, part.kind == .chunk {
            keep(bytes, part.number, of: id, from: link)
        }
        note(outcome, of: id, on: link)
    }

    /// Keeps a chunk that came as a proof, where the attachment is not here.
    private func keep(_ bytes: [UInt8], _ chunk: Int, of id: AttachmentID, from link: Link) {
        // A wanted attachment receives the chunk like any other.
        guard files.wanted[id] == nil, let incoming = (try? attachments?.incoming(id)) ?? nil,
            !incoming.contains(chunk), mayKeep(bytes.count, of: id, from: link)
        else { return }
        let outcome = bytes.span.withUnsafeBytes { try? incoming.put($0, at: chunk) }
        if outcome != nil { noteKept(bytes.count, of: id, from: link) }
        // Without room for it, it is a proof all the same.
        if outcome == .whole { try? completeFile(id) }
    }

    private func note(_ outcome: PossessionCheck.Outcome, of id: AttachmentID, on link: Link) {
        switch outcome {
        case .goesOn: break
        case .listed(let list):
            if case .seeking? = files.wanted[id]?.phase {
                beginFile(id, length: list.length, hashes: list.hashes, from: link)
            } else if let attachments, files.wanted[id] == nil,
                mayKeep(list.length, of: id, from: link)
            {
                // A peer that wants the attachment receives it after the proof: it need not come
                // twice.
                _ = try? beginFetch(
                    id, length: list.length, hashes: list.hashes, from: link, in: attachments)
            }
        case .proven: prove(id, by: link)
        case .failed:
            if link.files.failedChecks.count < SyncLimits.soughtAttachments {
                link.files.failedChecks.insert(id)
            }
            endCheck(of: id, on: link)
        }
    }

    /// Marks the tokens of an attachment that a peer has brought as proven.
    func prove(_ id: AttachmentID, by link: Link) {
        if link.files.possessed.count < SyncLimits.soughtAttachments {
            link.files.possessed.insert(id)
        }
        endCheck(of: id, on: link)
        guard let hello = link.session.remote,
            let tokens = try? news.snapshot.unprovenTokens(of: id)
        else { return }
        let proven = tokens.filter { $0.bringer == hello.peerKey }
        guard !proven.isEmpty else { return }
        emit(
            .write(
                WriteJob(
                    link: link.number, steps: [], peer: hello.site, writable: nil,
                    proven: proven)))
    }

    private func endCheck(of id: AttachmentID, on link: Link) {
        guard let index = link.files.check(of: id) else { return }
        link.files.checks.remove(at: index)
        removeIfEmpty(id)
        tellWish(id)
        files.isStirred = true
    }

    /// Logs the failure of a job that marks tokens as proven.
    func noteProven(_ outcome: WriteJob.Outcome) {
        guard let error = outcome.error else { return }
        queries.log?.write(
            .warning, "a proof of an attachment cannot be written: \(error)")
    }
}

extension SyncHost.FileTalk {
    /// The index of the proof that the other side gives for an attachment.
    func check(of id: AttachmentID) -> Int? {
        checks.firstIndex { $0.id == id }
    }
}
