import SheafBytes

/// A replay of records into commits and keys that reports all inconsistencies.
struct ReplayCheck: ~Copyable {
    private struct OpenCommit {
        let commit: CommitID
        let time: UInt64
        var records: [Record]
    }

    /// The keys of the store, as far as the log was intact.
    private(set) var keyspace = Keyspace()
    private(set) var lastCommit: CommitID = 0
    private(set) var lastCommitAt: UInt64 = 0
    /// Whether nothing is missing so far, so that record pointers can be compared.
    private(set) var isComplete = true
    /// The base files read so far, for determining which operations were compacted away.
    private var bases: [Segment] = []
    private var open: OpenCommit?
    /// Whether bytes are missing since the last valid record.
    private var isInterrupted = false
    private var lastCompacted = LogPosition.none

    /// The position of the first record of an incomplete commit.
    var openStart: LogPosition? { open?.records.first?.position }

    /// Records that bytes are missing before the next record.
    mutating func interrupt() {
        open = nil
        isInterrupted = true
        isComplete = false
    }

    /// Discards an incomplete commit at the end of the log.
    mutating func abandonOpenCommit() {
        open = nil
    }

    /// Checks and applies the next record of a log segment.
    mutating func check(
        _ record: Record, startsSegment: Bool, in file: String, _ result: inout Verification
    ) {
        let start = record.position.offset
        guard record.kind != .compacted, record.kind != .directory else {
            result.damage(
                file, at: start + Record.Layout.kind,
                "a log segment holds a record of a base file")
            return interrupt()
        }
        if record.kind.beginsCommit {
            begin(record, startsSegment: startsSegment, in: file, &result)
        }
        guard var current = open, record.commit == current.commit,
            Int(record.part) == current.records.count, record.time == current.time
        else {
            if !isInterrupted {
                result.damage(
                    file, at: start + Record.Layout.part,
                    "the records of commit \(record.commit) are not in order")
            }
            return interrupt()
        }
        guard isReadable(record, in: file, &result) else { return interrupt() }
        current.records.append(record)
        open = current
        guard record.kind.endsCommit else { return }
        complete(current, in: file, &result)
    }

    /// Checks and applies the next record of a base file, whose entries are known to be in order.
    mutating func check(
        compacted record: CompactedRecord, at start: Int, file: StoreDirectory.File,
        commits: ClosedRange<CommitID>, _ result: inout Verification
    ) {
        for index in 0..<record.count {
            let entry = record[index]
            let offset = start + entry.offset
            guard entry.position > lastCompacted else {
                result.damage(
                    file.name,
                    at: start + Record.headerLength + index * CompactedRecord.entryLength,
                    "the entry for \(entry.position) is out of order")
                return interrupt()
            }
            guard commits.contains(entry.commit) else {
                result.damage(
                    file.name, at: offset,
                    "the operation's commit \(entry.commit) is not in \(commits)")
                return interrupt()
            }
            lastCompacted = entry.position
            guard let operation = try? record.operation(entry) else { continue }
            apply(operation, at: entry.position, offset: offset, in: file.name, &result)
        }
    }

    /// Begins a base file; nil if it cannot be opened.
    mutating func begin(_ base: Segment?) {
        if let base { bases.append(base) } else { isComplete = false }
    }

    /// Continues after a base file.
    mutating func finishBase(_ footer: SegmentFooter) {
        lastCommit = footer.lastCommit
        lastCommitAt = footer.lastCommitAt
        open = nil
        isInterrupted = false
    }

    /// Whether compaction has dropped the operation at `position`.
    func isCompactedAway(_ position: LogPosition) -> Bool {
        var low = 0
        var high = bases.count
        while low < high {
            let middle = (low + high) / 2
            if bases[middle].header.segments.upperBound < position.segment {
                low = middle + 1
            } else {
                high = middle
            }
        }
        guard low < bases.count, bases[low].header.segments.contains(position.segment) else {
            return false
        }
        // Damage of the base file was already reported.
        let found = try? bases[low].operation(at: position)
        return found == nil
    }

    private mutating func begin(
        _ record: Record, startsSegment: Bool, in file: String, _ result: inout Verification
    ) {
        let start = record.position.offset
        if let open, !startsSegment {
            result.damage(
                file, at: start + Record.Layout.kind,
                "commit \(record.commit) begins before commit \(open.commit) has ended")
            isComplete = false
        }
        let expected = lastCommit &+ 1
        if record.commit != expected {
            isComplete = false
            if isInterrupted, record.commit > expected {
                let lost = record.commit - expected
                result.damage(
                    file, at: start,
                    lost == 1
                        ? "commit \(expected) is lost before this record"
                        : "commits \(expected) to \(record.commit - 1) are lost before this record")
            } else {
                result.damage(
                    file, at: start + Record.Layout.commit,
                    "commit \(record.commit) follows commit \(lastCommit)")
            }
        }
        if record.time < lastCommitAt {
            result.damage(
                file, at: start + Record.Layout.time,
                "commit \(record.commit) is older than the commit before it")
        }
        isInterrupted = false
        open = OpenCommit(commit: record.commit, time: record.time, records: [])
    }

    /// Whether the operations of a record match its header.
    private func isReadable(
        _ record: Record, in file: String, _ result: inout Verification
    ) -> Bool {
        var operations = OperationSequence(record)
        do throws(FormatError) {
            while try operations.next() != nil {}
            return true
        } catch {
            result.damage(file, error, shiftedBy: record.position.offset)
            return false
        }
    }

    private mutating func complete(
        _ commit: OpenCommit, in file: String, _ result: inout Verification
    ) {
        lastCommit = commit.commit
        lastCommitAt = commit.time
        open = nil
        result.commitCount += 1
        for record in commit.records {
            let name =
                record.position.segment == commit.records.last?.position.segment
                ? file : FileName.name(ofSegment: record.position.segment)
            var operations = OperationSequence(record)
            while let (offset, operation) = try? operations.next() {
                let start = record.position.offset + offset
                apply(
                    operation, at: LogPosition(segment: record.position.segment, offset: start),
                    offset: start, in: name, &result)
            }
        }
    }

    /// Applies an operation to the tree and checks its previous position.
    private mutating func apply(
        _ operation: Operation, at position: LogPosition, offset: Int, in file: String,
        _ result: inout Verification
    ) {
        result.operationCount += 1
        // After damage, the tree lacks keys that the log contained.
        guard isComplete else { return }
        let pointer = RecordPointer(
            position: position, length: operation.length, isDelta: operation.kind == .delta)
        let hadPayload = operation.kind != .delta || keyspace.tree.find(operation.key) != nil
        let before =
            switch operation.kind {
            case .put: keyspace.put(operation.key, at: pointer)
            case .remove: keyspace.remove(operation.key, at: pointer)
            case .delta: keyspace.appendDelta(operation.key, at: pointer)
            }
        // The base of a delta may be compacted away if a newer operation follows.
        if !hadPayload, operation.previous == before {
            result.damage(
                file, at: offset + Operation.Layout.previous,
                "the operation is a delta of a key that has no payload")
            return
        }
        let isRight =
            operation.previous == before
            || operation.previous > before && operation.previous < position
                && isCompactedAway(operation.previous)
        guard !isRight else { return }
        let expected = before == .none ? "none" : "\(before)"
        result.damage(
            file, at: offset + Operation.Layout.previous,
            "the operation's previous position is \(operation.previous), not \(expected)")
    }
}
