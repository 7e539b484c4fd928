import SheafAttachments
import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// Attachments that are stored here and served to other peers.
extension Replicator {
    /// Handles a peer's request for an attachment, or the cancellation of the request.
    func sought(_ message: Seek, on link: Connection) {
        guard let attachments, let id = AttachmentID(bytes: message.id) else { return }
        defer { files.isStirred = true }
        checkTokensSoon()
        guard message.hops > 0 else {
            link.files.sought[id] = nil
            link.files.granted.remove(id)
            if link.files.reading?.id == id { link.files.reading = nil }
            return review(id)
        }
        var wish = link.files.sought[id] ?? AttachmentExchange.AttachmentRequest(hops: 0)
        wish.hops = message.hops
        if !wish.mayRead { wish.mayRead = !isRestricted(link) }
        link.files.sought[id] = wish
        guard wish.mayRead else { return checkSoon(link) }
        if (try? attachments.has(id)) ?? false { offer(id, to: link) } else { review(id) }
    }

    /// Offers an attachment that a peer requests, if it is stored here and the peer may read it.
    func offer(_ id: AttachmentID, to link: Connection) {
        guard link.session.isOpen, link.files.sought[id]?.mayRead ?? false,
            !link.files.granted.contains(id), (try? attachments?.has(id)) ?? false,
            let length = ((try? attachments?.chunkList(of: id)) ?? nil)?.length
        else { return }
        link.files.granted.insert(id)
        link.session.offer(Offer(id: id.bytes, length: length))
        files.isStirred = true
    }

    /// Serves one requested part in round-robin order; reading more would delay other work.
    func serveNextPart() {
        let waiting = allLinks.filter { $0.session.nextServed != nil }
        guard
            let link = waiting.first(where: { $0.number > files.lastServedConnection })
                ?? waiting.first,
            let part = link.session.nextServed
        else { return }
        files.lastServedConnection = link.number
        files.isStirred = true
        link.session.serve(bytes(of: part, for: link))
    }

    private func bytes(of part: AttachmentPart, for link: Connection) -> [UInt8]? {
        guard let id = AttachmentID(bytes: part.id), link.files.granted.contains(id) else {
            return nil
        }
        if link.files.reading?.id != id {
            link.files.reading = (try? attachments?.file(id)) ?? nil
        }
        guard let file = link.files.reading else {
            link.files.granted.remove(id)
            return nil
        }
        switch part.kind {
        case .hashes:
            let start = part.number * SyncLimits.partLength
            guard start < file.list.hashes.count else { return nil }
            return Array(file.list.hashes[start...].prefix(SyncLimits.partLength))
        case .chunk:
            guard part.number < file.chunkCount else { return nil }
            return try? file.read(part.number)
        }
    }

    // MARK: Read access

    /// Schedules a check of which requested attachments the peer may read.
    func checkSoon(_ link: Connection) {
        guard link.files.checkAt == nil else { return }
        link.files.checkAt = max(now, link.files.checkedAt &+ Files.checkNanoseconds)
    }

    /// Revokes the read access to attachments after a change of rules, and determines it again.
    func recheckReaders() {
        for link in allLinks {
            let isRestricted = isRestricted(link)
            for id in link.files.sought.keys { link.files.sought[id]?.mayRead = !isRestricted }
            link.files.granted = []
            link.files.reading = nil
            for token in link.files.proofsOwed.keys {
                link.files.proofsOwed[token]?.checked = nil
            }
        }
        checkFiles()
        for id in files.order { review(id) }
    }

    /// Determines which requested attachments the peer may read, at most once per second.
    func checkReaders(_ link: Connection) {
        guard let time = link.files.checkAt, time <= now, link.session.isOpen else { return }
        (link.files.checkAt, link.files.checkedAt) = (nil, now)
        var wanted = Set(link.files.sought.filter { !$0.value.mayRead }.keys)
        if isLimited(link) {
            wanted.formUnion(link.files.checks.map(\.id))
            wanted.formUnion(files.order.filter { !link.files.readable.contains($0) })
        }
        guard !wanted.isEmpty else { return }
        do throws(EngineError) {
            let readable = try readable(of: wanted, by: link)
            for id in readable.sorted(by: { $0.description < $1.description }) {
                link.files.sought[id]?.mayRead = true
                if link.files.check(of: id) != nil { prove(id, by: link) }
                if isLimited(link), files.wanted[id] != nil { link.files.readable.insert(id) }
                offer(id, to: link)
                review(id)
            }
        } catch {
            // An unreadable document grants nothing; the check is repeated after the next commit.
            return
        }
        files.isStirred = true
    }

    /// Requests confirmations of the tokens by which the peer could read attachments.
    private func requestProofs(
        _ ids: Set<AttachmentID>, _ key: [UInt8], _ document: StoredDocument, for link: Connection,
        _ snapshot: DocumentSnapshot
    ) throws(EngineError) {
        guard let address = snapshot.address(of: key),
            try maySend(link, document, before: nil, key, address, snapshot)
        else { return }
        for id in ids { requestProof(of: id, in: address) }
    }

    private func readable(
        of wanted: Set<AttachmentID>, by link: Connection
    ) throws(EngineError) -> Set<AttachmentID> {
        let snapshot = news.snapshot
        var (readable, named) = (Set<AttachmentID>(), Set<AttachmentID>())
        try snapshot.forEachReferencing(wanted) { (key, document, ids) throws(EngineError) in
            named.formUnion(ids)
            let all = ids
            let ids = isLimited(link) ? snapshot.proven(all, inDocument: key) : all
            if ids != all {
                try requestProofs(all.subtracting(ids), key, document, for: link, snapshot)
            }
            if !ids.isSubset(of: readable), let address = snapshot.address(of: key),
                try maySend(link, document, before: nil, key, address, snapshot)
            {
                readable.formUnion(ids)
            }
            return readable.count < wanted.count
        }
        // Without rules for the peer, only scopes restrict it, and they apply only to named
        // attachments.
        if link.readable == nil, link.sendable == nil {
            readable.formUnion(wanted.subtracting(named))
        }
        return readable
    }
}
