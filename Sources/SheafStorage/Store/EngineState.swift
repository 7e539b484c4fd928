import SheafBytes

/// The shared state of the writers of a store, guarded by one lock and free of blocking calls.
struct EngineState: ~Copyable {
    /// The position of the next record.
    struct Tail {
        /// The segment in use; the next one to begin is one higher.
        var segment: UInt32
        /// The offset of the next record; zero while no segment is begun.
        var offset = 0
        /// The maximum length of the segment.
        var capacity = 0

        var isBegun: Bool { offset > 0 }
        var position: LogPosition { LogPosition(segment: segment, offset: offset) }
    }

    /// A batch to write, and the state that becomes durable with it.
    struct Flush {
        let batch: PendingBatch
        let tree: BTreeSnapshot
        let commit: CommitID
        let commitAt: UInt64
        let end: LogPosition
        let indexMark: IndexMark
        let synced: LogPosition
        let grownLength: Int
    }

    let store: StoreID
    var keyspace: Keyspace
    var tail: Tail
    /// The last commit appended to the log.
    var lastCommit: CommitID
    /// The time of the last commit; it never decreases, even if the clock is set back.
    var lastCommitAt: UInt64
    /// The end of the last record.
    var end: LogPosition
    /// The commit up to which the index entries of the tree are complete.
    var indexMark: IndexMark
    /// The number of bytes replayed on opening and added since.
    ///
    /// It counts records, and the cost of rebuilding index entries for earlier operations.
    /// The next opening replays the growth since the newest checkpoint.
    var grownLength: Int
    /// The callers that wait for a commit, in the order of their commits.
    var waiters: [CommitWaiter] = []
    var pending: PendingBatch
    /// The batch for the next records while `pending` is written; nil during a flush.
    var spare: PendingBatch?
    /// The position up to which the log is known to be synced.
    var synced: LogPosition
    /// The snapshot that readers see.
    var published: LogSnapshot
    /// The garbage of the replayed log that is not yet counted; nil once it has been.
    var opening: DeferredGarbage?
    /// The error after which all writes are refused.
    var poison: StorageError?
    /// Whether commits are refused because the store is closing.
    var isClosing = false
    var isClosed = false
    var flushes = FlushStatistics()
    /// A moving average of the number of bytes per flush.
    var typicalFlushLength = 0
    /// Sealed files with unused space at the end.
    var trimmable: [SealedFile] = []

    /// Whether segments are filled with zeros before use.
    ///
    /// For long batches the cost of growing the file is small, whereas zeros would double the bytes
    /// written.
    var preparesSegments: Bool { typicalFlushLength < Self.longFlushLength }

    private static let longFlushLength = 128 << 10

    /// Throws if the store does not accept writes.
    func checkWritable() throws(StorageError) {
        if isClosing { throw .closed }
        if let poison { throw .poisoned(cause: poison.description) }
        // A damaged or crafted file may contain numbers that a store never reaches by itself.
        guard lastCommit < .max else {
            throw .commitsExhausted
        }
        guard tail.segment <= Limits.maximumSegments else {
            throw .limit(
                name: "maximumSegments", value: Int(tail.segment),
                limit: Int(Limits.maximumSegments))
        }
    }

    /// Adds `batch` to the pending records and to the tree; returns the number of its commit.
    mutating func append(
        _ batch: borrowing WriteBatch, at now: UInt64, options: borrowing LogStoreOptions
    ) -> CommitID {
        let commit = lastCommit + 1
        let time = max(now, lastCommitAt)
        let changes = batch.indexChanges.isEmpty ? nil : batch.indexChanges
        if let changes { keyspace.removeEntries(changes) }
        var start = 0
        var part: UInt32 = 0
        var operations = LaidOutOperations(batch)
        while start < batch.bytes.count {
            let run = batch.run(from: start, target: options.recordLength)
            let isLast = run.end == batch.bytes.count && batch.staged == nil
            let length = Record.length(ofBody: run.end - start)
            makeRoom(for: length, after: start, commit: commit, time: time, options: options)
            let draft = Record.Draft(
                kind: Record.Kind(part: part, isLast: isLast), bodyLength: run.end - start,
                commit: commit,
                position: tail.position, time: time, operationCount: run.count, part: part)
            let target = pending.extend(by: length)
            Record.layOut(draft, over: target)
            batch.copy(start..<run.end, into: target)
            operations.append(
                start..<run.end, in: target, at: pending.length - length, tail.position)
            tail.offset += length
            end = tail.position
            grownLength += length
            start = run.end
            part += 1
        }
        if let staged = batch.staged {
            append(staged, as: commit, at: time, part: part, &operations)
        }
        operations.apply(batch, to: &keyspace, pending, options: options)
        if let changes {
            keyspace.addIndexEntries(changes)
            grownLength += changes.lengthToPointers
        }
        if batch.keepsIndexProgress, indexMark.commit == lastCommit {
            indexMark = IndexMark(commit: commit, end: end)
        }
        lastCommit = commit
        lastCommitAt = time
        return commit
    }

