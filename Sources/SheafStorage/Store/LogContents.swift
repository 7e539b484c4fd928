import SheafBytes

/// The log files of a store directory, mapped and sorted; only headers and footers are verified.
struct LogContents {
    /// A log file.
    struct File {
        let name: String
        let header: SegmentHeader
        /// The footer; nil if the file, which is then the last one, is unsealed.
        ///
        /// A scan verifies the footer of the last file.
        let footer: SegmentFooter?
        let mapping: FileMapping

        var segments: ClosedRange<UInt32> { header.segments }
        var bytes: UnsafeRawBufferPointer { mapping.bytes }
    }

    /// The files sorted by segment, without gaps.
    private(set) var files: [File] = []
    /// Files after the last begun segment: prepared ones, and ones whose header was never synced.
    private(set) var unbegun: [String] = []
    /// Files that a base file has replaced.
    private(set) var superseded: [String] = []
    private(set) var temporaries: [String] = []
    /// The checkpoints, the newest first.
    private(set) var checkpoints: [(commit: CommitID, name: String)] = []
    /// The marks of clean closes, which record the end of the log; the newest first.
    private(set) var closedMarks: [(commit: CommitID, name: String)] = []
    private(set) var foreign: [String] = []
    /// The newest commit that is known to have been durable.
    private var durable: DurableCommit?

    /// Maps the log files of `volume` and verifies their headers and footers.
    init(_ volume: any Volume) throws(StorageError) {
        var covers: [(segments: ClosedRange<UInt32>, name: String, isBase: Bool)] = []
        let names = try translatingErrors { () throws(VolumeError) in try volume.names() }
        try Limits.check(fileCount: names.count)
        for name in names {
            switch FileName(name) {
            case .segment(let number): covers.append((number...number, name, false))
            case .base(let segments): covers.append((segments, name, true))
            case .checkpoint(let commit): checkpoints.append((commit, name))
            case .closedMark(let commit): closedMarks.append((commit, name))
            case .temporary: temporaries.append(name)
            case .lock, .synced, .siteMark, .attachments: break
            case .foreign: foreign.append(name)
            }
        }
        checkpoints.sort { $0.commit > $1.commit }
        closedMarks.sort { $0.commit > $1.commit }
        // Of two files with the same first segment, the one with more segments replaces the other.
        covers.sort { left, right in
            if left.segments.lowerBound != right.segments.lowerBound {
                return left.segments.lowerBound < right.segments.lowerBound
            }
            if left.segments.upperBound != right.segments.upperBound {
                return left.segments.upperBound > right.segments.upperBound
            }
            return left.isBase && !right.isBase
        }
        var kept: [(segments: ClosedRange<UInt32>, name: String, isBase: Bool)] = []
        for cover in covers {
            guard let last = kept.last, last.segments.upperBound >= cover.segments.lowerBound else {
                kept.append(cover)
                continue
            }
            guard last.segments.upperBound >= cover.segments.upperBound else {
                throw .damaged(
                    cover.name, at: 0, "the file holds a part of the segments of \(last.name)")
            }
            superseded.append(cover.name)
        }
        try open(kept, in: volume)
        durable = DurableCommit.newest(
            namedBy: checkpoints + closedMarks, in: volume, store: store)
    }

    /// The identity of the store; nil if there was no commit yet.
    var store: StoreID? { files.first?.header.store }

    /// The position before which checkpoints are unusable, because removals up to it were dropped.
    var removalsCompactedThrough: LogPosition {
        files.compactMap(\.footer).map(\.removalsCompactedThrough).max() ?? .none
    }

    /// Throws if the log ends before a commit that is known to have been durable.
    func checkEnd(_ end: LogEnd) throws(StorageError) {
        guard let durable, durable.commit > end.commit else { return }
        let reason =
            "the log ends with commit \(end.commit), "
            + "but \(durable.file) names commit \(durable.commit)"
        guard let file = files.last else {
            throw .damaged(FileName.name(ofSegment: 1), at: 0, reason)
        }
        if let torn = end.torn {
            throw .damaged(file.name, at: torn.offset, "\(torn.reason): \(reason)")
        }
        // The missing commits were in the next segment, even if that file appears unused.
        let next = FileName.name(ofSegment: file.segments.upperBound &+ 1)
        if unbegun.contains(next) { throw .damaged(next, at: 0, reason) }
        let offset = file.footer?.contentLength ?? end.position.offset
        throw .damaged(file.name, at: offset, reason)
    }

    /// Returns the same files after the last one has grown up to a mark.
    ///
    /// Returns nil if the mark is in another file.
    func growing(_ mapping: FileMapping, to mark: SyncedMark) -> LogContents? {
        guard let last = files.last, last.segments.upperBound == mark.position.segment,
            last.header.kind == .log, last.footer == nil
        else { return nil }
        var grown = self
        grown.files[files.count - 1] = File(
            name: last.name, header: last.header, footer: nil,
            mapping: mapping.prefix(mark.position.offset))
        grown.durable = DurableCommit(commit: mark.commit, file: FileName.syncedName)
        return grown
    }

