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
    ///
    /// `room` is reduced by the number of examined documents.
    mutating func checkReaders(_ number: UInt64, _ room: inout Int) {
        guard let time = self[number].checkAt, time <= now else {
            return
        }
        let wanted = unread(by: number)
        let areKnown = wanted.allSatisfy(references.covers)
        if !areKnown, let scannedAt, scannedAt + scanNanoseconds > now {
            self[number].checkAt = scannedAt + scanNanoseconds
            return
        }
        (self[number].checkAt, self[number].checkedAt) = (nil, now)
        guard !wanted.isEmpty else { return }
        do throws(EngineError) {
            if !areKnown { try scan(for: wanted) }
            let readable = try readable(of: wanted, by: number, &room)
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
            references = ReferencingDocuments()
        }
    }

    /// The attachments of which the peer may not be known to read a document.
    private func unread(by number: UInt64) -> Set<AttachmentID> {
        var wanted = Set(self[number].sought.filter { !$0.value.mayRead }.keys)
        if self[number].access.needsProofs {
            wanted.formUnion(self[number].checks.map(\.id))
            wanted.formUnion(order.filter { !self[number].readable.contains($0) })
        }
        return wanted
    }

    /// The minimum time between two scans, ten times as long as one takes.
    private var scanNanoseconds: UInt64 {
        let count = snapshot.log.tree.count(in: StoreKey.documents)
        return min(UInt64(count) * Self.scanNanosecondsPerDocument, Self.longestScanNanoseconds)
    }

    /// Finds the documents that reference attachments, also those that other peers request.
    private mutating func scan(for wanted: Set<AttachmentID>) throws(EngineError) {
        let limit = max(wanted.count, ReferencingDocuments.maximumAttachments)
        var all = wanted.union(order.prefix(limit - wanted.count))
        var last: UInt64?
        while all.count < limit, let number = nextActive(after: last) {
            last = number
            all.formUnion(unread(by: number).prefix(limit - all.count))
        }
        scannedAt = now
        try references.scan(for: all, in: snapshot)
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
        of wanted: Set<AttachmentID>, by number: UInt64, _ room: inout Int
    ) throws(EngineError) -> Set<AttachmentID> {
        let snapshot = snapshot
        var (readable, named) = (Set<AttachmentID>(), Set<AttachmentID>())
        func visit(
            _ key: [UInt8], _ document: StoredDocument, _ ids: Set<AttachmentID>
        ) throws(EngineError) -> Bool {
            room -= 1
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
        for key in references.keys(referencing: wanted) {
            guard let (document, ids) = try snapshot.references(in: key, among: wanted) else {
                continue
            }
            guard try visit(key, document, ids) else { break }
        }
        let common = references.common(among: wanted).subtracting(readable)
        if !common.isEmpty { try snapshot.forEachReferencing(common, visit) }
        // Without rules for the peer, only scopes restrict it, and they apply only to named
        // attachments.
        if self[number].access.readable == nil, self[number].access.sendable == nil {
            readable.formUnion(wanted.subtracting(named))
        }
        return readable
    }
}
