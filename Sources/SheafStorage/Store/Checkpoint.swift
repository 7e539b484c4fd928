import SheafBytes

/// A file with the tree of a store, so that opening replays only the end of the log.
///
/// The bytes are in `format-spec/checkpoint.md`. A checkpoint can always be deleted: the log
/// contains everything needed to recreate it.
final class Checkpoint {
    /// The header fields of a checkpoint.
    struct Summary {
        let name: String
        /// The position from which to replay the log.
        let start: LogStart
        let pageCount: Int
        let fileCount: Int
        /// The last commit for which the index entries were complete.
        let indexedThrough: CommitID
        /// The length of the file in bytes.
        let length: Int

        /// The index progress; `.none` unless it reaches the checkpoint's commit.
        var indexMark: IndexMark {
            guard indexedThrough == start.commit else { return .none }
            return IndexMark(commit: start.commit, end: start.position)
        }
    }

    let summary: Summary
    private var keyspace: Keyspace?

    private init(summary: Summary, keyspace: consuming Keyspace) {
        self.summary = summary
        self.keyspace = consume keyspace
    }

    /// Returns the keys; may be called once.
    func takeKeyspace() -> Keyspace {
        guard let keyspace = keyspace.take() else {
            preconditionFailure("The keys are moved out once.")
        }
        return keyspace
    }

    /// "SHEAFCKP".
    static let magic: UInt64 = 0x504B_4346_4145_4853
    static let formatVersion: UInt32 = 2
    /// The length of an entry of the live-byte table in bytes.
    ///
    /// An entry is a file's first segment, four zero bytes, and the number of its live bytes.
    static let liveEntryLength = 16
    /// The length of the header, which replaces page zero; trees number pages from 1.
    static let headerLength = BTree.pageSize

    /// The offsets of the header fields.
    enum Layout {
        static let magic = 0
        static let version = 8
        static let pageLength = 12
        static let storeLow = 16
        static let storeHigh = 24
        static let commit = 32
        static let position = 40
        static let chain = 48
        static let commitAt = 56
        static let pageCount = 64
        static let fileCount = 68
        static let hash = 72
        /// The former location of the index progress: zero, and ignored by readers.
        static let formerlyIndexedThrough = 80
        static let indexedThrough = 88
        static let reserved = 96
        static let checksum = headerLength - 8
    }

    /// Maps and verifies a checkpoint; its pages are then used in place.
    static func load(
        _ name: String, from volume: any Volume, store: StoreID?, notBefore: LogPosition
    ) throws(StorageError) -> Checkpoint {
        let mapping = try translatingErrors { () throws(VolumeError) in
            let file = try volume.open(name, .read)
            defer { file.close() }
            return try file.map(length: try file.size(), .copyOnWrite)
        }
        do throws(FormatError) {
            let summary = try readHeader(mapping.bytes, name: name, store: store)
            guard FileName(name) == .checkpoint(summary.start.commit) else {
                throw FormatError(
                    at: Layout.commit, "the checkpoint covers commit \(summary.start.commit)")
            }
            guard summary.start.position >= notBefore else {
                throw FormatError(
                    at: Layout.position, "compaction has dropped removals after this checkpoint")
            }
            let live = try readLiveBytes(mapping.bytes, summary)
            let tree: BTree
            do throws(BTreeDamage) {
                tree = try BTree(adopting: mapping, pageCount: summary.pageCount)
            } catch {
                throw FormatError(error)
            }
            return Checkpoint(
                summary: summary, keyspace: Keyspace(adopting: tree, live: live))
        } catch {
            throw StorageError(error, file: name)
        }
    }

