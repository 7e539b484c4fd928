/// The files of a store's directory as they are, be they right or wrong.
///
/// An opening stops at the first thing that is wrong (`LogContents`); this goes on, and says what.
struct StoreDirectory {
    /// A file of the log, by its name; its header may say something else.
    struct File {
        let name: String
        let kind: SegmentHeader.Kind
        let segments: ClosedRange<UInt32>
        let mapping: FileMapping
        let header: Result<SegmentHeader, FormatError>

        var bytes: UnsafeRawBufferPointer { mapping.bytes }
    }

    /// In the order of their segments; there may be gaps.
    private(set) var files: [File] = []
    /// Files behind the last begun segment that hold nothing.
    private(set) var unbegun: [File] = []
    /// Files that a base file has replaced.
    private(set) var superseded: [File] = []
    /// The newest first.
    private(set) var checkpoints: [(commit: CommitID, name: String)] = []
    /// What closing left to say how far the log goes; the newest first.
    private(set) var closedMarks: [(commit: CommitID, name: String)] = []
    private(set) var temporaries: [String] = []
    private(set) var foreign: [String] = []
    /// The bytes of the log's files.
    private(set) var byteCount = 0
    /// What is wrong with names and with the reading of files.
    private(set) var findings: [Finding] = []

    private typealias Cover = (segments: ClosedRange<UInt32>, name: String, isBase: Bool)

    /// Loads the files of `volume`.
    init(_ volume: any Volume) throws(StorageError) {
        let names = try translatingErrors { () throws(VolumeError) in try volume.names() }
        guard names.count <= Limits.maximumFiles else {
            throw .limit(name: "maximumFiles", value: names.count, limit: Limits.maximumFiles)
        }
        var covers: [Cover] = []
        for name in names.sorted() {
            switch FileName(name) {
            case .segment(let number): covers.append((number...number, name, false))
            case .base(let segments): covers.append((segments, name, true))
            case .checkpoint(let commit): checkpoints.append((commit, name))
            case .closedMark(let commit): closedMarks.append((commit, name))
            case .temporary:
                if isFile(name, in: volume) { temporaries.append(name) }
            case .lock, .siteMark: _ = isFile(name, in: volume)
            case .attachments: break
            case .foreign: foreign.append(name)
            }
        }
        checkpoints.sort { $0.commit > $1.commit }
        closedMarks.sort { $0.commit > $1.commit }
        try place(covers, in: volume)
        setUnbegunAside()
    }

    /// The last removal that compaction has forgotten, as far as footers can be read.
    var removalsFoldedThrough: LogPosition {
        files.compactMap { file in
            guard file.kind == .base, case .success(let header) = file.header else { return nil }
            return SegmentFooter.last(in: file.bytes, store: header.store)?.removalsFoldedThrough
        }.max() ?? .none
    }

    /// The identity that most headers name, the first of them where they are even.
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

    /// Whether a file that is never read is one; if not, a finding, for it stops every opening.
    private mutating func isFile(_ name: String, in volume: any Volume) -> Bool {
        do throws(VolumeError) {
            try volume.open(name, .read).close()
        } catch {
            guard error.code == .notARegularFile else { return true }
            findings.append(Finding(.damage, name, at: 0, "\(error)"))
            return false
        }
        return true
    }

    /// Sorts out what replaces what, and loads the rest.
    private mutating func place(
        _ covers: [Cover], in volume: any Volume
    ) throws(StorageError) {
        // Of two files with the same first segment the larger one has replaced the other.
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
            // That somebody else may read the file says that it may be right.
            guard !error.code.isAboutProcess else { throw StorageError(error) }
            findings.append(
                Finding(.damage, cover.name, at: 0, "the file cannot be read: \(error)"))
            return nil
        }
        for range in loaded.unreadable {
            findings.append(
                Finding(
                    .damage, cover.name, at: range.lowerBound,
                    "the disk refuses the bytes up to offset \(range.upperBound)"))
        }
        if loaded.size > loaded.mapping.count {
            findings.append(
                Finding(
                    .damage, cover.name, at: loaded.mapping.count,
                    "no segment is as long as this file, which has \(loaded.size) bytes"))
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

    /// Files at the end whose header never reached the disk were never begun.
    private mutating func setUnbegunAside() {
        while let last = files.last, last.kind == .log, case .failure = last.header {
            // The header would tell the store, whose checksums are the better proof.
            let isProven = RecordScanner.provesSynced(
                last.bytes, segment: last.segments.lowerBound, store: nil, beyond: 0)
            guard !isProven else { return }
            unbegun.append(last)
            files.removeLast()
        }
    }
}
