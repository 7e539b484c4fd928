import SheafAttachments
import SheafDocument
package import SheafSync

/// Transfer of attachment parts from other peers.
extension AttachmentTransfer {
    /// Number of chunk hashes in one part.
    static let hashesPerPart = SyncLimits.partLength / 32

    /// Handles a peer's offer of an attachment.
    package mutating func offered(_ message: Offer, on number: UInt64) {
        if let id = AttachmentID(bytes: message.id) {
            offeredProof(id, length: message.length, on: number)
        }
        guard let id = AttachmentID(bytes: message.id), let file = wanted[id],
            !file.distrustedKeys.contains(self[number].key)
        else { return }
        self[number].offered[id] = message.length
    }

    /// Requests as many parts from each peer as its fetch window permits.
    package mutating func requestParts() {
        var last: UInt64?
        while let number = nextActive(after: last) {
            last = number
            guard !self[number].isStalled else { continue }
            while self[number].fetchRoom > 0, let part = nextPart(from: number) {
                if self[number].requestedParts.isEmpty { self[number].lastReceipt = now }
                self[number].requestedParts.append(part)
                send(.fetch(part), to: number)
            }
        }
    }

    private mutating func nextPart(from number: UInt64) -> AttachmentPart? {
        if let part = nextProofPart(from: number) { return part }
        for id in order {
            // A proof of possession transfers the complete attachment.
            guard let length = self[number].offered[id], self[number].check(of: id) == nil
            else {
                continue
            }
            if let part = nextPart(of: id, length: length, from: number) { return part }
        }
        return nil
    }

    private mutating func nextPart(
        of id: AttachmentID, length: Int, from number: UInt64
    ) -> AttachmentPart? {
        switch wanted[id]?.phase {
        case nil: return nil
        case .seeking:
            wanted[id]?.phase = .listing(
                connection: number, length: length, hashes: [], asked: 0)
            guard length == 0 else { return nextPart(of: id, length: length, from: number) }
            beginFile(id, length: 0, hashes: [], from: number)
            return nil
        case .listing(number, let length, let hashes, let asked):
            let count = ChunkList.count(ofLength: length)
            guard asked * Self.hashesPerPart < count else { return nil }
            wanted[id]?.phase = .listing(
                connection: number, length: length, hashes: hashes, asked: asked + 1)
            return AttachmentPart(id: id.bytes, .hashes, asked)
        case .listing: return nil
        case .loading(let incoming):
            guard let chunk = nextChunk(of: id, incoming) else { return nil }
            return AttachmentPart(id: id.bytes, .chunk, chunk)
        }
    }

    /// Returns the next chunk that is neither stored nor requested; nil if there is none.
    private mutating func nextChunk(of id: AttachmentID, _ incoming: IncomingAttachment) -> Int? {
        while let chunk = wanted[id]?.again.popLast() {
            if !incoming.contains(chunk) { return chunk }
        }
        while let next = wanted[id]?.next, next < incoming.list.count {
            wanted[id]?.next = next + 1
            if !incoming.contains(next) { return next }
        }
        return nil
    }

    /// Handles a received part; `bytes` is nil if the peer does not have it.
    package mutating func fetched(_ part: AttachmentPart, _ bytes: [UInt8]?, on number: UInt64) {
        if self[number].requestedParts.first == part {
            self[number].requestedParts.removeFirst()
        }
        self[number].lastReceipt = now
        self[number].isStalled = false
        fetchedProof(part, bytes, on: number)
        guard let id = AttachmentID(bytes: part.id), let file = wanted[id] else { return }
        guard let bytes else {
            self[number].offered[id] = nil
            return requeue(part, of: number)
        }
        switch (part.kind, file.phase) {
        case (.hashes, .listing(number, let length, let hashes, let asked)):
            let count = ChunkList.count(ofLength: length)
            let all = hashes + bytes
            guard all.count < 32 * count else {
                return beginFile(id, length: length, hashes: all, from: number)
            }
            // Every part except the last one must be full.
            guard bytes.count == SyncLimits.partLength else { return distrust(number, id) }
            wanted[id]?.phase = .listing(
                connection: number, length: length, hashes: all, asked: asked)
        case (.chunk, .loading(let incoming)): put(bytes, part, incoming, id, from: number)
        default: break
        }
    }

    mutating func beginFile(
        _ id: AttachmentID, length: Int, hashes: [UInt8], from number: UInt64
    ) {
        guard let attachments else { return }
        guard mayKeep(length, of: id, from: number) else {
            return decline(id, from: number)
        }
        do throws(AttachmentError) {
            let state = try beginFetch(
                id, length: length, hashes: hashes, from: number, in: attachments)
            try begin(id, with: state)
        } catch .wrongList {
            distrust(number, id)
        } catch {
            failFile(id, error)
        }
    }

    private mutating func put(
        _ bytes: [UInt8], _ part: AttachmentPart, _ incoming: IncomingAttachment,
        _ id: AttachmentID, from number: UInt64
    ) {
        let isNew = !incoming.contains(part.number)
        guard !isNew || mayKeep(bytes.count, of: id, from: number) else {
            decline(id, from: number)
            wanted[id]?.again.append(part.number)
            return
        }
        do throws(AttachmentError) {
            let outcome = try bytes.span.withUnsafeBytes { bytes throws(AttachmentError) in
                try incoming.put(bytes, at: part.number)
            }
            if isNew { countReceived(bytes.count, of: id, from: number) }
            attachments?.touch(id)
            if case .complete = outcome { try completeFile(id) } else { report(id) }
        } catch .wrongChunk {
            distrust(number, id)
            wanted[id]?.again.append(part.number)
        } catch .missing {
            // The received chunks were removed from the store.
            wanted[id]?.phase = .seeking
        } catch {
            failFile(id, error)
        }
    }

    /// Stops fetching an attachment from a peer that sent wrong data of it.
    private mutating func distrust(_ number: UInt64, _ id: AttachmentID) {
        self[number].offered[id] = nil
        let key = self[number].key
        wanted[id]?.distrustedKeys.insert(key)
        if case .listing(number, _, _, _)? = wanted[id]?.phase {
            wanted[id]?.phase = .seeking
        }
    }

    /// Queues a part that the peer did not send, so that another peer is asked for it.
    mutating func requeue(_ part: AttachmentPart, of number: UInt64) {
        guard let id = AttachmentID(bytes: part.id) else { return }
        switch (part.kind, wanted[id]?.phase) {
        case (.hashes, .listing(number, _, _, _)?): wanted[id]?.phase = .seeking
        case (.chunk, .loading?): wanted[id]?.again.append(part.number)
        default: break
        }
    }

    /// Requests the parts of a stalled peer from other peers that offer the attachment.
    mutating func checkStall(_ number: UInt64) {
        guard !self[number].requestedParts.isEmpty,
            self[number].lastReceipt + Self.stallNanoseconds <= now
        else { return }
        self[number].lastReceipt = now
        for part in self[number].requestedParts {
            guard let id = AttachmentID(bytes: part.id) else { continue }
            let isElsewhere = active.contains { other in
                other != number && !self[other].isStalled && self[other].offered[id] != nil
            }
            guard isElsewhere else { continue }
            self[number].isStalled = true
            requeue(part, of: number)
        }
    }
}
