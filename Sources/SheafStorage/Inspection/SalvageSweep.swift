/// A scan of damaged files that collects the operations of all valid records.
struct SalvageSweep: ~Copyable {
    /// The records of a commit until its last record is read.
    private struct OpenCommit {
        let commit: CommitID
        var records: [(record: Record, file: Int)] = []
        /// Whether some of its records are missing.
        var isBroken: Bool
        /// Whether bytes are missing after its last record, which may have belonged to it.
        var isInDoubt = false
    }

    let store: StoreID
    var index = SalvageIndex()
    var report = SalvageReport()
    private var open: OpenCommit?
    /// The last commit that was counted; nil if it is unknown.
    private var last: CommitID? = 0

    init(store: StoreID) {
        self.store = store
    }

    /// Collects the operations of a file; calls must be in the order of segments.
    mutating func collect(_ file: StoreDirectory.File, number fileNumber: Int, isLast: Bool) {
        var kind = file.kind
        var segments = file.segments
        if case .success(let header) = file.header {
            guard header.store == store else {
                report.otherStoreFiles.append(file.name)
                return damage(file, 0..<file.bytes.count, "the file belongs to another store")
            }
            // If the header contradicts the file name, the header is used.
            kind = header.kind
            segments = header.segments
        } else {
            let end = min(SegmentHeader.length, file.bytes.count)
            report.damagedRanges.append(
                .init(file: file.name, range: 0..<end, reason: "the header is damaged"))
        }
        let sweep = SegmentSweep(
            file: file.bytes, segment: segments.lowerBound, store: store, chain: nil)
        switch kind {
        case .log: collectLog(file, fileNumber, sweep, isLast: isLast)
        case .base: collectBase(file, fileNumber, sweep)
        }
    }

    /// Records that segments are missing before the next file.
    mutating func miss(_ segments: ClosedRange<UInt32>) {
        report.missingSegments.append(segments)
        interrupt()
    }

    /// Ends the scan; an open commit was never completed unless its end was lost.
    mutating func finish() {
        if let open, !open.isBroken, !open.isInDoubt {
            report.notes.append("commit \(open.commit) was never completed and is dropped")
        }
        finishCommit()
    }

    /// Adds the operations of another scan, but not its losses.
    mutating func adopt(_ other: borrowing SalvageSweep) {
        report.recordCount += other.report.recordCount
        index.add(other.index)
    }

    private mutating func collectLog(
        _ file: StoreDirectory.File, _ fileNumber: Int, _ start: SegmentSweep, isLast: Bool
    ) {
        var sweep = start
        while true {
            switch sweep.next() {
            case .record(let record, _):
                report.recordCount += 1
                collect(record, file: fileNumber)
            case .gap(let range, let error):
                let isTorn =
                    isLast && !error.isUnsupported
                    && !RecordScanner.provesSynced(
                        file.bytes, segment: file.segments.lowerBound, store: store,
                        beyond: range.lowerBound)
                if isTorn {
                    report.notes.append(
                        "\(file.name):\(error.offset): a torn tail is dropped: \(error.reason)")
                    return
                }
                damage(file, range, error.reason)
            case .footer(let footer):
                account(through: footer.lastCommit)
                return
            case .unused:
                // The footer is missing, and possibly records before it.
                if !isLast { interrupt() }
                return
            }
        }
    }

    private mutating func collectBase(
        _ file: StoreDirectory.File, _ fileNumber: Int, _ start: SegmentSweep
    ) {
        finishCommit()
        var sweep = start
        var compactedRecords = 0
        var expected: Int?
        last = nil
        var hasGap = false
        walk: while true {
            switch sweep.next() {
            case .record(let record, _):
                report.recordCount += 1
                if record.kind == .directory {
                    expected = record.operationCount
                } else if collect(compacted: record, file: fileNumber) {
                    compactedRecords += 1
                }
            case .gap(let range, let error):
                hasGap = true
                damage(file, range, error.reason)
            case .footer(let footer):
                // The directory is one of the records.
                expected = expected ?? max(Int(clamping: footer.recordCount), 1) - 1
                last = footer.lastCommit
                report.lastCommit = max(report.lastCommit, footer.lastCommit)
                break walk
            case .unused:
                break walk
            }
        }
        let isComplete = expected.map { compactedRecords >= $0 } ?? !hasGap
        if !isComplete { report.hasLostCompactedOperations = true }
    }

    private mutating func collect(compacted record: Record, file: Int) -> Bool {
        guard record.kind == .compacted,
            let compacted = try? CompactedRecord(record, of: 1...UInt32.max)
        else { return false }
        for number in 0..<compacted.count {
            let entry = compacted[number]
            guard let operation = try? compacted.operation(entry) else { continue }
            index.add(
                operation,
                SalvageIndex.Location(
                    position: entry.position, file: file,
                    offset: record.position.offset + entry.offset,
                    isDelta: operation.kind == .delta))
        }
        return true
    }

    private mutating func collect(_ record: Record, file: Int) {
        guard record.kind != .compacted, record.kind != .directory else { return }
        if record.kind.beginsCommit {
            finishCommit()
            account(before: record.commit)
            open = OpenCommit(commit: record.commit, isBroken: false)
        } else if let current = open, current.commit == record.commit {
            let isNext = Int(record.part) == current.records.count
            open?.isBroken = current.isBroken || !isNext
            open?.isInDoubt = false
        } else {
            finishCommit()
            account(before: record.commit)
            open = OpenCommit(commit: record.commit, isBroken: true)
        }
        open?.records.append((record, file))
        guard record.kind.endsCommit else { return }
        finishCommit(isEnded: true)
    }

    /// Adds the operations of the open commit, unless it was abandoned before it was complete.
    private mutating func finishCommit(isEnded: Bool = false) {
        guard let commit = open else { return }
        open = nil
        guard isEnded || commit.isBroken || commit.isInDoubt else { return }
        if commit.isBroken || commit.isInDoubt { report.incompleteCommitCount += 1 }
        last = commit.commit
        report.lastCommit = max(report.lastCommit, commit.commit)
        for (record, file) in commit.records {
            var operations = OperationSequence(record)
            while let (offset, operation) = try? operations.next() {
                let start = record.position.offset + offset
                index.add(
                    operation,
                    SalvageIndex.Location(
                        position: LogPosition(segment: record.position.segment, offset: start),
                        file: file, offset: start, isDelta: operation.kind == .delta))
            }
        }
    }

    /// Counts the commits missing before `commit`.
    private mutating func account(before commit: CommitID) {
        guard commit > 0 else { return }
        account(through: commit - 1)
    }

    private mutating func account(through commit: CommitID) {
        if let current = open, current.commit <= commit {
            // A later commit follows, so this one was complete: its end is lost.
            open?.isBroken = true
            finishCommit()
        }
        if let known = last, commit > known { report.lostCommitCount += commit - known }
        last = max(last ?? 0, commit)
    }

    private mutating func damage(
        _ file: StoreDirectory.File, _ range: Range<Int>, _ reason: String
    ) {
        report.damagedRanges.append(.init(file: file.name, range: range, reason: reason))
        interrupt()
    }

    private mutating func interrupt() {
        open?.isInDoubt = true
    }
}
