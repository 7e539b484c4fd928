import SheafBytes

/// The files of a store at one moment, which stay readable while a writer changes the directory.
///
/// No lock is taken. Log files are mapped up to what is durable, so that a later truncation does
/// not reach the mapped bytes, and compaction may remove their names.
package final class DirectorySnapshot: UnwritableVolume {
    /// The readable part of a log file.
    struct LogFile: Sendable {
        /// The mapped bytes, which may continue after the readable ones; nil for a file to copy.
        let mapping: FileMapping?
        /// The open file, for readers that must survive unreadable sectors of a disk.
        var file: (any VolumeFile)?
        /// Whether the mapping is a copy in memory, which does not grow with the file.
        var isCopy = false
        /// The number of readable bytes.
        let count: Int
        /// Whether the file is complete and never changes.
        let isSealed: Bool
    }

    package let base: any Volume
    /// How far the writer has synced the log; nil if no writer of the running system has.
    package let mark: SyncedMark?
    /// The mark that was read, if the files contradict it.
    private let contradictedMark: SyncedMark?
    let listedNames: [String]
    /// The segments and base files, by name.
    let logFiles: [String: LogFile]
    /// The open checkpoints, by name.
    let checkpoints: [String: any VolumeFile]

    init(
        base: any Volume, mark: SyncedMark?, contradictedMark: SyncedMark?, names: [String],
        logFiles: [String: LogFile], checkpoints: [String: any VolumeFile]
    ) {
        self.base = base
        self.mark = mark
        self.contradictedMark = contradictedMark
        listedNames = names
        self.logFiles = logFiles
        self.checkpoints = checkpoints
    }

    package func names() throws(VolumeError) -> [String] { listedNames }

    package func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile {
        guard access == .read else { throw refusal(.open, name) }
        if let file = logFiles[name] { return MappedFile(name: name, file) }
        if let file = checkpoints[name] { return SharedFile(file) }
        if name == FileName.syncedName, let mark = mark ?? contradictedMark {
            let bytes = mark.encoded()
            let copy = try FileMapping.copy(count: bytes.count) { $0.copyBytes(from: bytes) }
            return MappedFile(
                name: name, LogFile(mapping: copy, isCopy: true, count: bytes.count, isSealed: true)
            )
        }
        let file = try base.open(name, .read)
        guard name == FileName.syncedName else { return file }
        // A mark that was written after the snapshot does not describe its files.
        file.close()
        return MappedFile(name: name, LogFile(mapping: nil, count: 0, isSealed: true))
    }

    /// Returns the snapshot at a newer mark in the same segment.
    ///
    /// Returns nil if the files have changed otherwise, or the segment must be mapped again.
    func growing(to newer: SyncedMark) -> DirectorySnapshot? {
        guard let mark, newer.owner == mark.owner, newer.replacements == mark.replacements,
            newer.position.segment == mark.position.segment, newer.position > mark.position
        else { return nil }
        let name = FileName.name(ofSegment: mark.position.segment)
        guard let file = logFiles[name], !file.isSealed, !file.isCopy, let mapping = file.mapping,
            mapping.count >= newer.position.offset
        else { return nil }
        var files = logFiles
        files[name] = LogFile(mapping: mapping, count: newer.position.offset, isSealed: false)
        return DirectorySnapshot(
            base: base, mark: newer, contradictedMark: nil, names: listedNames, logFiles: files,
            checkpoints: checkpoints)
    }

    /// Whether two snapshots without marks have the same bytes.
    ///
    /// Without a writer's mark, a longer log shows only in the bytes of the last file.
    func hasSameFiles(as other: DirectorySnapshot) -> Bool {
        guard mark == nil, other.mark == nil, listedNames == other.listedNames else { return false }
        return logFiles.allSatisfy { name, file in
            guard let known = other.logFiles[name], known.count == file.count else { return false }
            guard let one = file.mapping, let two = known.mapping else { return false }
            return one === two
                || one.bytes.prefix(file.count).elementsEqual(two.bytes.prefix(file.count))
        }
    }
}

/// A log file of a snapshot, whose bytes are read from its mapping.
private final class MappedFile: UnwritableFile {
    let name: String
    private let file: DirectorySnapshot.LogFile

    init(name: String, _ file: DirectorySnapshot.LogFile) {
        self.name = name
        self.file = file
    }

    func size() throws(VolumeError) -> Int { file.count }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Int {
        let count = max(0, min(buffer.count, file.count - offset))
        let target = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
        if let open = file.file { return try open.read(into: target, at: offset) }
        guard count > 0, let mapping = file.mapping else { return 0 }
        target.copyMemory(from: mapping.bytes.slice(offset..<offset + count))
        return count
    }

    func map(length: Int, _ mode: MappingMode) throws(VolumeError) -> FileMapping {
        guard mode == .shared, length <= file.count else {
            throw VolumeError(.map, name, .unexpectedEnd)
        }
        if let mapping = file.mapping { return mapping.prefix(length) }
        return try FileMapping.copy(count: length) { buffer throws(VolumeError) in
            try readFully(into: buffer, at: 0)
        }
    }
}

/// An open checkpoint of a snapshot, which remains open when its user closes it.
private final class SharedFile: UnwritableFile {
    private let file: any VolumeFile

    init(_ file: any VolumeFile) {
        self.file = file
    }

    var name: String { file.name }

    func size() throws(VolumeError) -> Int { try file.size() }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Int {
        try file.read(into: buffer, at: offset)
    }

    func map(length: Int, _ mode: MappingMode) throws(VolumeError) -> FileMapping {
        try file.map(length: length, mode)
    }
}
