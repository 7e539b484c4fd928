/// Appended records that are not yet on disk.
///
/// A batch is used by one thread at a time: writers append to it under the engine's lock, then the
/// flushing thread writes it. It therefore needs no lock of its own.
final class PendingBatch: Sendable {
    /// An extent of the batch: a contiguous range that belongs to one segment file.
    struct Piece {
        let segment: UInt32
        /// The offset in the file.
        let fileOffset: Int
        /// The offset in the buffer; the length includes the footer.
        let bufferOffset: Int
        var length = 0
        /// The header fields of the segment, if this is its first extent.
        var beginning: Beginning?
        /// The footer fields of the segment, if this is its last extent.
        var sealing: Sealing?
        /// The records of the extent, if they are in a file.
        ///
        /// The buffer then has the header of the segment, and its footer if the segment is sealed.
        var staged: Staged?
    }

    /// The file with the records of an extent, and the header fields of these records.
    struct Staged {
        let file: StagedRecords.File
        let commit: CommitID
        let time: UInt64
        /// The index of the first record in its commit.
        let firstPart: UInt32
        /// Whether the commit ends with the last record.
        let endsCommit: Bool
    }

    /// The properties of a segment that begins in this batch.
    struct Beginning {
        let firstCommit: CommitID
        let createdAt: UInt64
        /// The maximum length of the file.
        let capacity: Int
    }

    /// The properties of a segment that ends in this batch.
    struct Sealing {
        let lastCommit: CommitID
        let lastCommitAt: UInt64
    }

    private static let initialCapacity = 64 << 10
    /// The capacity beyond which a batch grows to its usual capacity at once.
    ///
    /// Memory that is not written to is free; growing in steps would copy the records.
    private static let smallCapacity = 1 << 20

    /// The capacity that is kept for the next records.
    private let usualCapacity: Int
    nonisolated(unsafe) private(set) var buffer: UnsafeMutableRawPointer
    nonisolated(unsafe) private(set) var capacity: Int
    nonisolated(unsafe) private(set) var length = 0
    nonisolated(unsafe) var pieces: [Piece] = []

    /// Creates an empty batch that keeps its memory up to a length of the records.
    init(usualLength: Int = 0) {
        usualCapacity = max(usualLength, 8 << 20)
        capacity = Self.initialCapacity
        buffer = .allocate(byteCount: capacity, alignment: 64)
    }

    deinit {
        buffer.deallocate()
    }

    var isEmpty: Bool { length == 0 }

    /// The approximate number of bytes that a flush writes or makes durable.
    var totalLength: Int {
        pieces.reduce(length) { $0 + ($1.staged?.file.end ?? 0) }
    }

    /// Reserves `count` bytes at the end of the last extent.
    func extend(by count: Int) -> UnsafeMutableRawBufferPointer {
        precondition(!pieces.isEmpty, "Bytes belong to an extent.")
        if length + count > capacity { grow(to: length + count) }
        defer {
            length += count
            pieces[pieces.count - 1].length += count
        }
        return UnsafeMutableRawBufferPointer(start: buffer + length, count: count)
    }

    /// Returns the bytes of an extent.
    func bytes(of extent: Piece) -> UnsafeMutableRawBufferPointer {
        UnsafeMutableRawBufferPointer(start: buffer + extent.bufferOffset, count: extent.length)
    }

    /// Sets the position of the previous operation of a key in its new operation.
    func setPrevious(_ previous: LogPosition, ofOperationAt offset: Int) {
        precondition(offset + Operation.headerLength <= length, "The operation is in the batch.")
        UnsafeMutableRawBufferPointer(start: buffer, count: length)
            .store(previous.rawValue, at: offset + Operation.Layout.previous)
    }

    /// Removes all records, and keeps the memory unless it is larger than usual.
    func reset() {
        length = 0
        pieces.removeAll(keepingCapacity: true)
        if capacity > usualCapacity { replaceBuffer() }
    }

    /// Whether the memory is larger than small flushes need.
    var isLarge: Bool { capacity > Self.smallCapacity }

    /// Releases the memory unless it is small or contains records.
    func releaseMemory() {
        guard isEmpty, isLarge else { return }
        replaceBuffer()
    }

    private func replaceBuffer() {
        buffer.deallocate()
        capacity = Self.initialCapacity
        buffer = .allocate(byteCount: capacity, alignment: 64)
    }

    private func grow(to needed: Int) {
        let isLong = needed > Self.smallCapacity && needed <= usualCapacity
        let larger = isLong ? usualCapacity : max(needed, capacity * 2)
        let target = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 64)
        target.copyMemory(from: buffer, byteCount: length)
        buffer.deallocate()
        buffer = target
        capacity = larger
    }
}

/// A callback for a commit that becomes durable.
struct CommitWaiter: Sendable {
    let commit: CommitID
    let resume: @Sendable (Result<CommitID, StorageError>) -> Void
}
