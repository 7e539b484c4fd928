import SheafAttachments
import SheafDocument
package import SheafSync

/// Transfer of attachment parts from other peers.
extension Replicator {
    /// Number of chunk hashes in one part.
    static let hashesPerPart = SyncLimits.partLength / 32

    /// Handles a peer's offer of an attachment.
    func offered(_ message: Offer, on connection: Connection) {
        if let id = AttachmentID(bytes: message.id) {
            offeredProof(id, length: message.length, on: connection)
        }
        guard let id = AttachmentID(bytes: message.id), let file = files.wanted[id],
            let key = connection.session.remote?.peerKey, !file.distrustedKeys.contains(key)
        else { return }
        connection.files.offered[id] = message.length
    }

    /// Requests as many parts from each peer as its fetch window permits.
    func requestParts() {
        for connection in orderedConnections where !connection.files.isStalled {
            while connection.session.fetchRoom > 0, let part = nextPart(from: connection) {
                if connection.files.requestedParts.isEmpty { connection.files.lastReceipt = now }
                connection.files.requestedParts.append(part)
                connection.session.fetch(part)
                files.isStirred = true
            }
        }
    }

    private func nextPart(from connection: Connection) -> AttachmentPart? {
        if let part = nextProofPart(from: connection) { return part }
        for id in files.order {
            // A proof of possession transfers the complete attachment.
            guard let length = connection.files.offered[id], connection.files.check(of: id) == nil
            else {
                continue
            }
            if let part = nextPart(of: id, length: length, from: connection) { return part }
        }
        return nil
    }

    private func nextPart(
        of id: AttachmentID, length: Int, from connection: Connection
    ) -> AttachmentPart? {
        switch files.wanted[id]?.phase {
        case nil: return nil
        case .seeking:
            files.wanted[id]?.phase = .listing(
                connection: connection.number, length: length, hashes: [], asked: 0)
            guard length == 0 else { return nextPart(of: id, length: length, from: connection) }
            beginFile(id, length: 0, hashes: [], from: connection)
            return nil
        case .listing(connection.number, let length, let hashes, let asked):
            let count = ChunkList.count(ofLength: length)
            guard asked * Self.hashesPerPart < count else { return nil }
            files.wanted[id]?.phase = .listing(
                connection: connection.number, length: length, hashes: hashes, asked: asked + 1)
            return AttachmentPart(id: id.bytes, .hashes, asked)
        case .listing: return nil
        case .loading(let incoming):
            guard let chunk = nextChunk(of: id, incoming) else { return nil }
            return AttachmentPart(id: id.bytes, .chunk, chunk)
        }
    }

    /// Returns the next chunk that is neither stored nor requested; nil if there is none.
    private func nextChunk(of id: AttachmentID, _ incoming: IncomingAttachment) -> Int? {
        while let chunk = files.wanted[id]?.again.popLast() {
            if !incoming.contains(chunk) { return chunk }
        }
        while let next = files.wanted[id]?.next, next < incoming.list.count {
            files.wanted[id]?.next = next + 1
            if !incoming.contains(next) { return next }
        }
        return nil
    }

    /// Handles a received part; `bytes` is nil if the peer does not have it.
    package func fetched(_ part: AttachmentPart, _ bytes: [UInt8]?, on connection: Connection) {
        if connection.files.requestedParts.first == part {
            connection.files.requestedParts.removeFirst()
        }
        connection.files.lastReceipt = now
        connection.files.isStalled = false
        defer { files.isStirred = true }
        fetchedProof(part, bytes, on: connection)
        guard let id = AttachmentID(bytes: part.id), let file = files.wanted[id] else { return }
        guard let bytes else {
            connection.files.offered[id] = nil
            return requeue(part, of: connection)
        }
        switch (part.kind, file.phase) {
        case (.hashes, .listing(connection.number, let length, let hashes, let asked)):
            let count = ChunkList.count(ofLength: length)
            let all = hashes + bytes
            guard all.count < 32 * count else {
                return beginFile(id, length: length, hashes: all, from: connection)
            }
            // Every part except the last one must be full.
            guard bytes.count == SyncLimits.partLength else { return distrust(connection, id) }
            files.wanted[id]?.phase = .listing(
                connection: connection.number, length: length, hashes: all, asked: asked)
        case (.chunk, .loading(let incoming)): put(bytes, part, incoming, id, from: connection)
        default: break
        }
    }

    func beginFile(
        _ id: AttachmentID, length: Int, hashes: [UInt8], from connection: Connection
    ) {
        guard let attachments else { return }
        guard mayKeep(length, of: id, from: connection) else {
            return decline(id, from: connection)
        }
        do throws(AttachmentError) {
            let state = try beginFetch(
                id, length: length, hashes: hashes, from: connection, in: attachments)
            try begin(id, with: state)
        } catch .wrongList {
            distrust(connection, id)
        } catch {
            failFile(id, error)
        }
    }

    private func put(
        _ bytes: [UInt8], _ part: AttachmentPart, _ incoming: IncomingAttachment,
        _ id: AttachmentID, from connection: Connection
    ) {
        let isNew = !incoming.contains(part.number)
        guard !isNew || mayKeep(bytes.count, of: id, from: connection) else {
            decline(id, from: connection)
            files.wanted[id]?.again.append(part.number)
            return
        }
        do throws(AttachmentError) {
            let outcome = try bytes.span.withUnsafeBytes { bytes throws(AttachmentError) in
                try incoming.put(bytes, at: part.number)
            }
            if isNew { countReceived(bytes.count, of: id, from: connection) }
            attachments?.touch(id)
            if case .complete = outcome { try completeFile(id) } else { report(id) }
        } catch .wrongChunk {
            distrust(connection, id)
            files.wanted[id]?.again.append(part.number)
        } catch .missing {
            // The received chunks were removed from the store.
            files.wanted[id]?.phase = .seeking
        } catch {
            failFile(id, error)
        }
    }

    /// Stops fetching an attachment from a peer that sent wrong data of it.
    private func distrust(_ connection: Connection, _ id: AttachmentID) {
        connection.files.offered[id] = nil
        if let key = connection.session.remote?.peerKey {
            files.wanted[id]?.distrustedKeys.insert(key)
        }
        if case .listing(connection.number, _, _, _)? = files.wanted[id]?.phase {
            files.wanted[id]?.phase = .seeking
        }
    }

    /// Queues a part that the peer did not send, so that another peer is asked for it.
    func requeue(_ part: AttachmentPart, of connection: Connection) {
        guard let id = AttachmentID(bytes: part.id) else { return }
        switch (part.kind, files.wanted[id]?.phase) {
        case (.hashes, .listing(connection.number, _, _, _)?): files.wanted[id]?.phase = .seeking
        case (.chunk, .loading?): files.wanted[id]?.again.append(part.number)
        default: break
        }
        files.isStirred = true
    }

    /// Requests the parts of a stalled peer from other peers that offer the attachment.
    func checkStall(_ connection: Connection) {
        guard connection.session.isOpen, !connection.files.requestedParts.isEmpty,
            connection.files.lastReceipt + Files.stallNanoseconds <= now
        else { return }
        connection.files.lastReceipt = now
        for part in connection.files.requestedParts {
            guard let id = AttachmentID(bytes: part.id) else { continue }
            let isElsewhere = connections.values.contains { other in
                other !== connection && !other.files.isStalled && other.files.offered[id] != nil
            }
            guard isElsewhere else { continue }
            connection.files.isStalled = true
            requeue(part, of: connection)
        }
    }
}
