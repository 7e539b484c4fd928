import SheafBytes

/// The start of a log walk, after a record known to be valid.
struct LogStart {
    let position: LogPosition
    /// The checksum of the preceding record; not used at the start of a segment.
    let chain: UInt64
    /// The last commit before the position.
    let commit: CommitID
    let commitAt: UInt64

    /// The beginning of the log.
    static let origin = LogStart(position: .none, chain: 0, commit: 0, commitAt: 0)
}

/// The end of the log and the state of its last file.
struct LogEnd {
    var commit: CommitID
    var commitAt: UInt64
    /// The end of the last complete commit in the last file, or of its header if it has none.
    var position: LogPosition
    /// The checksum of the last record before `position`, or of the header; zero after a base file.
    var chain: UInt64
    /// The end of the last complete commit in any file, from which a later walk continues.
    ///
    /// It precedes `position` if the last file begins or ends within a commit.
    var complete: LogStart
    /// The position up to which the log was synced according to its last record.
    var synced = LogPosition.none
    /// The footer of the last file; nil if it is not sealed.
    var footer: SegmentFooter?
    /// The reason why the bytes after the end are invalid, if a crash left any.
    var torn: FormatError?
    /// The number of bytes of records read.
    var length = 0
}

/// A consumer of the commits and operations of a log walk, in order.
protocol LogVisitor {
    /// Visits a complete commit; its records are one `complete`, or a `first` to a `last`.
    mutating func visit(_ commit: CommitID, at time: UInt64, records: [Record])
        throws(StorageError)
    /// Visits an operation of a base file.
    mutating func visit(_ entry: CompactedRecord.Entry, _ operation: Operation, in file: String)
        throws(StorageError)
}

/// A verifying traversal of the log that finds its end.
struct LogWalk {
    private let files: [LogContents.File]
    private let start: LogStart
    private var sequence: CommitSequence
    /// The records of the current commit, until its last record is read.
    private var records: [Record] = []
    private var end: LogEnd

    /// Creates a walk over `files`; it skips those that end before `start`.
    init(_ files: [LogContents.File], from start: LogStart = .origin) {
        self.files = files
        self.start = start
        sequence = CommitSequence(after: start.commit)
        end = LogEnd(
            commit: start.commit, commitAt: start.commitAt, position: start.position,
            chain: start.chain, complete: start)
    }

    /// Visits all operations after the start; returns the end of the log or throws for damage.
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
                "the log ends before the position of a checkpoint")
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
                    at: file.bytes.count, "the log ends before the position of a checkpoint")
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
                try accept(record, startsSegment: startsSegment, file.name, &visitor)
                if sequence.openStart == nil {
                    end.position = record.end
                    end.chain = record.checksum
                    end.complete = LogStart(
                        position: record.end, chain: record.checksum, commit: end.commit,
                        commitAt: end.commitAt)
                }
                startsSegment = false
            case .end(let reason):
                try finish(file, scanner, reason, isLast: isLast)
                return
            }
        }
    }

    private mutating func accept(
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

    /// Classifies the end of a log file: a footer, a torn tail, or damage.
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
            // A record with a valid checksum is not torn: a newer program version wrote it.
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
            case .record(let record) where record.kind == .compacted:
                end.length += record.bytes.count
                try visitCompacted(record, file, &visitor)
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
                end.complete = LogStart(
                    position: end.position, chain: 0, commit: end.commit,
                    commitAt: end.commitAt)
                end.footer = footer
                return
            case .end(.unused(let offset)):
                throw FormatError(at: offset, "records of a base file are missing")
            case .end(.damage(let error)):
                throw error
            }
        }
    }

    private func visitCompacted(
        _ record: Record, _ file: LogContents.File, _ visitor: inout some LogVisitor
    ) throws(FormatError) {
        do throws(FormatError) {
            let compacted = try CompactedRecord(record, of: file.segments)
            for index in 0..<compacted.count {
                let entry = compacted[index]
                guard entry.position >= start.position else { continue }
                let operation = try compacted.operation(entry)
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
    /// Creates an error from one that a visitor reported for the current file.
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
