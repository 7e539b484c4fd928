import SheafBytes

/// Checks everything that can be checked in a store's files, and does not stop at the first finding.
///
/// Nothing is written. What a crash may leave behind is a note, and a checkpoint that cannot be
/// used is a warning: the log makes it again.
package struct Verifier: ~Copyable {
    let volume: any Volume
    let directory: StoreDirectory
    let store: StoreID
    var replay = ReplayCheck()
    var result = Verification()
    /// The footer of the file before; none where it is not known.
    var before: SegmentFooter?
    /// The last commit that a base file says may be folded, and the file.
    var furthestFold: (commit: CommitID, file: String) = (0, "")
    /// The files of an opening; none before somebody had to look something up there.
    var segments: SegmentTable?
    /// Where the log was known to end; none where a file before has no right end.
    var end = LogPosition.none

    /// Verifies the store in `volume`; an error means that the store could not be looked at.
    package static func verify(_ volume: any Volume) throws(StorageError) -> Verification {
        let lock = try StoreEngine.acquire(.shared, of: volume)
        defer { lock.release() }
        return try verifyUnlocked(volume)
    }

    /// Verifies the files in `volume` for somebody who holds its lock.
    package static func verifyUnlocked(
        _ volume: any Volume
    ) throws(StorageError) -> Verification {
        var verifier = Verifier(volume: volume, directory: try StoreDirectory(volume))
        try verifier.run()
        return verifier.result
    }

    private init(volume: any Volume, directory: StoreDirectory) {
        self.volume = volume
        self.directory = directory
        // Without a single right header nothing is checked that needs to know the store.
        store = directory.store ?? StoreID(low: 0, high: 0)
    }

    private mutating func run() throws(StorageError) {
        result.store = directory.store
        result.byteCount = directory.byteCount
        for finding in directory.findings { result.damage(finding) }
        for (index, file) in directory.files.enumerated() {
            checkCover(file, after: index == 0 ? nil : directory.files[index - 1])
            check(file, isLast: index == directory.files.count - 1)
        }
        result.lastCommit = replay.lastCommit
        if furthestFold.commit > replay.lastCommit, !result.isDamaged {
            result.damage(
                furthestFold.file, at: SegmentHeader.Layout.foldedThrough,
                "commit \(furthestFold.commit) was folded, and the log ends with commit "
                    + "\(replay.lastCommit)")
        }
        noteOtherFiles()
        try checkCheckpoints()
        try checkOpening()
        if replay.isWhole { result.keyCount = replay.keyspace.count }
    }

    /// Checks that no segment is missing before `file`.
    private mutating func checkCover(_ file: StoreDirectory.File, after: StoreDirectory.File?) {
        let expected = UInt64(after?.segments.upperBound ?? 0) + 1
        let first = UInt64(file.segments.lowerBound)
        guard first > expected else { return }
        result.damage(
            FileName.name(ofSegment: UInt32(expected)), at: 0,
            first - expected == 1
                ? "the segment is missing"
                : "the segments \(expected) to \(first - 1) are missing")
        before = nil
        replay.interrupt()
    }

    private mutating func check(_ file: StoreDirectory.File, isLast: Bool) {
        if file.kind == .base { result.baseCount += 1 } else { result.segmentCount += 1 }
        let header = checkHeader(file)
        if header == nil {
            before = nil
            replay.interrupt()
            // A header that is right and not ours: nothing in the file belongs to this log.
            guard case .failure = file.header, directory.store != nil else { return }
        }
        switch file.kind {
        case .log: checkLog(file, header, isLast: isLast)
        case .base: checkBase(file, header)
        }
    }

    /// The header, if it is right and belongs here.
    private mutating func checkHeader(_ file: StoreDirectory.File) -> SegmentHeader? {
        let header: SegmentHeader
        switch file.header {
        case .success(let found):
            header = found
        case .failure(let error):
            result.damage(file.name, error)
            return nil
        }
        typealias Layout = SegmentHeader.Layout
        guard header.store == store else {
            result.damage(
                file.name, at: Layout.storeLow,
                "the file belongs to store \(header.store), not to \(store)")
            return nil
        }
        guard header.segments == file.segments, header.kind == file.kind else {
            result.damage(
                file.name, at: Layout.firstSegment,
                "the header is that of segments \(header.segments)")
            return nil
        }
        let startsLog = header.segments.lowerBound == 1
        if let link = startsLog ? 0 : before?.link, header.link != link {
            result.damage(
                file.name, at: Layout.link, "the segment does not follow the one before it")
            replay.interrupt()
        }
        if let last = startsLog ? 0 : before?.lastCommit, header.firstCommit != last &+ 1 {
            result.damage(
                file.name, at: Layout.firstCommit,
                "the first commit should be \(last &+ 1) and is \(header.firstCommit)")
        }
        if header.kind == .log, header.foldedThrough != 0 {
            result.damage(
                file.name, at: Layout.foldedThrough, "nothing can be folded in a log segment")
        }
        return header
    }

    private mutating func noteOtherFiles() {
        for file in directory.superseded {
            result.note(
                file.name, at: 0, "a base file has replaced it; the next opening removes it")
        }
        for file in directory.unbegun {
            result.note(
                file.name, at: 0,
                file.bytes.allSatisfy { $0 == 0 }
                    ? "the segment was prepared and not begun; the next opening removes it"
                    : "the segment was begun in vain; the next opening removes it")
        }
        for name in directory.temporaries {
            result.note(name, at: 0, "a file that was not completed; the next opening removes it")
        }
        for name in directory.foreign {
            result.note(name, at: 0, "the file is none of the store's")
        }
    }
}

extension Verification {
    mutating func damage(_ finding: Finding) {
        damage(finding.file, at: finding.offset, finding.reason)
    }
}
