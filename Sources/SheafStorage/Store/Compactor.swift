import SheafBytes

/// An incremental compaction that rewrites consecutive segments as one base file.
///
/// Of each key it keeps the newest operation and the newest operation up to the horizon, so that
/// every commit after the horizon remains readable. If one of these is a delta, the operations it
/// is based on are kept, too. Positions do not change.
final class Compactor {
    /// The result of a completed compaction.
    struct Result {
        let base: Segment
        /// The removals dropped from the log, with their keys as stored in the tree.
        let droppedRemovals: [(key: [UInt8], position: LogPosition)]
    }

    let plan: CompactionPlan
    private let snapshot: LogSnapshot
    private let volume: any Volume
    private let store: StoreID
    /// The position up to which removals are dropped; `.none` if older files remain.
    ///
    /// The newest checkpoint, if there is one, covers these removals.
    private let removalLimit: LogPosition
    private let output: BaseWriter
    /// The next record to process: its file, and its offset in the file.
    private var nextFile = 0
    private var offset = SegmentHeader.length
    private var chain: UInt64
    private var droppedRemovals: [(key: [UInt8], position: LogPosition)] = []
    private var chains = ChainCache()
    private var work = PeriodicYield()

    /// Starts a compaction; `temporary` is the file name used until it is complete.
    init(
        _ plan: CompactionPlan, snapshot: LogSnapshot, volume: any Volume, store: StoreID,
        removalLimit: LogPosition, temporary: String, now: UInt64
    ) throws(StorageError) {
        guard let first = plan.files.first, let last = plan.files.last,
            let footer = last.footer
        else { preconditionFailure("A plan is made of sealed files.") }
        self.plan = plan
        self.snapshot = snapshot
        self.volume = volume
        self.store = store
        self.removalLimit = plan.startsLog ? removalLimit : .none
        chain = first.header.checksum
        let header = SegmentHeader(
            kind: .base, store: store, segments: plan.segments,
            firstCommit: first.header.firstCommit, createdAt: now,
            chainHash: first.header.chainHash,
            compactedThrough: max(
                plan.horizonCommit, plan.files.map(\.header.compactedThrough).max() ?? 0))
        output = try BaseWriter(volume: volume, temporary: temporary, header: header, last: footer)
    }

    /// Processes the next record; returns the number of bytes read, or zero at the end.
    func step() throws(StorageError) -> Int {
        guard nextFile < plan.files.count else { return 0 }
        let file = plan.files[nextFile]
        do throws(FormatError) {
            return try step(through: file)
        } catch {
            throw StorageError(error, file: file.name)
        }
    }

    /// The number of buffered bytes.
    var bufferedLength: Int { output.bufferedLength }

    /// Writes and syncs the buffered records; returns their length.
    func flush() throws(StorageError) -> Int {
        try output.flush()
    }

    /// Completes the base file and durably renames it to replace the segments.
    func finish() throws(StorageError) -> Result {
        let name = FileName.name(ofBase: plan.segments)
        let before = plan.files.compactMap(\.footer).map(\.removalsCompactedThrough).max() ?? .none
        let base = try output.finish(
            as: name,
            removalsCompactedThrough: droppedRemovals.reduce(before) { max($0, $1.position) })
        return Result(base: base, droppedRemovals: droppedRemovals)
    }

    /// Removes the unfinished file.
    func abandon() {
        output.abandon()
    }

    private func step(through file: Segment) throws(FormatError) -> Int {
        var scanner = RecordScanner(
            file: file.sealedBytes, segment: file.header.segments.lowerBound, store: store,
            offset: offset, chain: chain)
        switch scanner.next() {
        case .record(let record):
            offset = scanner.offset
            chain = scanner.chain
            try judge(record, in: file)
            return record.bytes.count
        case .end(.footer):
            nextFile += 1
            offset = SegmentHeader.length
            if nextFile < plan.files.count { chain = plan.files[nextFile].header.checksum }
            return SegmentFooter.length
        case .end(.unused(let offset)):
            throw FormatError(at: offset, "records of a sealed segment are missing")
        case .end(.damage(let error)):
            throw error
        }
    }

    private func judge(_ record: Record, in file: Segment) throws(FormatError) {
        do throws(FormatError) {
            switch record.kind {
            case .directory:
                break
            case .compacted:
                let compacted = try CompactedRecord(record, of: file.header.segments)
                for index in 0..<compacted.count {
                    let entry = compacted[index]
                    try visit(
                        try compacted.operation(entry), at: entry.position, of: entry.commit)
                }
            case .complete, .first, .middle, .last:
                var operations = OperationSequence(record)
                while let (offset, operation) = try operations.next() {
                    let position = LogPosition(
                        segment: record.position.segment,
                        offset: record.position.offset + offset)
                    try visit(operation, at: position, of: record.commit)
                }
            }
        } catch {
            throw error.shifted(by: record.position.offset)
        }
    }

    private func visit(
        _ operation: Operation, at position: LogPosition, of commit: CommitID
    ) throws(FormatError) {
        work.record(operation.length)
        let live = snapshot.tree.find(operation.key).flatMap(RecordPointer.init)
        let newest =
            live
            ?? Keyspace.withRemovedKey(operation.key) { snapshot.tree.find($0) }
            .flatMap(RecordPointer.init)
        guard let newest, try isNeeded(position, newest: newest) else { return }
        if operation.kind == .remove, newest.position == position, position <= removalLimit {
            droppedRemovals.append((key: [0] + operation.key, position: position))
            return
        }
        do throws(StorageError) {
            try output.add(operation, at: position, of: commit)
        } catch {
            throw FormatError(at: 0, error.description)
        }
    }

    /// Whether to keep the operation at `position` of a key whose newest operation is at `newest`.
    private func isNeeded(_ position: LogPosition, newest: RecordPointer) throws(FormatError)
        -> Bool
    {
        if newest.position == position { return true }
        // If the newest operation is a put or a removal before the horizon, nothing else is kept.
        guard newest.position > plan.horizon || newest.isDelta else { return false }
        if let kept = chains[newest.position] { return kept.containsDescending(position) }
        let kept = try keptChain(from: newest.position)
        chains.cache(kept, of: newest.position)
        return kept.containsDescending(position)
    }

    /// Returns the operations to keep of the key whose newest operation is at `newest`.
    ///
    /// These are all after the horizon, the newest one up to it, and those it is based on.
    private func keptChain(from newest: LogPosition) throws(FormatError) -> [LogPosition] {
        var kept: [LogPosition] = []
        var position = newest
        while position.segment >= plan.segments.lowerBound {
            kept.append(position)
            do throws(StorageError) {
                guard let operation = try snapshot.segments.operation(at: position) else { break }
                guard operation.previous < position else {
                    throw StorageError.damaged(
                        FileName.name(ofSegment: position.segment), at: position.offset,
                        "the operation does not follow its predecessor")
                }
                if position <= plan.horizon, operation.kind != .delta { break }
                position = operation.previous
            } catch {
                throw FormatError(at: position.offset, error.description)
            }
        }
        return kept
    }
}
