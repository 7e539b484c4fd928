import SheafAttachments
import SheafDocument
import SheafStatements
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
        guard request.mayRead else { return checkSoon(id, by: number) }
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
}
