/// The files of a store directory, valid or damaged.
///
/// Unlike `LogContents`, which stops at the first error, this type collects all of them.
struct StoreDirectory {
    /// A log file as described by its name, which its header may contradict.
    struct File {
        let name: String
        let kind: SegmentHeader.Kind
        let segments: ClosedRange<UInt32>
        let mapping: FileMapping
        let header: Result<SegmentHeader, FormatError>

        var bytes: UnsafeRawBufferPointer { mapping.bytes }
    }

    /// The files sorted by segment, possibly with gaps.
    private(set) var files: [File] = []
    /// Files after the last begun segment that contain no commits.
    private(set) var unbegun: [File] = []
    /// Files that a base file has replaced.
    private(set) var superseded: [File] = []
    /// The checkpoints, the newest first.
    private(set) var checkpoints: [(commit: CommitID, name: String)] = []
    /// The marks of clean closes, which record the end of the log; the newest first.
    private(set) var closedMarks: [(commit: CommitID, name: String)] = []
    private(set) var temporaries: [String] = []
    private(set) var foreign: [String] = []
    /// The total length of the log files in bytes.
    private(set) var byteCount = 0
    /// Errors in file names and in reading files.
    private(set) var findings: [Finding] = []

    private typealias Cover = (segments: ClosedRange<UInt32>, name: String, isBase: Bool)

    /// Loads the files of `volume`; unreadable ones become findings.
    init(_ volume: any Volume) throws(StorageError) {
        let names = try translatingErrors { () throws(VolumeError) in try volume.names() }
        try Limits.check(fileCount: names.count)
        var covers: [Cover] = []
        for name in names.sorted() {
            switch FileName(name) {
            case .segment(let number): covers.append((number...number, name, false))
            case .base(let segments): covers.append((segments, name, true))
            case .checkpoint(let commit): checkpoints.append((commit, name))
            case .closedMark(let commit): closedMarks.append((commit, name))
            case .temporary:
                if isFile(name, in: volume) { temporaries.append(name) }
            case .lock, .synced, .siteMark: _ = isFile(name, in: volume)
            case .attachments: break
            case .foreign: foreign.append(name)
            }
        }
        checkpoints.sort { $0.commit > $1.commit }
        closedMarks.sort { $0.commit > $1.commit }
        try pointer(covers, in: volume)
        setUnbegunAside()
    }

    /// The position of the last removal that compaction dropped, according to readable footers.
    var removalsCompactedThrough: LogPosition {
        files.compactMap { file in
            guard file.kind == .base, case .success(let header) = file.header else { return nil }
            return SegmentFooter.last(in: file.bytes, store: header.store)?.removalsCompactedThrough
        }.max() ?? .none
    }

    /// The identity that most headers contain; the first one in case of a tie.
    var store: StoreID? {
        var counts: [(store: StoreID, count: Int)] = []
        for file in files + superseded {
            guard case .success(let header) = file.header else { continue }
            if let index = counts.firstIndex(where: { $0.store == header.store }) {
                counts[index].count += 1
            } else {
                counts.append((header.store, 1))
            }
        }
        let most = counts.map(\.count).max()
        return counts.first { $0.count == most }?.store
    }

    /// Whether `name` is a regular file; otherwise adds a finding, because it prevents opening.
    private mutating func isFile(_ name: String, in volume: any Volume) -> Bool {
        do throws(VolumeError) {
            try volume.open(name, .read).close()
        } catch {
            switch error.code {
            case .symbolicLink where FileName(name) == .synced:
                findings.append(
                    Finding(
                        .warning, name, at: 0,
                        "it is a symbolic link; the next opening for writing replaces it"))
            case .notARegularFile, .symbolicLink:
                findings.append(Finding(.damage, name, at: 0, "\(error)"))
            default: return true
            }
            return false
        }
        return true
    }

    /// Separates replaced files from the others and loads them.
    private mutating func pointer(
        _ covers: [Cover], in volume: any Volume
    ) throws(StorageError) {
        // Of two files with the same first segment, the one with more segments replaces the other.
        let sorted = covers.sorted { left, right in
            if left.segments.lowerBound != right.segments.lowerBound {
                return left.segments.lowerBound < right.segments.lowerBound
            }
            if left.segments.upperBound != right.segments.upperBound {
                return left.segments.upperBound > right.segments.upperBound
            }
            return left.isBase && !right.isBase
        }
        var last: Cover?
        for cover in sorted {
            guard let file = try load(cover, from: volume) else { continue }
            guard let leader = last, leader.segments.upperBound >= cover.segments.lowerBound else {
                files.append(file)
                last = cover
                continue
            }
            superseded.append(file)
            guard leader.segments.upperBound < cover.segments.upperBound else { continue }
            findings.append(
                Finding(
                    .damage, cover.name, at: 0,
                    "the file holds a part of the segments of \(leader.name)"))
        }
    }

    private mutating func load(
        _ cover: Cover, from volume: any Volume
    ) throws(StorageError) -> File? {
        let loaded: FileLoader.Loaded
        do throws(VolumeError) {
            loaded = try FileLoader.load(cover.name, from: volume)
        } catch {
            // The error concerns this process, so the file may be valid.
            guard !error.code.isAboutProcess else { throw StorageError(error) }
            findings.append(
                Finding(.damage, cover.name, at: 0, "the file cannot be read: \(error)"))
            return nil
        }
        for range in loaded.unreadable {
            findings.append(
                Finding(
                    .damage, cover.name, at: range.lowerBound,
                    "the disk cannot read bytes up to offset \(range.upperBound)"))
        }
        if loaded.size > loaded.mapping.count {
            findings.append(
                Finding(
                    .damage, cover.name, at: loaded.mapping.count,
                    "the file has \(loaded.size) bytes, more than a segment can have"))
        }
        byteCount += loaded.size
        let header: Result<SegmentHeader, FormatError>
        do throws(FormatError) {
            header = .success(try SegmentHeader(decoding: loaded.mapping.bytes))
        } catch {
            if error.isUnsupported { throw StorageError(error, file: cover.name) }
            header = .failure(error)
        }
        return File(
            name: cover.name, kind: cover.isBase ? .base : .log, segments: cover.segments,
            mapping: loaded.mapping, header: header)
    }

    /// Moves trailing files whose header never reached the disk to `unbegun`.
    private mutating func setUnbegunAside() {
        while let last = files.last, last.kind == .log, case .failure = last.header {
            // With a valid header, checksums would be verified, which is stronger evidence.
            let isProven = RecordScanner.provesSynced(
                last.bytes, segment: last.segments.lowerBound, store: nil, beyond: 0)
            guard !isProven else { return }
            unbegun.append(last)
            files.removeLast()
        }
    }
}
