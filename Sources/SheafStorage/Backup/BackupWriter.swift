import SheafBytes

/// A writer that copies a store as of one durable commit into a new directory.
///
/// It takes no lock of the store and delays no writer: it reads the mapped files of a snapshot,
/// which stay readable after compaction has removed them. The copy gets its name only after
/// everything is durable and verified (`format-spec/backup.md`).
package struct BackupWriter {
    /// The options of a backup, and the function that is called as it proceeds.
    package struct Options {
        /// The directory of an earlier backup, whose files the new one shares.
        package var earlier: (any Volume)?
        /// A source of random numbers.
        package var random: () -> UInt64
        package var attachments: AttachmentChecks
        /// A function called as the backup proceeds; an error that it throws ends the backup.
        package var onProgress: (CopyProgress) throws(StorageError) -> Void

        package init(
            earlier: (any Volume)? = nil, random: @escaping () -> UInt64,
            attachments: AttachmentChecks,
            onProgress: @escaping (CopyProgress) throws(StorageError) -> Void = { _ in }
        ) {
            self.earlier = earlier
            self.random = random
            self.attachments = attachments
            self.onProgress = onProgress
        }
    }

    private static let markLength = 16

    let source: BackupSource
    let options: Options
    let directory: UnfinishedBackup
    var copier: FileCopier
    var earlier: EarlierBackup?
    private var sharedNames: Set<String> = []

    /// Copies the store at `path` to the directory `newPath`, which it creates.
    ///
    /// Shares files with the backup at `earlierPath`, if there is one.
    package static func write(
        _ source: BackupSource, at path: String, to newPath: String, since earlierPath: String?,
        _ options: Options
    ) throws(StorageError) -> CopyReport {
        var options = options
        if let earlierPath {
            if let resolved = PosixPath.resolved(path), resolved == PosixPath.resolved(earlierPath)
            {
                throw .refused(
                    "\(earlierPath.shortened(to: ErrorText.limit)) is the store itself; name an "
                        + "earlier backup of it")
            }
            _ = try ReadOnlyVolume.open(at: earlierPath)
            options.earlier = try translatingErrors { () throws(VolumeError) in
                try PosixVolume(path: earlierPath, creatingDirectory: false)
            }
        }
        let target = try BackupTarget(
            path: newPath, apartFrom: [path] + (earlierPath.map { [$0] } ?? []))
        return try write(source, to: target, options)
    }

    /// Copies `source` to `target`; after an error there is no new directory.
    package static func write(
        _ source: BackupSource, to target: BackupTarget, _ options: Options
    ) throws(StorageError) -> CopyReport {
        do throws(StorageError) { return try copy(source, to: target, options) } catch {
            guard case .full(let reason) = error else { throw error }
            // The store itself needs no room, as the general text of the error would say.
            throw .refused("the disk of the copy is full: \(reason); make room or use another disk")
        }
    }

    private static func copy(
        _ source: BackupSource, to target: BackupTarget, _ options: Options
    ) throws(StorageError) -> CopyReport {
        try target.checkFree()
        try UnfinishedBackup.removeLeftovers(in: target.parent)
        let directory = try UnfinishedBackup(for: target, random: options.random)
        do throws(StorageError) {
            var writer = BackupWriter(
                source: source, options: options, directory: directory,
                copier: FileCopier(onProgress: options.onProgress))
            try writer.run()
            try directory.publish()
            return writer.copier.report
        } catch {
            directory.discard()
            throw error
        }
    }

    private mutating func run() throws(StorageError) {
        let snapshot = try copyAttachments()
        copier.report.commit = snapshot.commit
        let segments = BackupSegment.all(of: snapshot)
        let checkpoint = try newestCheckpoint(of: snapshot)
        copier.progress.totalBytes =
            copier.progress.doneBytes + segments.reduce(0) { $0 + $1.length }
            + (checkpoint?.length ?? 0)
        for segment in segments { try copy(segment) }
        if let checkpoint { try copy(checkpoint) }
        if snapshot.commit > 0 { try addMarks(snapshot.commit) }
        try synchronizeNames()
        try verify(snapshot, checkpoint?.name)
    }

    // MARK: The log

    private mutating func copy(_ file: BackupSegment) throws(StorageError) {
        let name = file.segment.name
        if let earlier, earlier.has(file), try share(name, from: earlier.volume) {
            sharedNames.insert(name)
            return try copier.count(file.length, isShared: true)
        }
        // The file is read by calls where it still has its name: a bad sector is then an error,
        // and through the mapping it would end the process.
        let existing = try open(name, in: source.volume)
        defer { existing?.close() }
        let bytes = file.bytes
        try copier.copy(name, length: file.length, to: directory.volume) {
            (range, buffer) throws(VolumeError) in
            guard let existing else {
                buffer.copyMemory(from: bytes.slice(range))
                return
            }
            try existing.readFully(into: buffer, at: range.lowerBound)
        }
    }

    private func share(_ name: String, from volume: any Volume) throws(StorageError) -> Bool {
        try translatingErrors { () throws(VolumeError) in
            try Self.share(name, from: volume, with: directory.volume)
        }
    }

    /// Gives a file a second name in `target`; returns false if the file system cannot do so.
    ///
    /// The file is synced: a directory that another program copied may not be durable.
    static func share(
        _ name: String, from volume: any Volume, with target: any Volume
    ) throws(VolumeError) -> Bool {
        guard try target.share(name, from: volume) else { return false }
        let file = try target.open(name, .read)
        defer { file.close() }
        try file.synchronize()
        return true
    }

    /// Opens a file for reading; nil if it does not exist any more.
    func open(
        _ name: String, in volume: any Volume
    ) throws(StorageError) -> (any VolumeFile)? {
        do throws(VolumeError) {
            return try volume.open(name, .read)
        } catch {
            guard error.code == .noSuchFile else { throw StorageError(error) }
            return nil
        }
    }

    // MARK: The checkpoint

    /// A checkpoint with which the copy can be opened faster.
    private struct FoundCheckpoint {
        let name: String
        let file: any VolumeFile
        let length: Int
        let head: [UInt8]
    }

    /// Returns the newest checkpoint that is not newer than the snapshot; nil if there is none.
    private func newestCheckpoint(
        of snapshot: LogSnapshot
    ) throws(StorageError) -> FoundCheckpoint? {
        let names = try translatingErrors { () throws(VolumeError) in try source.volume.names() }
        let found = names.compactMap { name -> (commit: CommitID, name: String)? in
            guard case .checkpoint(let commit) = FileName(name), commit <= snapshot.commit else {
                return nil
            }
            return (commit, name)
        }
        guard let name = found.max(by: { $0.commit < $1.commit })?.name,
            let file = try open(name, in: source.volume)
        else { return nil }
        return try translatingErrors { () throws(VolumeError) in
            let length = try file.size()
            var head = [UInt8](repeating: 0, count: min(length, Checkpoint.headerLength))
            var failure: VolumeError?
            head.withUnsafeMutableBytes { buffer in
                do throws(VolumeError) { try file.readFully(into: buffer, at: 0) } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
            return FoundCheckpoint(name: name, file: file, length: length, head: head)
        }
    }

    private mutating func copy(_ checkpoint: FoundCheckpoint) throws(StorageError) {
        defer { checkpoint.file.close() }
        let isShared = checkpoint.head.withUnsafeBytes { head in
            earlier?.has(checkpoint.name, startingWith: head, length: checkpoint.length) ?? false
        }
        if let earlier, isShared, try share(checkpoint.name, from: earlier.volume) {
            return try copier.count(checkpoint.length, isShared: true)
        }
        try copier.copy(checkpoint.name, length: checkpoint.length, to: directory.volume) {
            (range, buffer) throws(VolumeError) in
            try checkpoint.file.readFully(into: buffer, at: range.lowerBound)
        }
    }

    // MARK: The end

    /// Adds a mark of the last commit, without which a shortened copy would look like a crash, and
    /// a site mark that the log does not name, with which the copy is recognized as one.
    private func addMarks(_ commit: CommitID) throws(StorageError) {
        try translatingErrors { () throws(VolumeError) in
            let closed = try directory.volume.open(FileName.name(ofClosedMark: commit), .create)
            defer { closed.close() }
            try closed.synchronize()
            let name = FileName.name(ofSiteMark: options.random())
            let mark = try directory.volume.open(name, .create)
            defer { mark.close() }
            let words = (0..<Self.markLength / 8).map { _ in options.random() }
            try words.span.withUnsafeBytes { bytes throws(VolumeError) in
                try mark.writeFully(bytes, at: 0)
            }
            try mark.synchronize()
        }
    }

    private func synchronizeNames() throws(StorageError) {
        try translatingErrors { () throws(VolumeError) in
            let volume = directory.volume
            try volume.directory(FileName.attachmentsName, creating: false)?.synchronizeNames()
            try volume.synchronizeNames()
        }
    }

    /// Reads the complete copy, and throws if it is damaged or has another state.
    private mutating func verify(
        _ snapshot: LogSnapshot, _ checkpoint: String?
    ) throws(StorageError) {
        try copier.begin(.verifying)
        let result = try Verifier.verifyFiles(of: ReadOnlyVolume(directory.volume))
        if let finding = result.findings.first(where: { $0.severity == .damage }) {
            let hint =
                sharedNames.contains(finding.file)
                ? "; the file is that of the earlier backup: make the backup without it" : ""
            throw .damaged(finding.file, at: finding.offset, finding.reason + hint)
        }
        guard result.lastCommit == snapshot.commit, result.keyCount == snapshot.count else {
            throw .damaged(
                snapshot.segments.files.last?.name ?? "", at: snapshot.end.offset,
                "the copy has commit \(result.lastCommit) and \(result.keyCount ?? 0) keys "
                    + "instead of commit \(snapshot.commit) and \(snapshot.count) keys")
        }
        guard let checkpoint, result.usableCheckpointCount == 0 else { return }
        // The log has the same state; a checkpoint only saves time.
        try translatingErrors { () throws(VolumeError) in
            try directory.volume.remove(checkpoint)
            try directory.volume.synchronizeNames()
        }
    }
}
