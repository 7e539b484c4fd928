import SheafBytes

/// The attachments of a backup, which are copied before the log.
extension BackupWriter {
    /// The number of snapshots to try while attachments are removed from the store.
    private static let maximumSnapshots = 10

    /// Copies all complete attachments; returns a snapshot whose attachments are among them.
    ///
    /// A file that is removed meanwhile was not referenced at the latest commit any more, so a
    /// newer snapshot does not reference it, either.
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
            if try copyAttachments(names.subtracting(copied), &copied) { return snapshot }
        }
        throw .refused(
            "attachments were removed during each of \(Self.maximumSnapshots) attempts to copy "
                + "them; try again")
    }

    /// Returns the names of the complete attachments in the store.
    private func attachmentNames() throws(StorageError) -> Set<String> {
        try translatingErrors { () throws(VolumeError) in
            let volume = try source.volume.directory(FileName.attachmentsName, creating: false)
            return Set(try volume?.names().filter { $0.hasSuffix(".whole") } ?? [])
        }
    }

    /// Copies attachments and adds their names to `copied`; returns false if one was removed.
    private mutating func copyAttachments(
        _ names: Set<String>, _ copied: inout Set<String>
    ) throws(StorageError) -> Bool {
        guard !names.isEmpty else { return true }
        let (from, to, shared) = try translatingErrors { () throws(VolumeError) in
            let name = FileName.attachmentsName
            return (
                try source.volume.directory(name, creating: false),
                try directory.volume.directory(name, creating: true),
                try earlier?.volume.directory(name, creating: false)
            )
        }
        guard let from, let to else { return false }
        for name in names.sorted() {
            guard let file = try open(name, in: from) else { return false }
            defer { file.close() }
            let length = try translatingErrors { () throws(VolumeError) in try file.size() }
            copier.progress.totalBytes += length
            if let shared, Self.length(of: name, in: shared) == length,
                try shareAttachment(name, from: shared, with: to)
            {
                try copier.count(length, isShared: true)
            } else {
                try copier.copy(name, length: length, to: to, isCompared: true) {
                    (range, buffer) throws(VolumeError) in
                    try file.readFully(into: buffer, at: range.lowerBound)
                }
                if let finding = try finding(name, in: to) {
                    throw .damaged(finding.file, at: finding.offset, finding.reason)
                }
            }
            copied.insert(name)
        }
        return true
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

    /// Compares an attachment of the copy with its id; nil if it matches.
    private func finding(_ name: String, in volume: any Volume) throws(StorageError) -> Finding? {
        try options.attachmentFinding(name, volume) { () throws(StorageError) in
            try copier.proceed()
        }
    }

    private static func length(of name: String, in volume: any Volume) -> Int? {
        guard let file = try? volume.open(name, .read) else { return nil }
        defer { file.close() }
        return try? file.size()
    }
}
