import SheafSync

/// The proof of one peer that it possesses an attachment: it sends the hashes of all chunks, and all chunks.
///
/// Nothing of what is asked depends on whether the attachment is here.
struct PossessionCheck {
    enum Outcome {
        case goesOn
        /// All hashes were received and make the id; they may be used for the attachment here.
        case listed(ChunkList)
        case proven
        case failed
    }

    private enum Phase {
        case offered
        case listing(hashes: [UInt8])
        case receiving(ChunkList, ChunkSet)
    }

    let id: AttachmentID
    private var length: Int?
    private var phase = Phase.offered
    /// Number of the next part to be asked for, of hashes or of chunks.
    private var next = 0

    init(_ id: AttachmentID) {
        self.id = id
    }

    /// Whether the peer has offered the attachment.
    var isOffered: Bool { length != nil }

    /// Whether a part was requested: only one check at a time holds the hashes of its attachment.
    var isUnderway: Bool {
        switch phase {
        case .offered: false
        case .listing: next > 0
        case .receiving: true
        }
    }

    /// Handles the peer's offer of the attachment.
    mutating func offer(length: Int) -> Outcome {
        guard self.length == nil else { return .goesOn }
        self.length = length
        phase = .listing(hashes: [])
        return length == 0 ? finishList([]) : .goesOn
    }

    /// Returns the next part to be asked for; nil while all parts are on their way.
    mutating func nextPart() -> AttachmentPart? {
        let (kind, count): (AttachmentPart.Kind, Int)
        switch phase {
        case .offered: return nil
        case .listing:
            let chunks = ChunkList.count(ofLength: length ?? 0)
            (kind, count) = (
                .hashes, (chunks + SyncHost.hashesPerPart - 1) / SyncHost.hashesPerPart
            )
        case .receiving(let list, _): (kind, count) = (.chunk, list.count)
        }
        guard next < count else { return nil }
        next += 1
        return AttachmentPart(id: id.bytes, kind, next - 1)
    }

    /// Handles a received part, which other requests may have asked for.
    mutating func take(_ part: AttachmentPart, _ bytes: [UInt8]?) -> Outcome {
        guard let bytes else { return .failed }
        switch (phase, part.kind) {
        case (.listing(let hashes), .hashes):
            guard part.number * SyncLimits.partLength == hashes.count else { return .goesOn }
            let all = hashes + bytes
            let whole = 32 * ChunkList.count(ofLength: length ?? 0)
            guard all.count < whole else { return finishList(all) }
            // Each part but the last one is full.
            guard bytes.count == SyncLimits.partLength else { return .failed }
            phase = .listing(hashes: all)
            return .goesOn
        case (.receiving(let list, var received), .chunk):
            guard bytes.span.withUnsafeBytes({ list.matches($0, at: part.number) }) else {
                return .failed
            }
            // The set is changed in place.
            phase = .offered
            received.insert(part.number)
            phase = .receiving(list, received)
            return received.isFull ? .proven : .goesOn
        case (.offered, _), (.listing, _), (.receiving, _): return .goesOn
        }
    }

    private mutating func finishList(_ hashes: [UInt8]) -> Outcome {
        guard let length, let list = ChunkList(length: length, hashes: hashes), list.id == id else {
            return .failed
        }
        next = 0
        phase = .receiving(list, ChunkSet(count: list.count))
        return list.count == 0 ? .proven : .listed(list)
    }
}
