import SheafBytes

/// What the writers of a store share, under one lock: no call in here waits for anything.
struct EngineState: ~Copyable {
    /// Where the next record goes.
    struct Tail {
        /// The segment in use; the next one to begin is one higher.
        var segment: UInt32
        /// Where the next record starts; zero when no segment is begun since the store was opened.
        var offset = 0
        /// Where the segment has to end.
        var capacity = 0

        var isBegun: Bool { offset > 0 }
    }

    /// A batch that goes to the disk, and the state that it makes durable.
    struct Flush {
        let batch: PendingBatch
        let tree: BTreeSnapshot
        let commit: CommitID
        let commitAt: UInt64
        let end: LogPosition
        let linked: LinkMark
        let synced: LogPosition
        let grownLength: Int
    }

    let store: StoreID
    var keyspace: Keyspace
    var tail: Tail
    /// The last commit that has a place in the log.
    var lastCommit: CommitID
    /// When that was; a clock that goes back does not take it along.
    var lastCommitAt: UInt64
    /// Where the last record ends.
    var end: LogPosition
    /// Up to which commit the links of the tree are right.
    var linked: LinkMark
    /// The bytes that the log grew by, those behind the last checkpoint at opening included, and
    /// those of links that are not made with the log: all that a checkpoint would spare.
    var grownLength: Int
    /// Those who wait for a commit, in the order of their commits.
    var waiters: [CommitWaiter] = []
    var pending = PendingBatch()
    var spare: PendingBatch? = PendingBatch()
    /// How far the log is known to be on the disk.
    var synced: LogPosition
    /// What readers see.
    var published: LogSnapshot
    /// What the counts of live bytes do not know yet; none once it has been looked up.
    var opening: UnsettledOpening?
    /// Why nothing may be written any more.
    var poison: StorageError?
    /// Whether commits are refused because the store is being closed.
    var isClosing = false
    var isClosed = false
    /// A running average of what one flush writes.
    var typicalFlushLength = 0
    /// Sealed files whose unused ends can be cut off.
    var trimmable: [SealedFile] = []

    /// Whether segments are written ahead of use: a long batch pays little for a file that grows,
    /// and zeros would double its bytes.
    var preparesSegments: Bool { typicalFlushLength < 128 << 10 }

    /// Refuses when nothing may be written any more.
    func checkWritable() throws(StorageError) {
        if isClosing { throw .closed }
        if let poison { throw .poisoned(cause: poison.description) }
        // Numbers that no store reaches by itself may still stand in a file.
        guard lastCommit < .max else {
            throw .limit(name: "commits", value: .max, limit: .max)
        }
        guard tail.segment < Limits.maximumSegments else {
            throw .limit(
                name: "maximumSegments", value: Int(tail.segment),
                limit: Int(Limits.maximumSegments))
        }
    }

    /// Gives every operation of `batch` its place, and the commit its number.
    mutating func append(
        _ batch: borrowing WriteBatch, at now: UInt64, options: borrowing LogStoreOptions
    ) -> CommitID {
        let commit = lastCommit + 1
        let time = max(now, lastCommitAt)
        let links = batch.links.isEmpty ? nil : batch.links
        if let links { keyspace.unlink(links) }
        var nextLink = 0
        var start = 0
        var part: UInt32 = 0
        while start < batch.bytes.count {
            let run = batch.run(from: start, target: options.recordLength)
            let isLast = run.end == batch.bytes.count
            let kind: Record.Kind =
                switch (part == 0, isLast) {
                case (true, true): .whole
                case (true, false): .first
                case (false, false): .middle
                case (false, true): .last
                }
            let length = Record.length(ofBody: run.end - start)
            makeRoom(for: length, commit: commit, time: time, options: options)
            let draft = Record.Draft(
                kind: kind, bodyLength: run.end - start, commit: commit,
                position: LogPosition(segment: tail.segment, offset: tail.offset),
                time: time, operationCount: run.count, part: part)
            let target = pending.extend(by: length)
            Record.layOut(draft, over: target)
            batch.copy(start..<run.end, into: target)
            index(target, operationCount: run.count)
            if let links {
                nextLink = link(links, from: nextLink, to: start..<run.end, in: target)
            }
            tail.offset += length
            end = LogPosition(segment: tail.segment, offset: tail.offset)
            grownLength += length
            start = run.end
            part += 1
        }
        if let links {
            keyspace.linkPlaces(links)
            grownLength += links.lengthToPlaces
        }
        if batch.keepsLinks, linked.commit == lastCommit {
            linked = LinkMark(commit: commit, end: end)
        }
        lastCommit = commit
        lastCommitAt = time
        return commit
    }

