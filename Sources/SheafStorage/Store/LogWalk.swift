import SheafBytes

/// Where a walk through the log starts: behind a record that is known to be right.
struct LogStart {
    let position: LogPosition
    /// The checksum of the record before; without meaning at the first byte of a segment.
    let chain: UInt64
    /// The last commit before.
    let commit: CommitID
    let commitAt: UInt64

    /// The beginning of the log.
    static let origin = LogStart(position: .none, chain: 0, commit: 0, commitAt: 0)
}

/// Where the log ends, and what is known of its last file.
struct LogEnd {
    var commit: CommitID
    var commitAt: UInt64
    /// The end of the last complete commit, in the last file.
    var position: LogPosition
    /// The checksum of the last record before `position`; zero at the start of a segment.
    var chain: UInt64
    /// How far the last record says that the log was synced.
    var synced = LogPosition.none
    /// What seals the last file; none when it has still to be sealed.
    var footer: SegmentFooter?
    /// What stands behind the end, where a crash left something.
    var torn: FormatError?
    /// How many bytes of records the walk has seen.
    var length = 0
}

/// What a walk through the log hands out, in order.
protocol LogVisitor {
    /// A complete commit; its records are one `whole`, or a `first` to a `last`.
    mutating func visit(_ commit: CommitID, at time: UInt64, records: [Record])
        throws(StorageError)
    /// An operation that compaction kept.
    mutating func visit(_ entry: FoldedRecord.Entry, _ operation: Operation, in file: String)
        throws(StorageError)
}

/// Reads the log in order, checks every record on the way, and finds its end.
struct LogWalk {
    private let files: [LogContents.File]
    private let start: LogStart
    private var sequence: CommitSequence
    /// The records of a commit whose last one has not come yet.
    private var records: [Record] = []
    private var end: LogEnd

    /// Walks `files` from `start`.
    init(_ files: [LogContents.File], from start: LogStart = .origin) {
        self.files = files
        self.start = start
        sequence = CommitSequence(after: start.commit)
        end = LogEnd(
            commit: start.commit, commitAt: start.commitAt, position: start.position,
            chain: start.chain)
    }

    /// Visits everything behind the start; throws for damage, and returns the end of the log.
    mutating func run(_ visitor: inout some LogVisitor) throws(StorageError) -> LogEnd {
        for (index, file) in files.enumerated()
        where file.segments.upperBound >= start.position.segment {
            do throws(FormatError) {
                if file.header.kind == .base {
                    try walkBase(file, &visitor)
                } else {
                    try walkLog(file, isLast: index == files.count - 1, &visitor)
                }
            } catch {
                throw StorageError(error, file: file.name)
            }
        }
        let last = files.last?.segments.upperBound ?? 0
        guard start.position.segment <= last, start.position <= end.position else {
            throw .damaged(
                FileName.name(ofSegment: start.position.segment), at: start.position.offset,
                "the log ends before what a checkpoint covers")
        }
        return end
    }

    private mutating func walkLog(
        _ file: LogContents.File, isLast: Bool, _ visitor: inout some LogVisitor
    ) throws(FormatError) {
        let number = file.segments.lowerBound
        var scanner = RecordScanner(file: file.bytes, header: file.header)
        if number == start.position.segment, start.position.offset > SegmentHeader.length {
            guard start.position.offset <= file.bytes.count else {
                throw FormatError(
                    at: file.bytes.count, "the log ends before what a checkpoint covers")
            }
            scanner = RecordScanner(
                file: file.bytes, segment: number, store: file.header.store,
                offset: start.position.offset, chain: start.chain)
        }
        var startsSegment = true
        end.position = LogPosition(segment: number, offset: scanner.offset)
        end.chain = scanner.chain
        while true {
            switch scanner.next() {
            case .record(let record):
                end.synced = max(end.synced, record.synced)
                end.length += record.bytes.count
                try take(record, startsSegment: startsSegment, file.name, &visitor)
                if sequence.openStart == nil {
                    end.position = record.end
                    end.chain = record.checksum
                }
                startsSegment = false
            case .end(let reason):
                try finish(file, scanner, reason, isLast: isLast)
                return
            }
        }
    }

