package import SheafAttachments
package import SheafDocument
import SheafEngine
import SheafStorage
package import SheafSync

/// A check that a peer possesses an attachment: the peer must send all chunk hashes and all chunks.
///
/// The requests do not depend on whether the attachment is stored locally.
package struct PossessionCheck {
    package enum Outcome {
        case hasMore
        /// All hashes were received and match the id; the local attachment may use them.
        case listed(ChunkList)
        case proven
        case failed
    }

    private enum Phase {
        case offered
        case listing(hashes: [UInt8])
        case receiving(ChunkList, ChunkSet)
    }

    package let id: AttachmentID
    private var length: Int?
    private var phase = Phase.offered
    /// Number of the next part to request, of hashes or of chunks.
    private var next = 0

    package init(_ id: AttachmentID) {
        self.id = id
    }

    /// Whether the peer has offered the attachment.
    package var isOffered: Bool { length != nil }

    /// Whether a part was requested: only one check at a time holds the hashes of its attachment.
    package var isUnderway: Bool {
        switch phase {
        case .offered: false
        case .listing: next > 0
        case .receiving: true
        }
    }

    /// Handles the peer's offer of the attachment.
    package mutating func offer(length: Int) -> Outcome {
        guard self.length == nil else { return .hasMore }
        self.length = length
        phase = .listing(hashes: [])
        return length == 0 ? finishList([]) : .hasMore
    }

    /// Returns the next part to request; nil before the offer, and once all parts are requested.
    package mutating func nextPart() -> AttachmentPart? {
        let (kind, count): (AttachmentPart.Kind, Int)
        switch phase {
        case .offered: return nil
        case .listing:
            let chunks = ChunkList.count(ofLength: length ?? 0)
            (kind, count) = (
                .hashes,
                (chunks + AttachmentTransfer.hashesPerPart - 1)
                    / AttachmentTransfer.hashesPerPart
            )
        case .receiving(let list, _): (kind, count) = (.chunk, list.count)
        }
        guard next < count else { return nil }
        next += 1
        return AttachmentPart(id: id.bytes, kind, next - 1)
    }

    /// Handles a received part, which another request may have caused.
    package mutating func receive(_ part: AttachmentPart, _ bytes: [UInt8]?) -> Outcome {
        guard let bytes else { return .failed }
        switch (phase, part.kind) {
        case (.listing(let hashes), .hashes):
            guard part.number * SyncLimits.partLength == hashes.count else { return .hasMore }
            let all = hashes + bytes
            let complete = 32 * ChunkList.count(ofLength: length ?? 0)
            guard all.count < complete else { return finishList(all) }
            // Each part except the last one is full.
            guard bytes.count == SyncLimits.partLength else { return .failed }
            phase = .listing(hashes: all)
            return .hasMore
        case (.receiving(let list, var received), .chunk):
            guard bytes.span.withUnsafeBytes({ list.matches($0, at: part.number) }) else {
                return .failed
            }
            // The phase releases its reference first, so that the set is changed in place.
            phase = .offered
            received.insert(part.number)
            phase = .receiving(list, received)
            return received.isFull ? .proven : .hasMore
        case (.offered, _), (.listing, _), (.receiving, _): return .hasMore
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