    private static func readHeader(
        _ bytes: UnsafeRawBufferPointer, name: String, store: StoreID?
    ) throws(FormatError) -> Summary {
        guard bytes.count >= headerLength else {
            throw FormatError(at: 0, "the file is shorter than a checkpoint's header")
        }
        guard bytes.loadInteger(Layout.magic) as UInt64 == magic else {
            throw FormatError(at: Layout.magic, "the file does not begin with SHEAFCKP")
        }
        guard
            bytes.loadInteger(Layout.checksum)
                == XXH3.hash64(bytes.slice(0..<Layout.checksum))
        else {
            throw FormatError(at: Layout.checksum, "the header's checksum does not match")
        }
        let version: UInt32 = bytes.loadInteger(Layout.version)
        let pageLength: UInt32 = bytes.loadInteger(Layout.pageLength)
        guard version == formatVersion, pageLength == UInt32(BTree.pageSize) else {
            throw FormatError(
                at: Layout.version,
                "the checkpoint has version \(version) and pages of \(pageLength) bytes",
                isUnsupported: true)
        }
        let owner = StoreID(
            low: bytes.loadInteger(Layout.storeLow), high: bytes.loadInteger(Layout.storeHigh))
        guard owner == store else {
            throw FormatError(at: Layout.storeLow, "the checkpoint belongs to store \(owner)")
        }
        let pageCount = Int(bytes.loadInteger(Layout.pageCount) as UInt32)
        let fileCount = Int(bytes.loadInteger(Layout.fileCount) as UInt32)
        let length = headerLength + pageCount * BTree.pageSize + fileCount * liveEntryLength
        guard bytes.count == length else {
            throw FormatError(
                at: bytes.count, "the file has \(bytes.count) bytes and should have \(length)")
        }
        let commit: CommitID = bytes.loadInteger(Layout.commit)
        let indexedThrough: CommitID = bytes.loadInteger(Layout.indexedThrough)
        guard indexedThrough <= commit else {
            throw FormatError(
                at: Layout.indexedThrough,
                "the index progress \(indexedThrough) is past the checkpoint's commit")
        }
        let hash = XXH3.hash64(bytes.slice(headerLength..<length))
        guard bytes.loadInteger(Layout.hash) == hash else {
            throw FormatError(at: Layout.hash, "the hash of the pages does not match")
        }
        return Summary(
            name: name,
            start: LogStart(
                position: LogPosition(rawValue: bytes.loadInteger(Layout.position)),
                chain: bytes.loadInteger(Layout.chain),
                commit: commit,
                commitAt: bytes.loadInteger(Layout.commitAt)),
            pageCount: pageCount, fileCount: fileCount, indexedThrough: indexedThrough,
            length: length)
    }

    private static func readLiveBytes(
        _ bytes: UnsafeRawBufferPointer, _ summary: Summary
    ) throws(FormatError) -> LiveBytes {
        let start = headerLength + summary.pageCount * BTree.pageSize
        var entries: [LiveBytes.Entry] = []
        for index in 0..<summary.fileCount {
            let offset = start + index * liveEntryLength
            let first: UInt32 = bytes.loadInteger(offset)
            let length: UInt64 = bytes.loadInteger(offset + 8)
            guard first > (entries.last?.firstSegment ?? 0),
                bytes.loadInteger(offset + 4) as UInt32 == 0,
                length <= UInt64(Limits.maximumFileLength)
            else {
                throw FormatError(
                    at: offset, "an entry of the live bytes is invalid or out of order")
            }
            entries.append(LiveBytes.Entry(firstSegment: first, length: Int(length)))
        }
        return LiveBytes(entries: entries)
    }
}

/// The checkpoints of a store and the part of the log that they cover.
struct CheckpointState: Sendable {
    /// The file names, the oldest first.
    var names: [String]
    /// The grown length of the log at the newest usable checkpoint; nil if there is none.
    var coveredLength: Int?
    /// The log position of the newest usable checkpoint.
    var floor: LogPosition
    /// The approximate size of all checkpoints in bytes.
    var length: Int
}

extension FormatError {
    /// Creates an error for invalid pages of a checkpoint.
    fileprivate init(_ damage: BTreeDamage) {
        switch damage {
        case .truncated:
            self.init(at: Checkpoint.headerLength, "the pages do not lie within the file")
        case .pageCount(let count):
            self.init(at: Checkpoint.Layout.pageCount, "a tree cannot have \(count) pages")
        case .page(let number):
            self.init(at: number * BTree.pageSize, "page \(number) is not a valid tree page")
        }
    }
}
