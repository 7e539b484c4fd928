import SheafBytes

/// The trees of a store as a file, so that opening costs the tail of the log and not all of it
/// (`format-spec/checkpoint.md`).
///
/// A checkpoint can always be thrown away: the log makes it again.
final class Checkpoint {
    /// What a checkpoint says about itself.
    struct Summary {
        let name: String
        /// Where the log goes on behind it.
        let start: LogStart
        let pageCount: Int
        let fileCount: Int
        /// Up to which commit the links were right.
        let linkedThrough: CommitID
        /// The bytes of the file.
        let length: Int

        /// Up to which commit the links are right, if it is known what has changed since.
        var linked: LinkMark {
            guard linkedThrough == start.commit else { return .none }
            return LinkMark(commit: start.commit, end: start.position)
        }
    }

    let summary: Summary
    private var keyspace: Keyspace?

    private init(summary: Summary, keyspace: consuming Keyspace) {
        self.summary = summary
        self.keyspace = consume keyspace
    }

    /// The keys, which can be taken once.
    func takeKeyspace() -> Keyspace {
        guard let keyspace = keyspace.take() else {
            preconditionFailure("The keys are taken once.")
        }
        return keyspace
    }

    /// "SHEAFCKP".
    static let magic: UInt64 = 0x504B_4346_4145_4853
    static let formatVersion: UInt32 = 1
    /// The bytes of an entry of the table of live bytes: a file's first segment, four zeros, and
    /// its live bytes.
    static let liveEntryLength = 16
    /// The header takes the room of page zero, which no tree has.
    static let headerLength = BTree.pageSize

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
        /// Here earlier writers say up to where other links were right: zero now, and not read.
        static let formerlyLinkedThrough = 80
        static let linkedThrough = 88
        static let reserved = 96
        static let checksum = headerLength - 8
    }

    /// Maps a checkpoint and checks every byte of it; the pages are then used in place.
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
                    at: Layout.position, "compaction has forgotten removals since then")
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
                at: Layout.version, "the checkpoint is of version \(version)",
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
        let linkedThrough: CommitID = bytes.loadInteger(Layout.linkedThrough)
        guard linkedThrough <= commit else {
            throw FormatError(
                at: Layout.linkedThrough, "links are right up to commit \(linkedThrough)")
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
            pageCount: pageCount, fileCount: fileCount, linkedThrough: linkedThrough,
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
            else { throw FormatError(at: offset, "the live bytes of the files are out of order") }
            entries.append(LiveBytes.Entry(firstSegment: first, length: Int(length)))
        }
        return LiveBytes(entries: entries)
    }
}

/// Which checkpoints there are, and how much of the log they spare.
struct CheckpointState: Sendable {
    /// The oldest first.
    var names: [String]
    /// How far the log had grown at the newest; none where there is none.
    var coveredLength: Int?
    /// Where the newest one ends in the log.
    var floor: LogPosition
    /// The bytes of all of them, about.
    var length: Int
}

extension FormatError {
    /// What a tree found wrong with the pages of a checkpoint.
    fileprivate init(_ damage: BTreeDamage) {
        switch damage {
        case .truncated:
            self.init(at: Checkpoint.headerLength, "the pages do not lie within the file")
        case .pageCount(let count):
            self.init(at: Checkpoint.Layout.pageCount, "a tree cannot have \(count) pages")
        case .page(let number):
            self.init(at: number * BTree.pageSize, "page \(number) is no page of a tree")
        }
    }
}