    private mutating func take(
        _ record: Record, startsSegment: Bool, _ name: String, _ visitor: inout some LogVisitor
    ) throws(FormatError) {
        if record.kind.beginsCommit { records.removeAll(keepingCapacity: true) }
        let isComplete = try sequence.accept(record, startsSegment: startsSegment)
        records.append(record)
        guard isComplete else { return }
        end.commit = record.commit
        end.commitAt = record.time
        do throws(StorageError) {
            try visitor.visit(record.commit, at: record.time, records: records)
        } catch {
            throw FormatError(error, at: record.position.offset)
        }
    }

    /// Judges how a log file ends: a seal, a tail that a crash left, or damage.
    private mutating func finish(
        _ file: LogContents.File, _ scanner: RecordScanner, _ reason: RecordScanner.End,
        isLast: Bool
    ) throws(FormatError) {
        switch reason {
        case .footer(let footer):
            guard footer.lastCommit == sequence.last else {
                throw FormatError(
                    at: footer.contentLength + SegmentFooter.Layout.lastCommit,
                    "the footer's last commit is \(footer.lastCommit), not \(sequence.last)")
            }
            end.footer = footer
            end.position = LogPosition(
                segment: file.segments.lowerBound, offset: footer.contentLength)
            end.chain = scanner.chain
            end.synced = max(end.synced, footer.synced)
            return
        case .unused(let offset):
            guard isLast else {
                throw FormatError(at: offset, "records of a sealed segment are missing")
            }
        case .damage(let error):
            let isProven = RecordScanner.provesSynced(
                file.bytes, segment: file.segments.lowerBound, store: file.header.store,
                beyond: scanner.offset)
            // A record whose checksum is right did not tear: a newer program wrote it.
            guard isLast, !isProven, !error.isUnsupported else { throw error }
            end.torn = error
        }
        end.footer = nil
        if sequence.openStart != nil, end.torn == nil {
            end.torn = FormatError(
                at: end.position.offset, "the last commit is incomplete")
        }
        sequence.abandonOpenCommit()
    }

    private mutating func walkBase(
        _ file: LogContents.File, _ visitor: inout some LogVisitor
    ) throws(FormatError) {
        var scanner = RecordScanner(file: file.bytes, header: file.header)
        while true {
            switch scanner.next() {
            case .record(let record) where record.kind == .folded:
                end.length += record.bytes.count
                try visitFolded(record, file, &visitor)
            case .record(let record) where record.kind == .directory:
                break
            case .record(let record):
                throw FormatError(
                    at: record.position.offset, "a base file holds a record of a log segment")
            case .end(.footer(let footer)):
                sequence = CommitSequence(after: footer.lastCommit)
                records.removeAll(keepingCapacity: true)
                end.commit = footer.lastCommit
                end.commitAt = footer.lastCommitAt
                end.position = LogPosition(
                    segment: file.segments.upperBound, offset: Int(UInt32.max))
                end.chain = 0
                end.footer = footer
                return
            case .end(.unused(let offset)):
                throw FormatError(at: offset, "records of a base file are missing")
            case .end(.damage(let error)):
                throw error
            }
        }
    }

    private func visitFolded(
        _ record: Record, _ file: LogContents.File, _ visitor: inout some LogVisitor
    ) throws(FormatError) {
        do throws(FormatError) {
            let folded = try FoldedRecord(record, of: file.segments)
            for index in 0..<folded.count {
                let entry = folded[index]
                guard entry.position >= start.position else { continue }
                let operation = try folded.operation(entry)
                do throws(StorageError) {
                    try visitor.visit(entry, operation, in: file.name)
                } catch {
                    throw FormatError(at: entry.offset, error.description)
                }
            }
        } catch {
            throw error.shifted(by: record.position.offset)
        }
    }
}

extension FormatError {
    /// What a visitor found wrong with bytes of the file that is being walked.
    fileprivate init(_ error: StorageError, at offset: Int) {
        switch error {
        case .corrupt(let damage):
            self.init(at: damage.offset, damage.reason)
        case .unsupported(let damage):
            self.init(at: damage.offset, damage.reason, isUnsupported: true)
        default:
            self.init(at: offset, error.description)
        }
    }
}
