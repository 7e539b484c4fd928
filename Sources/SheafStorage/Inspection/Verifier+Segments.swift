import SheafBytes

extension Verifier {
    /// Checks the records and the end of a log file.
    mutating func checkLog(_ file: StoreDirectory.File, _ header: SegmentHeader?, isLast: Bool) {
        let number = file.segments.lowerBound
        var sweep = SegmentSweep(
            file: file.bytes, segment: number, store: store, chain: header?.checksum)
        var recordCount: UInt64 = 0
        var isIntact = header != nil
        var startsSegment = true
        end = LogPosition(segment: number, offset: sweep.offset)
        while true {
            switch sweep.next() {
            case .record(let record, let chainBreak):
                if let chainBreak {
                    if isLast, isTorn(file, at: record.position.offset) {
                        return addTailFinding(file, chainBreak)
                    }
                    result.damage(file.name, chainBreak)
                    replay.interrupt()
                    isIntact = false
                }
                recordCount += 1
                result.recordCount += 1
                replay.check(record, startsSegment: startsSegment, in: file.name, &result)
                startsSegment = false
                if replay.openStart == nil { end = record.end }
            case .gap(let range, let error):
                if isLast, !error.isUnsupported, isTorn(file, at: range.lowerBound) {
                    return addTailFinding(file, error)
                }
                damageGap(file, range, error)
                isIntact = false
            case .footer(let footer):
                if isIntact { checkFooter(footer, of: file, recordCount: recordCount) }
                checkEnd(file, footer, isLast: isLast)
                before = footer
                end = LogPosition(segment: number, offset: footer.contentLength)
                if isLast { addOpenCommitNote(file) }
                return
            case .unused(let offset):
                before = nil
                if !isLast {
                    result.damage(
                        file.name, at: offset, "the footer of a sealed segment is missing")
                    replay.interrupt()
                } else {
                    recordOpenSegment(file, at: offset)
                }
                return
            }
        }
    }

    /// Checks the records, the directory and the footer of a base file.
    mutating func checkBase(_ file: StoreDirectory.File, _ header: SegmentHeader?) {
        let number = file.segments.lowerBound
        var sweep = SegmentSweep(
            file: file.bytes, segment: number, store: store, chain: header?.checksum)
        let expected = SegmentFooter.last(in: file.bytes, store: store)
        let first = header?.firstCommit ?? 1
        let commits = first...max(first, expected?.lastCommit ?? .max)
        var found = FoundCompactedRecords(isIntact: header != nil)
        replay.begin(
            header.flatMap { header in
                expected.flatMap { footer in
                    try? Segment(
                        name: file.name, header: header, footer: footer, mapping: file.mapping)
                }
            })
        while true {
            switch sweep.next() {
            case .record(let record, let chainBreak):
                if let chainBreak {
                    result.damage(file.name, chainBreak)
                    replay.interrupt()
                    found.isIntact = false
                }
                found.recordCount += 1
                result.recordCount += 1
                check(record, of: file, commits: commits, &found)
            case .gap(let range, let error):
                damageGap(file, range, error)
                found.isIntact = false
            case .footer(let footer):
                finishBase(file, header, footer, found)
                return
            case .unused(let offset):
                result.damage(file.name, at: offset, "the footer of a base file is missing")
                replay.interrupt()
                before = nil
                return
            }
        }
    }

    /// The results of the scan of a base file.
    private struct FoundCompactedRecords {
        var isIntact: Bool
        var recordCount: UInt64 = 0
        var compactedRecords: [(first: LogPosition, offset: Int, count: Int)] = []
        var directoryOffset = 0
    }

    private mutating func check(
        _ record: Record, of file: StoreDirectory.File, commits: ClosedRange<CommitID>,
        _ found: inout FoundCompactedRecords
    ) {
        let start = record.position.offset
        do throws(FormatError) {
            switch record.kind {
            case .compacted:
                guard found.directoryOffset == 0 else {
                    throw FormatError(at: 0, "a record follows the directory")
                }
                let compacted = try CompactedRecord(record, of: file.segments)
                found.compactedRecords.append((compacted[0].position, start, compacted.count))
                replay.check(
                    compacted: compacted, at: start, file: file, commits: commits, &result)
                guard compacted[compacted.count - 1].commit == record.commit else {
                    throw FormatError(
                        at: Record.Layout.commit, "the record's commit is not its last operation's")
                }
            case .directory:
                found.directoryOffset = start
                let directory = try CompactedDirectory(record, limit: start)
                guard !found.isIntact || directory.lists(found.compactedRecords) else {
                    throw FormatError(
                        at: Record.headerLength, "the directory does not match the records")
                }
            case .complete, .first, .middle, .last:
                throw FormatError(
                    at: Record.Layout.kind, "a base file holds a record of a log segment")
            }
        } catch {
            result.damage(file.name, error, shiftedBy: start)
            found.isIntact = false
            replay.interrupt()
        }
    }

    private mutating func finishBase(
        _ file: StoreDirectory.File, _ header: SegmentHeader?, _ footer: SegmentFooter,
        _ found: FoundCompactedRecords
    ) {
        if found.isIntact {
            checkFooter(footer, of: file, recordCount: found.recordCount)
            if footer.directoryOffset != found.directoryOffset {
                result.damage(
                    file.name, at: footer.contentLength + SegmentFooter.Layout.directoryOffset,
                    "the directory is at \(found.directoryOffset), not at the footer's offset")
            }
        }
        checkEnd(file, footer, isLast: false)
        if let header { checkHorizon(header, footer, of: file) }
        replay.finishBase(footer)
        before = footer
        end = LogPosition(segment: file.segments.upperBound, offset: Int(UInt32.max))
    }

