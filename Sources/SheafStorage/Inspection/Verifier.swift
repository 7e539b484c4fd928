import SheafBytes

/// A complete check of a store's files that continues after errors and writes nothing.
///
/// Remains of a crash are notes. An unusable checkpoint is a warning, because the log can recreate
/// it.
package struct Verifier: ~Copyable {
    let volume: any Volume
    let directory: StoreDirectory
    let store: StoreID
    var replay = ReplayCheck()
    var result = Verification()
    /// The footer of the previous file; nil if it is unknown.
    var before: SegmentFooter?
    /// The greatest `compactedThrough` of a base file, and the name of the file.
    var latestCompaction: (commit: CommitID, file: String) = (0, "")
    /// The files as opened for reading; loaded on demand.
    var segments: SegmentTable?
    /// The end of the last complete commit so far.
    var end = LogPosition.none

    /// Verifies the store in `volume`, which may be in use; throws if it cannot be read at all.
    package static func verify(_ volume: any Volume) throws(StorageError) -> Verification {
        try verifyFiles(of: try DirectorySnapshot.capture(volume, holdingFiles: true))
    }

    /// Verifies the files in `volume`, which no one changes meanwhile.
    package static func verifyFiles(
        of volume: any Volume
    ) throws(StorageError) -> Verification {
        var verifier = Verifier(volume: volume, directory: try StoreDirectory(volume))
        try verifier.run()
        return verifier.result
    }

    private init(volume: any Volume, directory: StoreDirectory) {
        self.volume = volume
        self.directory = directory
        // Without a valid header, checks that depend on the store identifier are skipped.
        store = directory.store ?? StoreID(low: 0, high: 0)
    }

    private mutating func run() throws(StorageError) {
        result.store = directory.store
        result.byteCount = directory.byteCount
        for finding in directory.findings { result.add(finding) }
        for (index, file) in directory.files.enumerated() {
            checkCover(file, after: index == 0 ? nil : directory.files[index - 1])
            check(file, isLast: index == directory.files.count - 1)
        }
        result.lastCommit = replay.lastCommit
        if latestCompaction.commit > replay.lastCommit, !result.isDamaged {
            result.damage(
                latestCompaction.file, at: SegmentHeader.Layout.compactedThrough,
                "commit \(latestCompaction.commit) was compacted, but the log ends with commit "
                    + "\(replay.lastCommit)")
        }
        addOtherFileNotes()
        try checkCheckpoints()
        try checkOpening()
        if replay.isComplete { result.keyCount = replay.keyspace.count }
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
            // A valid header shows that the records belong to another store or to other segments.
            // Without a store identifier, records cannot be verified.
            guard case .failure = file.header, directory.store != nil else { return }
        }
        switch file.kind {
        case .log: checkLog(file, header, isLast: isLast)
        case .base: checkBase(file, header)
        }
    }

    /// Returns the header of a file if it is valid and matches the store and the file name.
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
        if let chainHash = startsLog ? 0 : before?.chainHash, header.chainHash != chainHash {
            result.damage(
                file.name, at: Layout.chainHash, "the segment does not follow its predecessor")
            replay.interrupt()
        }
        if let last = startsLog ? 0 : before?.lastCommit, header.firstCommit != last &+ 1 {
            result.damage(
                file.name, at: Layout.firstCommit,
                "the first commit is \(header.firstCommit) instead of \(last &+ 1)")
        }
        if header.kind == .log, header.compactedThrough != 0 {
            result.damage(
                file.name, at: Layout.compactedThrough, "a log segment has no compacted commits")
        }
        return header
    }

    private mutating func addOtherFileNotes() {
        for file in directory.superseded {
            result.addNote(
                file.name, at: 0, "a base file has replaced it; the next opening removes it")
        }
        for file in directory.unbegun {
            result.addNote(
                file.name, at: 0,
                file.bytes.allSatisfy { $0 == 0 }
                    ? "the segment was prepared but not begun; the next opening removes it"
                    : "the segment was begun but holds no commit; the next opening removes it")
        }
        for name in directory.temporaries {
            result.addNote(name, at: 0, "the file was not completed; the next opening removes it")
        }
        for name in directory.foreign {
            result.addNote(name, at: 0, "the file does not belong to the store")
        }
    }
}
