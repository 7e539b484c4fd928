/// The end of a commit in the log, from which later commits can be read.
package struct CommitCursor: Sendable {
    package let commit: CommitID
    let position: LogPosition
    /// The checksum of the last record before `position`.
    let chain: UInt64
}

/// An iterator over the commits of a log that verifies every record.
package struct CommitReader {
    private let files: [LogContents.File]
    private let since: CommitID
    /// Whether the log may end with a torn commit; otherwise, each commit is known to be complete.
    private let mayBeTorn: Bool
    private var fileIndex: Int
    private var scanner: RecordScanner?
    private var sequence = CommitSequence(after: 0)
    private var startsSegment = true
    /// The records of the current commit, until its last record is read.
    private var records: [Record] = []
    /// Complete compacted commits, the next one last.
    private var ready: [LoggedCommit] = []
    /// The newest compacted commit, which the next record may continue.
    private var open: LoggedCommit?
    /// The invalid bytes after the last commit; set at the end of the iteration.
    package private(set) var tornTail: StorageError.Damage?

    init(_ files: [LogContents.File], since: CommitID, mayBeTorn: Bool = true) {
        self.files = files
        self.since = since
        self.mayBeTorn = mayBeTorn
        // The last file is always read, because only its records show whether its end is torn.
        fileIndex =
            files.firstIndex { ($0.footer?.lastCommit ?? .max) > since } ?? max(files.count, 1) - 1
        // If the first commit begins in an earlier file, reading starts there.
        while fileIndex > 0, fileIndex < files.count, files[fileIndex].continuesCommit {
            fileIndex -= 1
        }
        guard fileIndex < files.count else { return }
        sequence = CommitSequence(after: max(files[fileIndex].header.firstCommit, 1) - 1)
    }

    /// Creates an iterator over the complete commits after a position in the log of `files`.
    ///
    /// Reading starts there, unless compaction has replaced the segment.
    init(_ files: [LogContents.File], after cursor: CommitCursor) {
        self.init(files, since: cursor.commit, mayBeTorn: false)
        let segment = cursor.position.segment
        guard cursor.position.offset > SegmentHeader.length,
            let index = files.firstIndex(where: { $0.header.segments.lowerBound == segment }),
            files[index].header.kind == .log, cursor.position.offset <= files[index].bytes.count
        else { return }
        fileIndex = index
        scanner = RecordScanner(
            file: files[index].bytes, segment: segment, store: files[index].header.store,
            offset: cursor.position.offset, chain: cursor.chain)
        sequence = CommitSequence(after: cursor.commit)
        startsSegment = false
    }

    /// Returns the next commit, or nil at the end of the log; throws for damage.
    package mutating func next() throws(StorageError) -> LoggedCommit? {
        while true {
            if let commit = ready.popLast() {
                if commit.id > since { return commit }
                continue
            }
            guard fileIndex < files.count else { return nil }
            let file = files[fileIndex]
            do throws(FormatError) {
                let found =
                    file.header.kind == .base ? try readBase(file) : try readLog(file)
                if let found, found.id > since { return found }
            } catch {
                fileIndex = files.count
                throw StorageError(error, file: file.name)
            }
        }
    }

    private mutating func nextStep(of file: LogContents.File) -> RecordScanner.Step {
        var current = scanner ?? RecordScanner(file: file.bytes, header: file.header)
        if scanner == nil { startsSegment = true }
        defer { scanner = current }
        return current.next()
    }

    private mutating func endFile() {
        scanner = nil
        fileIndex += 1
    }

    /// Reads one record; returns the commit that it completes.
    private mutating func readLog(
        _ file: LogContents.File
    ) throws(FormatError) -> LoggedCommit? {
        switch nextStep(of: file) {
        case .record(let record):
            if record.kind.beginsCommit { records.removeAll(keepingCapacity: true) }
            let isComplete = try sequence.accept(record, startsSegment: startsSegment)
            startsSegment = false
            records.append(record)
            guard isComplete, let first = records.first else { return nil }
            return LoggedCommit(
                id: record.commit, time: record.time,
                operationCount: records.reduce(0) { $0 + $1.operationCount },
                byteCount: records.reduce(0) { $0 + $1.bytes.count }, position: first.position,
                source: .records(records))
        case .end(let reason):
            try finish(file, reason)
            endFile()
            return nil
        }
    }

    /// Classifies the end of a log file: a footer, a torn tail, or damage.
    private mutating func finish(
        _ file: LogContents.File, _ reason: RecordScanner.End
    ) throws(FormatError) {
        let isLast = fileIndex == files.count - 1
        switch reason {
        case .footer:
            break
        case .unused(let offset):
            guard isLast else {
                throw FormatError(at: offset, "records of a sealed segment are missing")
            }
            guard mayBeTorn || offset >= file.bytes.count else {
                throw FormatError(at: offset, "records of the last segment are missing")
            }
        case .damage(let error):
            let isProven = RecordScanner.provesSynced(
                file.bytes, segment: file.segments.lowerBound, store: file.header.store,
                beyond: scanner?.offset ?? 0)
            // A record with a valid checksum is not torn: a newer program version wrote it.
            guard isLast, mayBeTorn, !isProven, !error.isUnsupported else { throw error }
            tornTail = StorageError.Damage(
                file: file.name, offset: error.offset, reason: error.reason)
        }
        guard isLast, tornTail == nil, let start = sequence.openStart else { return }
        tornTail = StorageError.Damage(
            file: FileName.name(ofSegment: start.segment), offset: start.offset,
            reason: "the last commit is incomplete")
    }

    /// Reads one record of a base file and queues the commits that it completes.
    private mutating func readBase(
        _ file: LogContents.File
    ) throws(FormatError) -> LoggedCommit? {
        switch nextStep(of: file) {
        case .record(let record) where record.kind == .compacted:
            do throws(FormatError) {
                try group(try CompactedRecord(record, of: file.segments))
            } catch {
                throw error.shifted(by: record.position.offset)
            }
        case .record(let record):
            guard record.kind == .directory else {
                throw FormatError(
                    at: record.position.offset, "a base file holds a record of a log segment")
            }
        case .end(.footer(let footer)):
            if let open { ready.append(open) }
            open = nil
            sequence = CommitSequence(after: footer.lastCommit)
            records.removeAll(keepingCapacity: true)
            endFile()
        case .end(.unused(let offset)):
            throw FormatError(at: offset, "records of a base file are missing")
        case .end(.damage(let error)):
            throw error
        }
        return nil
    }

    private mutating func group(_ record: CompactedRecord) throws(FormatError) {
        var complete: [LoggedCommit] = []
        for index in 0..<record.count {
            let entry = record[index]
            let operation = LoggedOperation(
                position: entry.position, commit: entry.commit,
                operation: try record.operation(entry))
            if var commit = open, commit.id == entry.commit,
                case .compacted(let operations) = commit.source
            {
                // The array is moved out while it grows, which avoids copying it on each append.
                open = nil
                var grown = operations
                commit.source = .compacted([])
                grown.append(operation)
                commit.source = .compacted(grown)
                commit.operationCount += 1
                commit.byteCount += entry.length
                open = commit
                continue
            }
            if let open { complete.append(open) }
            open = LoggedCommit(
                id: entry.commit, time: nil, operationCount: 1, byteCount: entry.length,
                position: entry.position, source: .compacted([operation]))
        }
        ready = complete.reversed()
    }
}

extension LogContents.File {
    /// Whether the first record continues a commit of the previous segment.
    fileprivate var continuesCommit: Bool {
        guard header.kind == .log,
            bytes.count >= SegmentHeader.length + Record.headerLength
        else { return false }
        let kind = Record.Kind(rawValue: bytes[SegmentHeader.length + Record.Layout.kind])
        return kind == .middle || kind == .last
    }
}
