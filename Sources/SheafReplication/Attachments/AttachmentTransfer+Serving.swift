import SheafAttachments
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
package import SheafSync

/// Attachments that are stored locally and served to other peers.
extension AttachmentTransfer {
    /// Handles a peer's request for an attachment, or the cancellation of the request.
    package mutating func sought(_ message: Seek, on number: UInt64) {
        guard let attachments, let id = AttachmentID(bytes: message.id) else { return }
        checkTokensSoon()
        guard message.hops > 0 else {
            self[number].sought[id] = nil
            self[number].granted.remove(id)
            if self[number].reading?.id == id { self[number].reading = nil }
            return review(id)
        }
        var request = self[number].sought[id] ?? AttachmentExchange.AttachmentRequest(hops: 0)
        request.hops = message.hops
        if !request.mayRead { request.mayRead = !self[number].access.isRestricted }
        self[number].sought[id] = request
        guard request.mayRead else { return checkSoon(number) }
        if (try? attachments.has(id)) ?? false { offer(id, to: number) } else { review(id) }
    }

    /// Offers an attachment that a peer requests, if it is stored locally and the peer may read it.
    mutating func offer(_ id: AttachmentID, to number: UInt64) {
        guard self[number].sought[id]?.mayRead ?? false,
            !self[number].granted.contains(id), (try? attachments?.has(id)) ?? false,
            let length = ((try? attachments?.chunkList(of: id)) ?? nil)?.length
        else { return }
        self[number].granted.insert(id)
        send(.offer(Offer(id: id.bytes, length: length)), to: number)
    }

    /// Serves one requested part in round-robin order; reading more would delay other work.
    ///
    /// `waiting` contains the next requested part of each peer, in the order of the connections.
    package mutating func serveNext(_ waiting: [(number: UInt64, part: AttachmentPart)]) {
        let next = waiting.first { $0.number > lastServedConnection } ?? waiting.first
        guard let (number, part) = next else { return }
        lastServedConnection = number
        send(.serve(bytes(of: part, for: number)), to: number)
    }

    private mutating func bytes(of part: AttachmentPart, for number: UInt64) -> [UInt8]? {
        guard let id = AttachmentID(bytes: part.id), self[number].granted.contains(id) else {
            return nil
        }
        if self[number].reading?.id != id {
            self[number].reading = (try? attachments?.file(id)) ?? nil
        }
        guard let file = self[number].reading else {
            self[number].granted.remove(id)
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

    /// Schedules a check of which requested attachments the peer may read.
    mutating func checkSoon(_ number: UInt64) {
        guard self[number].checkAt == nil else { return }
        self[number].checkAt = max(now, self[number].checkedAt &+ Self.checkNanoseconds)
    }

    /// Applies changed scopes: withdraws all offers, and the read access of restricted peers.
    mutating func change(_ scopes: SyncScopes) {
        for number in numbers {
            self[number].access.scopes = scopes
            let isRestricted = self[number].access.isRestricted
            for id in self[number].sought.keys { self[number].sought[id]?.mayRead = !isRestricted }
            self[number].granted = []
            self[number].reading = nil
            for token in self[number].proofsOwed.keys {
                self[number].proofsOwed[token]?.checked = nil
            }
        }
    }

    /// Determines which requested attachments the peer may read, at most once per second.
    mutating func checkReaders(_ number: UInt64) {
        guard let time = self[number].checkAt, time <= now else {
            return
        }
        (self[number].checkAt, self[number].checkedAt) = (nil, now)
        var wanted = Set(self[number].sought.filter { !$0.value.mayRead }.keys)
        if self[number].access.needsProofs {
            wanted.formUnion(self[number].checks.map(\.id))
            wanted.formUnion(order.filter { !self[number].readable.contains($0) })
        }
        guard !wanted.isEmpty else { return }
        do throws(EngineError) {
            let readable = try readable(of: wanted, by: number)
            for id in readable.sorted(by: { $0.description < $1.description }) {
                self[number].sought[id]?.mayRead = true
                if self[number].check(of: id) != nil { prove(id, by: number) }
                if self[number].access.needsProofs, self.wanted[id] != nil {
                    self[number].readable.insert(id)
                }
                offer(id, to: number)
                review(id)
            }
        } catch {
            // An unreadable document grants nothing; the check is repeated after the next commit.
            return
        }
    }

    /// Requests confirmations of the tokens by which the peer could read attachments.
    private mutating func requestProofs(
        _ ids: Set<AttachmentID>, _ key: [UInt8], _ document: StoredDocument,
        for number: UInt64,
        _ snapshot: DocumentSnapshot
    ) throws(EngineError) {
        guard let address = snapshot.address(of: key),
            try self[number].access.maySend(document, before: nil, key, address, snapshot.names)
        else { return }
        for id in ids { requestProof(of: id, in: address) }
    }

    private mutating func readable(
        of wanted: Set<AttachmentID>, by number: UInt64
    ) throws(EngineError) -> Set<AttachmentID> {
        let snapshot = snapshot
        var (readable, named) = (Set<AttachmentID>(), Set<AttachmentID>())
        try snapshot.forEachReferencing(wanted) { (key, document, ids) throws(EngineError) in
            named.formUnion(ids)
            let all = ids
            let ids = self[number].access.needsProofs ? snapshot.proven(all, inDocument: key) : all
            if ids != all {
                try requestProofs(all.subtracting(ids), key, document, for: number, snapshot)
            }
            if !ids.isSubset(of: readable), let address = snapshot.address(of: key),
                try self[number].access.maySend(document, before: nil, key, address, snapshot.names)
            {
                readable.formUnion(ids)
            }
            return readable.count < wanted.count
        }
        // Without rules for the peer, only scopes restrict it, and they apply only to named
        // attachments.
        if self[number].access.readable == nil, self[number].access.sendable == nil {
            readable.formUnion(wanted.subtracting(named))
        }
        return readable
    }
}
