/// Reads the commits of a log one after the other, and checks every record on the way.
package struct CommitReader {
    private let files: [LogContents.File]
    private let since: CommitID
    private var fileIndex: Int
    private var scanner: RecordScanner?
    private var sequence = CommitSequence(after: 0)
    private var startsSegment = true
    /// The records of a commit whose last one has not come yet.
    private var records: [Record] = []
    /// Folded commits that are complete, the next one last.
    private var ready: [LoggedCommit] = []
    /// The newest folded commit, which the next record may go on with.
    private var open: LoggedCommit?
    /// What a crash left behind the last commit; known when there are no more commits.
    package private(set) var tornTail: StorageError.Damage?

    init(_ files: [LogContents.File], since: CommitID) {
        self.files = files
        self.since = since
        // The last file is always read, for only its records tell whether its end is torn.
        fileIndex =
            files.firstIndex { ($0.footer?.lastCommit ?? .max) > since } ?? max(files.count, 1) - 1
        // A commit that began in a file before is read from its beginning.
        while fileIndex > 0, fileIndex < files.count, files[fileIndex].continuesCommit {
            fileIndex -= 1
        }
        guard fileIndex < files.count else { return }
        sequence = CommitSequence(after: max(files[fileIndex].header.firstCommit, 1) - 1)
    }

    /// The next commit; nothing at the end of the log, and an error where it is damaged.
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

    /// Judges how a log file ends: a seal, a tail that a crash left, or damage.
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
        case .damage(let error):
            let isProven = RecordScanner.provesSynced(
                file.bytes, segment: file.segments.lowerBound, store: file.header.store,
                beyond: scanner?.offset ?? 0)
            // A record whose checksum is right did not tear: a newer program wrote it.
            guard isLast, !isProven, !error.isUnsupported else { throw error }
            tornTail = StorageError.Damage(
                file: file.name, offset: error.offset, reason: error.reason)
        }
        guard isLast, tornTail == nil, let start = sequence.openStart else { return }
        tornTail = StorageError.Damage(
            file: FileName.name(ofSegment: start.segment), offset: start.offset,
            reason: "the last commit is incomplete")
    }

    /// Reads one record of a base file and makes ready the commits that it completes.
    private mutating func readBase(
        _ file: LogContents.File
    ) throws(FormatError) -> LoggedCommit? {
        switch nextStep(of: file) {
        case .record(let record) where record.kind == .folded:
            do throws(FormatError) {
                try group(try FoldedRecord(record, of: file.segments))
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

    private mutating func group(_ record: FoldedRecord) throws(FormatError) {
        var complete: [LoggedCommit] = []
        for index in 0..<record.count {
            let entry = record[index]
            let operation = LoggedOperation(
                position: entry.position, commit: entry.commit,
                operation: try record.operation(entry))
            if var commit = open, commit.id == entry.commit,
                case .folded(let operations) = commit.source
            {
                // Taken out while it grows, so that no append copies what is there.
                open = nil
                var grown = operations
                commit.source = .folded([])
                grown.append(operation)
                commit.source = .folded(grown)
                commit.operationCount += 1
                commit.byteCount += entry.length
                open = commit
                continue
            }
            if let open { complete.append(open) }
            open = LoggedCommit(
                id: entry.commit, time: nil, operationCount: 1, byteCount: entry.length,
                position: entry.position, source: .folded([operation]))
        }
        ready = complete.reversed()
    }
}

extension LogContents.File {
    /// Whether the first record goes on with a commit of the segment before.
    fileprivate var continuesCommit: Bool {
        guard header.kind == .log,
            bytes.count >= SegmentHeader.length + Record.headerLength
        else { return false }
        let kind = Record.Kind(rawValue: bytes[SegmentHeader.length + Record.Layout.kind])
        return kind == .middle || kind == .last
    }
}
