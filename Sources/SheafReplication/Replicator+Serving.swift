import SheafAttachments
import SheafDocument
import SheafEngine
import SheafStorage
import SheafSync

/// Attachments that are stored here and served to other peers.
extension Replicator {
    /// Handles a peer's request for an attachment, or the cancellation of the request.
    func sought(_ message: Seek, on connection: Connection) {
        guard let attachments, let id = AttachmentID(bytes: message.id) else { return }
        defer { files.isStirred = true }
        checkTokensSoon()
        guard message.hops > 0 else {
            connection.files.sought[id] = nil
            connection.files.granted.remove(id)
            if connection.files.reading?.id == id { connection.files.reading = nil }
            return review(id)
        }
        var request = connection.files.sought[id] ?? AttachmentExchange.AttachmentRequest(hops: 0)
        request.hops = message.hops
        if !request.mayRead { request.mayRead = !isRestricted(connection) }
        connection.files.sought[id] = request
        guard request.mayRead else { return checkSoon(connection) }
        if (try? attachments.has(id)) ?? false { offer(id, to: connection) } else { review(id) }
    }

    /// Offers an attachment that a peer requests, if it is stored here and the peer may read it.
    func offer(_ id: AttachmentID, to connection: Connection) {
        guard connection.session.isOpen, connection.files.sought[id]?.mayRead ?? false,
            !connection.files.granted.contains(id), (try? attachments?.has(id)) ?? false,
            let length = ((try? attachments?.chunkList(of: id)) ?? nil)?.length
        else { return }
        connection.files.granted.insert(id)
        connection.session.offer(Offer(id: id.bytes, length: length))
        files.isStirred = true
    }

    /// Serves one requested part in round-robin order; reading more would delay other work.
    func serveNextPart() {
        let waiting = orderedConnections.filter { $0.session.nextServed != nil }
        guard
            let connection = waiting.first(where: { $0.number > files.lastServedConnection })
                ?? waiting.first,
            let part = connection.session.nextServed
        else { return }
        files.lastServedConnection = connection.number
        files.isStirred = true
        connection.session.serve(bytes(of: part, for: connection))
    }

    private func bytes(of part: AttachmentPart, for connection: Connection) -> [UInt8]? {
        guard let id = AttachmentID(bytes: part.id), connection.files.granted.contains(id) else {
            return nil
        }
        if connection.files.reading?.id != id {
            connection.files.reading = (try? attachments?.file(id)) ?? nil
        }
        guard let file = connection.files.reading else {
            connection.files.granted.remove(id)
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
    func checkSoon(_ connection: Connection) {
        guard connection.files.checkAt == nil else { return }
        connection.files.checkAt = max(now, connection.files.checkedAt &+ Files.checkNanoseconds)
    }

    /// Revokes the read access to attachments after a change of rules, and determines it again.
    func recheckReaders() {
        for connection in orderedConnections {
            let isRestricted = isRestricted(connection)
            for id in connection.files.sought.keys {
                connection.files.sought[id]?.mayRead = !isRestricted
            }
            connection.files.granted = []
            connection.files.reading = nil
            for token in connection.files.proofsOwed.keys {
                connection.files.proofsOwed[token]?.checked = nil
            }
        }
        checkFiles()
        for id in files.order { review(id) }
    }

    /// Determines which requested attachments the peer may read, at most once per second.
    func checkReaders(_ connection: Connection) {
        guard let time = connection.files.checkAt, time <= now, connection.session.isOpen else {
            return
        }
        (connection.files.checkAt, connection.files.checkedAt) = (nil, now)
        var wanted = Set(connection.files.sought.filter { !$0.value.mayRead }.keys)
        if isLimited(connection) {
            wanted.formUnion(connection.files.checks.map(\.id))
            wanted.formUnion(files.order.filter { !connection.files.readable.contains($0) })
        }
        guard !wanted.isEmpty else { return }
        do throws(EngineError) {
            let readable = try readable(of: wanted, by: connection)
            for id in readable.sorted(by: { $0.description < $1.description }) {
                connection.files.sought[id]?.mayRead = true
                if connection.files.check(of: id) != nil { prove(id, by: connection) }
                if isLimited(connection), files.wanted[id] != nil {
                    connection.files.readable.insert(id)
                }
                offer(id, to: connection)
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
        _ ids: Set<AttachmentID>, _ key: [UInt8], _ document: StoredDocument,
        for connection: Connection,
        _ snapshot: DocumentSnapshot
    ) throws(EngineError) {
        guard let address = snapshot.address(of: key),
            try maySend(connection, document, before: nil, key, address, snapshot)
        else { return }
        for id in ids { requestProof(of: id, in: address) }
    }

    private func readable(
        of wanted: Set<AttachmentID>, by connection: Connection
    ) throws(EngineError) -> Set<AttachmentID> {
        let snapshot = news.snapshot
        var (readable, named) = (Set<AttachmentID>(), Set<AttachmentID>())
        try snapshot.forEachReferencing(wanted) { (key, document, ids) throws(EngineError) in
            named.formUnion(ids)
            let all = ids
            let ids = isLimited(connection) ? snapshot.proven(all, inDocument: key) : all
            if ids != all {
                try requestProofs(all.subtracting(ids), key, document, for: connection, snapshot)
            }
            if !ids.isSubset(of: readable), let address = snapshot.address(of: key),
                try maySend(connection, document, before: nil, key, address, snapshot)
            {
                readable.formUnion(ids)
            }
            return readable.count < wanted.count
        }
        // Without rules for the peer, only scopes restrict it, and they apply only to named
        // attachments.
        if connection.readable == nil, connection.sendable == nil {
            readable.formUnion(wanted.subtracting(named))
        }
        return readable
    }
}