    /// Compares a footer with the contents of its file.
    private mutating func checkFooter(
        _ footer: SegmentFooter, of file: StoreDirectory.File, recordCount: UInt64
    ) {
        typealias Layout = SegmentFooter.Layout
        let start = footer.contentLength
        func differ(_ offset: Int, _ reason: String) {
            result.damage(file.name, at: start + offset, reason)
        }
        let hash = XXH3.hash64(file.bytes.slice(0..<start))
        if footer.hash != hash { differ(Layout.hash, "the hash of the file does not match") }
        if footer.recordCount != recordCount {
            differ(
                Layout.recordCount,
                "the footer counts \(footer.recordCount) records, but the file has \(recordCount)")
        }
        checkRemovals(footer, of: file)
        guard file.kind == .log else { return }
        if footer.chainHash != hash {
            differ(Layout.chainHash, "the chain hash is not the file's hash")
        }
        if footer.directoryOffset != 0 {
            differ(Layout.directoryOffset, "a log segment has no directory")
        }
        if footer.synced > LogPosition(segment: file.segments.lowerBound, offset: start) {
            differ(Layout.synced, "the synced position is past the footer")
        }
        guard replay.isComplete else { return }
        if footer.lastCommit != replay.lastCommit {
            differ(
                Layout.lastCommit,
                "the footer's last commit is \(footer.lastCommit), not \(replay.lastCommit)")
        }
        if footer.lastCommitAt != replay.lastCommitAt {
            differ(Layout.lastCommitAt, "the footer's time is not that of its last commit")
        }
    }

    /// Checks that a base file declares all of its commits as possibly compacted.
    private mutating func checkHorizon(
        _ header: SegmentHeader, _ footer: SegmentFooter, of file: StoreDirectory.File
    ) {
        if header.compactedThrough < footer.lastCommit {
            result.damage(
                file.name, at: SegmentHeader.Layout.compactedThrough,
                "the header's last compacted commit is \(header.compactedThrough), but the file "
                    + "contains commit \(footer.lastCommit)")
        }
        if header.compactedThrough > latestCompaction.commit {
            latestCompaction = (header.compactedThrough, file.name)
        }
    }

    private mutating func checkRemovals(_ footer: SegmentFooter, of file: StoreDirectory.File) {
        let limit =
            file.kind == .log
            ? LogPosition.none
            : LogPosition(segment: file.segments.upperBound, offset: Int(UInt32.max))
        guard footer.removalsCompactedThrough > limit else { return }
        result.damage(
            file.name, at: footer.contentLength + SegmentFooter.Layout.removals,
            "the last compacted removal \(footer.removalsCompactedThrough) is outside the file")
    }

    /// Checks that only zeros follow a footer.
    private mutating func checkEnd(
        _ file: StoreDirectory.File, _ footer: SegmentFooter, isLast: Bool
    ) {
        let end = footer.contentLength + SegmentFooter.length
        guard let offset = file.bytes[end...].firstIndex(where: { $0 != 0 }) else { return }
        if isLast {
            // A crash after writing the footer and before truncating the file leaves a torn tail
            // there.
            result.addNote(
                file.name, at: offset, "bytes after the footer; the next opening truncates them")
        } else {
            result.damage(file.name, at: offset, "a byte after the footer is not zero")
        }
    }

    private mutating func damageGap(
        _ file: StoreDirectory.File, _ range: Range<Int>, _ error: FormatError
    ) {
        result.damage(
            file.name, at: error.offset,
            "\(error.reason) (\(range.count) bytes up to offset \(range.upperBound) "
                + "are not a record)")
        replay.interrupt()
    }

    /// Whether the invalid bytes at `offset` of the last file may be a torn tail.
    private func isTorn(_ file: StoreDirectory.File, at offset: Int) -> Bool {
        !RecordScanner.provesSynced(
            file.bytes, segment: file.segments.lowerBound, store: store, beyond: offset)
    }

    private mutating func addTailFinding(_ file: StoreDirectory.File, _ error: FormatError) {
        result.addNote(
            file.name, at: error.offset,
            "a torn tail" + opening(", which the next opening cuts") + ": \(error.reason)")
        before = nil
        replay.abandonOpenCommit()
    }

    /// Records that the log ends in an unsealed segment.
    private mutating func recordOpenSegment(_ file: StoreDirectory.File, at offset: Int) {
        result.addNote(
            file.name, at: offset,
            "the store was not closed" + opening("; the next opening seals the segment"))
        addOpenCommitNote(file)
    }

    private mutating func addOpenCommitNote(_ file: StoreDirectory.File) {
        guard let start = replay.openStart else { return }
        result.addNote(
            FileName.name(ofSegment: start.segment), at: start.offset,
            "the last commit is incomplete" + opening("; the next opening drops it"))
        replay.abandonOpenCommit()
    }

    /// Returns the text of a repair; empty if there is damage, which the next opening refuses.
    private func opening(_ repair: String) -> String { result.isDamaged ? "" : repair }
}

extension CompactedDirectory {
    /// Whether the directory lists exactly these compacted records.
    fileprivate func lists(_ compactedRecords: [(first: LogPosition, offset: Int, count: Int)])
        -> Bool
    {
        guard count == compactedRecords.count else { return false }
        return compactedRecords.indices.allSatisfy { index in
            firstPosition(index) == compactedRecords[index].first
                && recordOffset(index) == compactedRecords[index].offset
                && entryCount(index) == compactedRecords[index].count
        }
    }
}
