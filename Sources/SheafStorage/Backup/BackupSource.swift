import SheafBytes

/// A store that a backup copies: its directory, and its newest durable snapshot.
package struct BackupSource: Sendable {
    package let volume: any Volume
    /// Returns the newest durable snapshot; each call may return a newer one.
    package let snapshot: @Sendable () throws(StorageError) -> LogSnapshot

    package init(
        volume: any Volume, snapshot: @escaping @Sendable () throws(StorageError) -> LogSnapshot
    ) {
        self.volume = volume
        self.snapshot = snapshot
    }

    /// Describes the store of a reader.
    ///
    /// Each snapshot is that of a new reader. The snapshot of `reader` is older than the first list
    /// of attachments, and may reference some that are not in it.
    package init(_ reader: LogReader) {
        let volume = reader.currentVolume
        self.init(volume: volume) { () throws(StorageError) in try LogReader(volume).snapshot() }
    }
}

/// A file of the log as it belongs to one snapshot.
struct BackupSegment {
    let segment: Segment
    /// The number of bytes to copy: the complete file, or the last one up to the last commit.
    let length: Int
    /// Whether no store ever writes to the file again.
    ///
    /// Opening a store for writing seals its last log segment in place, even a sealed one.
    let isFinal: Bool

    /// Returns the files of a snapshot, in order.
    static func all(of snapshot: LogSnapshot) -> [BackupSegment] {
        let files = snapshot.segments.files
        return files.indices.map { index in
            let segment = files[index]
            let isLast = index == files.count - 1
            let isGrowing = isLast && segment.header.kind == .log
            // The segment may have grown, and may have been sealed, since the snapshot was made.
            let isCut = isGrowing && segment.footer?.contentLength != snapshot.end.offset
            return BackupSegment(
                segment: segment,
                length: isCut ? snapshot.end.offset : segment.sealedBytes.count,
                isFinal: !isGrowing)
        }
    }

    /// The bytes to copy, in memory.
    var bytes: UnsafeRawBufferPointer {
        segment.sealedBytes.slice(0..<length)
    }
}

/// An earlier backup, whose files a new one can share.
struct EarlierBackup {
    let volume: any Volume
    /// The name of the last log segment, which an opening for writing changes in place.
    private let last: String?
    private let store: StoreID?

    /// Opens an earlier backup of the store with the id `store`; it may be in use.
    init(_ volume: any Volume, of store: StoreID?) throws(StorageError) {
        self.volume = volume
        let contents = try LogReader(volume).contents
        last = contents.files.last.flatMap { $0.header.kind == .log ? $0.name : nil }
        self.store = contents.store
        guard let own = self.store, let store, own != store else { return }
        throw .refused(
            "\(volume.path.shortened(to: ErrorText.limit)) is a backup of another store: its "
                + "id is \(own), and that of this store is \(store)")
    }

    /// Whether the backup has the same final bytes under the same name.
    func has(_ file: BackupSegment) -> Bool {
        let name = file.segment.name
        guard file.isFinal, name != last, let footer = file.segment.footer,
            let mapping = map(name, length: file.length)
        else { return false }
        return withExtendedLifetime(mapping) {
            guard let header = try? SegmentHeader(decoding: mapping.bytes) else { return false }
            return header == file.segment.header
                && SegmentFooter(
                    decoding: mapping.bytes, at: footer.contentLength, store: header.store)
                    == footer
        }
    }

    /// Whether the backup has a file with these first bytes and this length.
    func has(_ name: String, startingWith head: UnsafeRawBufferPointer, length: Int) -> Bool {
        guard let mapping = map(name, length: length), mapping.count >= head.count else {
            return false
        }
        return withExtendedLifetime(mapping) {
            mapping.bytes.slice(0..<head.count).elementsEqual(head)
        }
    }

    private func map(_ name: String, length: Int) -> FileMapping? {
        guard let file = try? volume.open(name, .read) else { return nil }
        defer { file.close() }
        guard (try? file.size()) == length else { return nil }
        return try? file.map(length: length, .shared)
    }
}