    /// Ends the segment in use, if one is begun.
    mutating func sealTail() {
        guard tail.isBegun else { return }
        ensurePiece()
        _ = pending.extend(by: SegmentFooter.length)
        pending.pieces[pending.pieces.count - 1].sealing = PendingBatch.Sealing(
            lastCommit: lastCommit, lastCommitAt: lastCommitAt)
        tail = Tail(segment: tail.segment)
    }

    /// Takes what is pending away to be written; nothing when nothing is pending.
    mutating func cut() -> Flush? {
        guard !pending.isEmpty, let next = spare else { return nil }
        let batch = pending
        pending = next
        spare = nil
        typicalFlushLength += (batch.length - typicalFlushLength) / 8
        return Flush(
            batch: batch, tree: keyspace.tree.snapshot(), commit: lastCommit,
            commitAt: lastCommitAt, end: end, linked: linked, synced: synced,
            grownLength: grownLength)
    }

    /// Shows readers what a flush made durable; returns those who waited for it.
    mutating func finish(
        _ flush: Flush, _ written: SegmentWriter.Written
    ) -> ArraySlice<CommitWaiter> {
        var segments = published.segments
        for segment in written.begun { segments = segments.appending(segment) }
        trimmable += written.sealed
        synced = flush.end
        published = LogSnapshot(
            tree: flush.tree, segments: segments, commit: flush.commit,
            commitAt: flush.commitAt, end: flush.end, linked: flush.linked,
            chain: written.chain, grownLength: flush.grownLength)
        flush.batch.reset()
        spare = flush.batch
        let done = waiters.prefix { $0.commit <= flush.commit }
        waiters.removeFirst(done.count)
        return done
    }

    /// Puts the place of each operation into the tree, and the place before it into the record.
    private mutating func index(_ record: UnsafeMutableRawBufferPointer, operationCount: Int) {
        var offset = Record.headerLength
        for _ in 0..<operationCount {
            let bytes = UnsafeRawBufferPointer(record)
            let keyLength = Int(
                bytes.loadInteger(offset + Operation.Layout.keyLength) as UInt16)
            let payloadLength = Int(
                bytes.loadInteger(offset + Operation.Layout.payloadLength) as UInt32)
            let length = Operation.headerLength + keyLength + payloadLength
            let key = bytes.slice(
                offset + Operation.headerLength..<offset + Operation.headerLength + keyLength)
            let kind = bytes[offset]
            let place = Place(
                position: LogPosition(segment: tail.segment, offset: tail.offset + offset),
                length: length, isExtension: kind == Operation.Kind.extend.rawValue)
            let previous =
                if kind == Operation.Kind.put.rawValue {
                    keyspace.put(key, at: place)
                } else if place.isExtension {
                    keyspace.extend(key, at: place)
                } else {
                    keyspace.remove(key, at: place)
                }
            record.store(previous.rawValue, at: offset + Operation.Layout.previous)
            record.store(UInt32(offset), at: offset + Operation.Layout.distance)
            offset += length
        }
    }

    /// Makes sure that a record and a footer fit behind the tail, in a new segment if need be.
    private mutating func makeRoom(
        for length: Int, commit: CommitID, time: UInt64, options: borrowing LogStoreOptions
    ) {
        if tail.isBegun, tail.offset + length + SegmentFooter.length <= tail.capacity {
            ensurePiece()
            return
        }
        sealTail()
        let needed = SegmentHeader.length + length + SegmentFooter.length
        let capacity = max(options.segmentLength(liveBytes: keyspace.live.total), needed)
        tail = Tail(segment: tail.segment + 1, offset: 0, capacity: capacity)
        keyspace.live.begin(tail.segment)
        pending.pieces.append(
            PendingBatch.Piece(
                segment: tail.segment, fileOffset: 0, bufferOffset: pending.length,
                beginning: PendingBatch.Beginning(
                    firstCommit: commit, createdAt: time, capacity: capacity,
                    preparedLength: preparesSegments ? capacity : 0)))
        _ = pending.extend(by: SegmentHeader.length)
        tail.offset = SegmentHeader.length
    }

    /// Makes sure that the last piece of the batch is one of the segment in use.
    private mutating func ensurePiece() {
        if let last = pending.pieces.last, last.segment == tail.segment { return }
        pending.pieces.append(
            PendingBatch.Piece(
                segment: tail.segment, fileOffset: tail.offset, bufferOffset: pending.length))
    }
}

extension WriteBatch {
    /// The operations from `start` that go into one record, and how many they are.
    func run(from start: Int, target: Int) -> (end: Int, count: Int) {
        bytes.withUnsafeBytes { bytes in
            var end = start
            var count = 0
            while end < bytes.count {
                let keyLength = Int(
                    bytes.loadInteger(end + Operation.Layout.keyLength) as UInt16)
                let payloadLength = Int(
                    bytes.loadInteger(end + Operation.Layout.payloadLength) as UInt32)
                let next = end + Operation.headerLength + keyLength + payloadLength
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
