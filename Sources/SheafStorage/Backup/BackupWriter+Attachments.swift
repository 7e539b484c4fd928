import SheafBytes

/// The attachments of a backup, which are copied before the log.
extension BackupWriter {
    /// The number of snapshots to try while attachments are removed from the store.
    private static let maximumSnapshots = 10

    /// The directories of attachments that take part in a backup.
    private struct Directories {
        let store: any Volume
        let copy: any Volume
        let earlier: (any Volume)?
    }

    /// The outcome of copying one attachment.
    private enum Outcome {
        case copied
        /// The store has removed the file.
        case removed
        case damaged(Finding)
    }

    /// Copies all complete attachments; returns a snapshot whose attachments are among them.
    ///
    /// A file that is removed meanwhile was not referenced at the latest commit any more, so a
    /// newer snapshot does not reference it, either. A damaged file is left out if the snapshot
    /// does not reference it.
    mutating func copyAttachments() throws(StorageError) -> LogSnapshot {
        var copied: Set<String> = []
        for _ in 0..<Self.maximumSnapshots {
            let before = try attachmentNames()
            let snapshot = try source.snapshot()
            if earlier == nil, let volume = options.earlier {
                earlier = try EarlierBackup(
                    volume, of: snapshot.segments.files.first?.header.store)
            }
            let names = before.union(try attachmentNames())
            if try copyAttachments(names.subtracting(copied), of: snapshot, &copied) {
                return snapshot
            }
        }
        throw .refused(
            "attachments were removed during each of \(Self.maximumSnapshots) attempts to copy "
                + "them; try again")
    }

    /// Returns the names of the complete attachments in the store.
    private func attachmentNames() throws(StorageError) -> Set<String> {
        try translatingErrors { () throws(VolumeError) in
            let volume = try source.volume.directory(FileName.attachmentsName, creating: false)
            return Set(try volume?.names().filter(options.attachments.isComplete) ?? [])
        }
    }

    /// Copies attachments and adds their names to `copied`; returns false if one was removed.
    ///
    /// The documents are scanned only after a damaged file has been found, and then once.
    private mutating func copyAttachments(
        _ names: Set<String>, of snapshot: LogSnapshot, _ copied: inout Set<String>
    ) throws(StorageError) -> Bool {
        copier.report.omittedAttachments = []
        guard !names.isEmpty else { return true }
        guard let directories = try attachmentDirectories() else { return false }
        var referenced: Set<String>?
        for name in names.sorted() {
            switch try copyAttachment(name, directories) {
            case .copied: copied.insert(name)
            case .removed: return false
            case .damaged(let finding):
                let known = referenced ?? options.attachments.referenced(names, snapshot)
                referenced = known
                guard !known.contains(name) else {
                    throw .damaged(finding.file, at: finding.offset, finding.reason)
                }
                copier.report.omittedAttachments.append(finding)
            }
        }
        return true
    }

    /// Returns the directories of attachments; nil if that of the store was removed.
    private func attachmentDirectories() throws(StorageError) -> Directories? {
        try translatingErrors { () throws(VolumeError) in
            let name = FileName.attachmentsName
            guard let store = try source.volume.directory(name, creating: false),
                let copy = try directory.volume.directory(name, creating: true)
            else { return nil }
            return Directories(
                store: store, copy: copy,
                earlier: try earlier?.volume.directory(name, creating: false))
        }
    }

    /// Copies one attachment and compares the copy with its id.
    private mutating func copyAttachment(
        _ name: String, _ directories: Directories
    ) throws(StorageError) -> Outcome {
        let (report, progress) = (copier.report, copier.progress)
        var failure = StorageError.damaged(
            "\(FileName.attachmentsName)/\(name)", at: 0, "the copy differs from the file")
        do throws(StorageError) {
            guard let file = try open(name, in: directories.store) else { return .removed }
            defer { file.close() }
            if try copyAttachment(name, file, directories) { return .copied }
        } catch {
            failure = error
        }
        // An error of the copy, such as a full disk, is no damage of the store.
        guard let finding = try finding(name, in: directories.store) else {
            guard let file = try open(name, in: directories.store) else { return .removed }
            file.close()
            throw failure
        }
        try translatingErrors { () throws(VolumeError) in
            do throws(VolumeError) { try directories.copy.remove(name) } catch {
                guard error.code == .noSuchFile else { throw error }
            }
        }
        copier.report = report
        copier.progress.doneBytes =
            progress.doneBytes + copier.progress.totalBytes - progress.totalBytes
        return .damaged(finding)
    }

    /// Shares or copies one attachment; returns whether the copy matches its id.
    private mutating func copyAttachment(
        _ name: String, _ file: any VolumeFile, _ directories: Directories
    ) throws(StorageError) -> Bool {
        let length = try translatingErrors { () throws(VolumeError) in try file.size() }
        copier.progress.totalBytes += length
        if let earlier = directories.earlier, Self.length(of: name, in: earlier) == length,
            try shareAttachment(name, from: earlier, with: directories.copy)
        {
            try copier.count(length, isShared: true)
            return true
        }
        try copier.copy(name, length: length, to: directories.copy, isCompared: true) {
            (range, buffer) throws(VolumeError) in
            try file.readFully(into: buffer, at: range.lowerBound)
        }
        return try finding(name, in: directories.copy) == nil
    }

    /// Shares an attachment of the earlier backup; returns false if it is damaged there.
    private func shareAttachment(
        _ name: String, from shared: any Volume, with target: any Volume
    ) throws(StorageError) -> Bool {
        let isShared = try translatingErrors { () throws(VolumeError) in
            try Self.share(name, from: shared, with: target)
        }
        guard isShared else { return false }
        guard try finding(name, in: target) != nil else { return true }
        try translatingErrors { () throws(VolumeError) in try target.remove(name) }
        return false
    }

    /// Compares an attachment with its id; returns nil if it matches.
    private func finding(_ name: String, in volume: any Volume) throws(StorageError) -> Finding? {
        try options.attachments.finding(name, volume) { () throws(StorageError) in
            try copier.proceed()
        }
    }

    private static func length(of name: String, in volume: any Volume) -> Int? {
        guard let file = try? volume.open(name, .read) else { return nil }
        defer { file.close() }
        return try? file.size()
    }
}