    private mutating func open(
        _ covers: [(segments: ClosedRange<UInt32>, name: String, isBase: Bool)],
        in volume: any Volume
    ) throws(StorageError) {
        var candidates = covers[...]
        var mappings: [String: FileMapping] = [:]
        // Files after the last begun segment may be prepared but unused.
        while let last = candidates.last, !last.isBase {
            let mapping = try Self.map(last.name, in: volume)
            guard
                try !Self.isBegun(
                    mapping, number: last.segments.lowerBound, name: last.name,
                    store: candidates.count > 1 ? try storeOfFirst(covers, in: volume) : nil)
            else {
                mappings[last.name] = mapping
                break
            }
            unbegun.append(last.name)
            candidates.removeLast()
        }
        for cover in candidates {
            let mapping =
                if let known = mappings[cover.name] {
                    known
                } else {
                    try Self.map(cover.name, in: volume)
                }
            let expected = (files.last?.segments.upperBound ?? 0) &+ 1
            guard cover.segments.lowerBound == expected else {
                throw .damaged(
                    FileName.name(ofSegment: expected), at: 0,
                    "the segment is missing: the next file is \(cover.name)")
            }
            let isLast = cover.segments == candidates.last?.segments
            try append(
                name: cover.name, segments: cover.segments,
                kind: cover.isBase ? .base : .log, mapping: mapping, isLast: isLast)
        }
    }

    private mutating func append(
        name: String, segments: ClosedRange<UInt32>, kind: SegmentHeader.Kind,
        mapping: FileMapping, isLast: Bool
    ) throws(StorageError) {
        let header: SegmentHeader
        do throws(FormatError) {
            header = try SegmentHeader(decoding: mapping.bytes)
        } catch {
            throw StorageError(error, file: name)
        }
        guard header.segments == segments, header.kind == kind else {
            throw .damaged(
                name, at: SegmentHeader.Layout.firstSegment,
                "the header is that of segments \(header.segments)")
        }
        if let store, header.store != store {
            throw .damaged(
                name, at: SegmentHeader.Layout.storeLow,
                "the file belongs to store \(header.store), not to \(store)")
        }
        let footer = SegmentFooter.last(in: mapping.bytes, store: header.store)
        if footer == nil, !(isLast && kind == .log) {
            throw .damaged(
                name, at: mapping.count, "the footer of a sealed segment is missing or damaged")
        }
        if let previous = files.last, let before = previous.footer {
            guard header.chainHash == before.chainHash else {
                throw .damaged(
                    name, at: SegmentHeader.Layout.chainHash,
                    "the segment does not follow \(previous.name)")
            }
            guard header.firstCommit == before.lastCommit &+ 1 else {
                throw .damaged(
                    name, at: SegmentHeader.Layout.firstCommit,
                    "commit \(header.firstCommit) follows commit \(before.lastCommit)")
            }
        }
        files.append(File(name: name, header: header, footer: footer, mapping: mapping))
    }

    private static func map(
        _ name: String, in volume: any Volume
    ) throws(StorageError) -> FileMapping {
        let (size, mapping) = try translatingErrors { () throws(VolumeError) in
            let file = try volume.open(name, .read)
            defer { file.close() }
            let size = try file.size()
            return (
                size,
                try file.map(length: min(size, Limits.maximumFileLength), .shared)
            )
        }
        guard size <= Limits.maximumFileLength else {
            throw .damaged(
                name, at: Limits.maximumFileLength,
                "the file is longer than a 32-bit offset allows")
        }
        return mapping
    }

    /// Returns the store of the first file if its header is valid.
    private func storeOfFirst(
        _ covers: [(segments: ClosedRange<UInt32>, name: String, isBase: Bool)],
        in volume: any Volume
    ) throws(StorageError) -> StoreID? {
        guard let first = covers.first else { return nil }
        let mapping = try Self.map(first.name, in: volume)
        return withExtendedLifetime(mapping) {
            try? SegmentHeader(decoding: mapping.bytes).store
        }
    }

    /// Whether a log file was begun; an unsynced header may be missing or torn.
    private static func isBegun(
        _ mapping: FileMapping, number: UInt32, name: String, store: StoreID?
    ) throws(StorageError) -> Bool {
        do throws(FormatError) {
            _ = try SegmentHeader(decoding: mapping.bytes)
            return true
        } catch {
            if error.isUnsupported { throw StorageError(error, file: name) }
            // Only the first file of a store has no other file that provides the store identifier.
            // With the identifier, checksums are verified, which is stronger evidence.
            let isProven = RecordScanner.provesSynced(
                mapping.bytes, segment: number, store: store, beyond: 0)
            guard !isProven else { throw StorageError(error, file: name) }
            return false
        }
    }
}
