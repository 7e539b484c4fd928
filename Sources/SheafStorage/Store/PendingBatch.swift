/// Records that have their place in the log and are not on the disk yet.
///
/// A batch belongs to one thread at a time: under the engine's lock to the writers, who add to it,
/// and from then on to the thread that writes it out. So it needs no lock of its own.
final class PendingBatch: Sendable {
    /// The records of one segment file in this batch.
    struct Piece {
        let segment: UInt32
        /// Where the piece starts in its file.
        let fileOffset: Int
        /// Where it starts in the buffer, its footer included.
        let bufferOffset: Int
        var length = 0
        /// What the segment's header says, when the piece begins one.
        var beginning: Beginning?
        /// What the segment's footer says, when the piece ends one.
        var sealing: Sealing?
    }

    struct Beginning {
        let firstCommit: CommitID
        let createdAt: UInt64
        /// How long the file may become.
        let capacity: Int
        /// How much of it should be written ahead of use.
        let preparedLength: Int
    }

    struct Sealing {
        let lastCommit: CommitID
        let lastCommitAt: UInt64
    }

    nonisolated(unsafe) private(set) var buffer: UnsafeMutableRawPointer
    nonisolated(unsafe) private var capacity: Int
    nonisolated(unsafe) private(set) var length = 0
    nonisolated(unsafe) var pieces: [Piece] = []

    init() {
        capacity = 64 << 10
        buffer = .allocate(byteCount: capacity, alignment: 64)
    }

    deinit {
        buffer.deallocate()
    }

    var isEmpty: Bool { length == 0 }

    /// Adds room to the last piece.
    func extend(by count: Int) -> UnsafeMutableRawBufferPointer {
        precondition(!pieces.isEmpty, "Bytes belong to a piece.")
        if length + count > capacity { grow(to: length + count) }
        defer {
            length += count
            pieces[pieces.count - 1].length += count
        }
        return UnsafeMutableRawBufferPointer(start: buffer + length, count: count)
    }

    /// The bytes of a piece.
    func bytes(of piece: Piece) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: buffer + piece.bufferOffset, count: piece.length)
    }

    /// Forgets everything and keeps the memory, unless it is a lot.
    func reset() {
        length = 0
        pieces.removeAll(keepingCapacity: true)
        guard capacity > 8 << 20 else { return }
        buffer.deallocate()
        capacity = 64 << 10
        buffer = .allocate(byteCount: capacity, alignment: 64)
    }

    private func grow(to needed: Int) {
        let larger = max(needed, capacity * 2)
        let target = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 64)
        target.copyMemory(from: buffer, byteCount: length)
        buffer.deallocate()
        buffer = target
        capacity = larger
    }
}

/// Somebody who waits for a commit to become durable.
struct CommitWaiter: Sendable {
    let commit: CommitID
    let resume: @Sendable (Result<CommitID, StorageError>) -> Void
}