    /// Appends staged files as the last segments of a commit.
    private mutating func append(
        _ staged: StagedRecords, as commit: CommitID, at time: UInt64, part: UInt32,
        _ operations: inout LaidOutOperations
    ) {
        var part = part
        for (index, file) in staged.files.enumerated() {
            sealTail()
            tail = Tail(
                segment: tail.segment + 1, offset: file.end, capacity: file.mapping.count)
            keyspace.live.begin(tail.segment)
            pending.pieces.append(
                PendingBatch.Piece(
                    segment: tail.segment, fileOffset: 0, bufferOffset: pending.length,
                    beginning: PendingBatch.Beginning(
                        firstCommit: commit, createdAt: time, capacity: file.mapping.count),
                    staged: PendingBatch.Staged(
                        file: file, commit: commit, time: time, firstPart: part,
                        endsCommit: index == staged.files.count - 1)))
            _ = pending.extend(by: SegmentHeader.length)
            // No zeros follow the staged records, so later commits begin another segment.
            tail.capacity = tail.offset
            operations.append(file, as: tail.segment)
            end = tail.position
            grownLength += file.end - SegmentHeader.length
            part += UInt32(file.records.count)
        }
    }

    /// Seals the segment in use, if there is one.
    mutating func sealTail() {
        guard tail.isBegun else { return }
        ensurePiece()
        _ = pending.extend(by: SegmentFooter.length)
        pending.pieces[pending.pieces.count - 1].sealing = PendingBatch.Sealing(
            lastCommit: lastCommit, lastCommitAt: lastCommitAt)
        tail = Tail(segment: tail.segment)
    }

    /// Removes the pending records for a flush; nil if there are none or a flush is running.
    mutating func takePendingFlush() -> Flush? {
        guard !pending.isEmpty, let next = spare else { return nil }
        let batch = pending
        pending = next
        spare = nil
        typicalFlushLength += (batch.length - typicalFlushLength) / 8
        return Flush(
            batch: batch, tree: keyspace.tree.snapshot(), commit: lastCommit,
            commitAt: lastCommitAt, end: end, indexMark: indexMark, synced: synced,
            grownLength: grownLength)
    }

    /// Publishes a completed flush to readers; returns the callers that waited for it.
    mutating func finish(
        _ flush: Flush, _ written: SegmentWriter.Written, options: borrowing LogStoreOptions
    ) -> ArraySlice<CommitWaiter> {
        var segments = published.segments
        for segment in written.openedSegments { segments = segments.appending(segment) }
        trimmable += written.sealed
        synced = flush.end
        // Keys may have been given weights since.
        let isNewest = flush.commit == lastCommit
        published = LogSnapshot(
            tree: isNewest ? keyspace.tree.snapshot() : flush.tree, segments: segments,
            commit: flush.commit,
            commitAt: flush.commitAt, end: flush.end, indexMark: flush.indexMark,
            chain: written.chain, grownLength: flush.grownLength)
        flush.batch.reset()
        spare = flush.batch
        let done = waiters.prefix { $0.commit <= flush.commit }
        waiters.removeFirst(done.count)
        return done
    }

    /// Ensures that a record and a footer fit after the tail, beginning a new segment if necessary.
    ///
    /// The bytes of the batch before `offset`, where the record begins, are not yet counted as
    /// live.
    private mutating func makeRoom(
        for length: Int, after offset: Int, commit: CommitID, time: UInt64,
        options: borrowing LogStoreOptions
    ) {
        // A tail that is not begun has no capacity.
        if tail.offset + length + SegmentFooter.length <= tail.capacity {
            ensurePiece()
            return
        }
        sealTail()
        let needed = SegmentHeader.length + length + SegmentFooter.length
        let planned = options.segmentLength(liveBytes: keyspace.live.total + offset)
        let isLongFlush = !preparesSegments || pending.length >= Self.longFlushLength
        let capacity = max(planned, needed, isLongFlush ? options.bulkSegmentLength : 0)
        tail = Tail(segment: tail.segment + 1, offset: 0, capacity: capacity)
        keyspace.live.begin(tail.segment)
        pending.pieces.append(
            PendingBatch.Piece(
                segment: tail.segment, fileOffset: 0, bufferOffset: pending.length,
                beginning: PendingBatch.Beginning(
                    firstCommit: commit, createdAt: time, capacity: capacity)))
        _ = pending.extend(by: SegmentHeader.length)
        tail.offset = SegmentHeader.length
    }

    /// Ensures that the last extent of the batch belongs to the segment in use.
    private mutating func ensurePiece() {
        if let last = pending.pieces.last, last.segment == tail.segment { return }
        pending.pieces.append(
            PendingBatch.Piece(
                segment: tail.segment, fileOffset: tail.offset, bufferOffset: pending.length))
    }
}

extension WriteBatch {
    /// Returns the end and the count of the operations from `start` on that form the next record.
    func run(from start: Int, target: Int) -> (end: Int, count: Int) {
        bytes.withUnsafeBytes { bytes in
            var end = start
            var count = 0
            while end < bytes.count {
                let next = end + Operation.length(in: bytes, at: end)
                if count > 0, next - start > target { break }
                end = next
                count += 1
            }
            return (end, count)
        }
    }

    /// Copies operations into the body of a record.
    func copy(_ range: Range<Int>, into record: UnsafeMutableRawBufferPointer) {
        bytes.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(rebasing: record[Record.headerLength...])
                .copyMemory(from: bytes.slice(range))
        }
    }
}
