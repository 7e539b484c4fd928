import SheafBytes

/// A framed run of bytes in a segment (`format-spec/log.md`, table 3).
///
///      0        8      12   13   14    16       24        32        40      48     56     60    64
///     | checksum | length | kind | pad | zero | commit | position | previous | synced | time | ops | part | body
///
/// A commit is one `whole` record, or a `first`, any number of `middle` and a `last`: it counts
/// only when its last record is there.
package struct Record {
    /// What a record is to its commit.
    package enum Kind: UInt8, Sendable {
        case whole = 1
        case first = 2
        case middle = 3
        case last = 4
        /// In a base file: operations of many commits, each with its position.
        case folded = 5
        /// In a base file: where the folded records are.
        case directory = 6

        /// Whether a commit ends with this record.
        package var endsCommit: Bool { self == .whole || self == .last }
        /// Whether a commit begins with this record.
        package var beginsCommit: Bool { self == .whole || self == .first }
    }

    package let kind: Kind
    package let commit: CommitID
    package let position: LogPosition
    package let checksum: UInt64
    package let previousChecksum: UInt64
    /// How far the log was known to be synced when the record was written.
    package let synced: LogPosition
    /// Milliseconds since 1970.
    package let time: UInt64
    package let operationCount: Int
    /// Which record of its commit this is, counted from zero.
    package let part: UInt32
    /// All bytes of the record, header and padding included.
    package let bytes: UnsafeRawBufferPointer
    private let padding: Int

    package static let headerLength = 64
    /// Records start at multiples of this.
    package static let alignment = 8
    /// A commit is cut into records at about this length.
    package static let targetLength = 256 << 10
    /// No record is longer: a length beyond it is damage.
    package static let maximumLength = 64 << 20

    enum Layout {
        static let checksum = 0
        static let length = 8
        static let kind = 12
        static let padding = 13
        static let reserved = 14
        static let commit = 16
        static let position = 24
        static let previousChecksum = 32
        static let synced = 40
        static let time = 48
        static let operationCount = 56
        static let part = 60
    }

    /// What the record says, without its header and its padding.
    package var body: UnsafeRawBufferPointer {
        bytes.slice(Self.headerLength..<bytes.count - padding)
    }

    /// Where the record ends in its file.
    package var end: LogPosition {
        LogPosition(segment: position.segment, offset: position.offset + bytes.count)
    }

    /// Reads and checks the record at `offset` of a segment file.
    ///
    /// `segment` is the number that positions in this file carry. The predecessor is the caller's
    /// to compare.
    package init(
        decoding file: UnsafeRawBufferPointer, at offset: Int, segment: UInt32, store: StoreID
    ) throws(FormatError) {
        guard offset >= SegmentHeader.length, offset <= file.count - Self.headerLength else {
            throw FormatError(at: offset, "the file ends inside a record header")
        }
        let length = Int(file.loadInteger(offset + Layout.length) as UInt32)
        // The length is checked before the checksum: a huge one would make us read past the file.
        guard length >= Self.headerLength, length % Self.alignment == 0,
            length <= Self.maximumLength, length <= file.count - offset
        else {
            throw FormatError(at: offset + Layout.length, "the record length \(length) is wrong")
        }
        let bytes = file.slice(offset..<offset + length)
        let position = LogPosition(rawValue: bytes.loadInteger(Layout.position))
        guard position == LogPosition(segment: segment, offset: offset) else {
            throw FormatError(
                at: offset + Layout.position, "the record says that it belongs at \(position)")
        }
        let checksum: UInt64 = bytes.loadInteger(Layout.checksum)
        let found = XXH3.hash64(bytes.slice(Layout.length..<length), seed: store.checksumSeed)
        guard checksum == found else {
            throw FormatError(at: offset, "the record's checksum does not match")
        }
        // The checksum is right, so a newer program may have written what we do not know.
        guard let kind = Kind(rawValue: bytes[Layout.kind]),
            bytes.loadInteger(Layout.reserved) as UInt16 == 0
        else {
            throw FormatError(
                at: offset + Layout.kind, "the record is of no known kind", isUnsupported: true)
        }
        let padding = Int(bytes[Layout.padding])
        guard padding < Self.alignment, padding <= length - Self.headerLength else {
            throw FormatError(at: offset + Layout.padding, "the padding is longer than the body")
        }
        let synced = LogPosition(rawValue: bytes.loadInteger(Layout.synced))
        guard bytes[(length - padding)...].allSatisfy({ $0 == 0 }), synced <= position else {
            throw FormatError(at: offset + Layout.synced, "the record's fields contradict it")
        }
        self.kind = kind
        self.commit = bytes.loadInteger(Layout.commit)
        self.position = position
        self.checksum = checksum
        previousChecksum = bytes.loadInteger(Layout.previousChecksum)
        self.synced = synced
        time = bytes.loadInteger(Layout.time)
        operationCount = Int(bytes.loadInteger(Layout.operationCount) as UInt32)
        part = bytes.loadInteger(Layout.part)
        self.bytes = bytes
        self.padding = padding
    }

    /// The length of a record around a body of `count` bytes.
    package static func length(ofBody count: Int) -> Int {
        (headerLength + count + alignment - 1) & ~(alignment - 1)
    }

    /// What is known of a record when its place is taken.
    package struct Draft {
        let kind: Kind
        let bodyLength: Int
        let commit: CommitID
        let position: LogPosition
        let time: UInt64
        let operationCount: Int
        let part: UInt32

        package init(
            kind: Kind, bodyLength: Int, commit: CommitID, position: LogPosition, time: UInt64,
            operationCount: Int, part: UInt32
        ) {
            self.kind = kind
            self.bodyLength = bodyLength
            self.commit = commit
            self.position = position
            self.time = time
            self.operationCount = operationCount
            self.part = part
        }
    }

    /// Writes a header without the fields that only the writing thread knows, and the padding.
    package static func layOut(_ draft: Draft, over target: UnsafeMutableRawBufferPointer) {
        let length = Record.length(ofBody: draft.bodyLength)
        precondition(target.count == length, "A record fills its place.")
        let padding = length - headerLength - draft.bodyLength
        target[(length - padding)...].update(repeating: 0)
        target.store(UInt32(length), at: Layout.length)
        target.store(draft.kind.rawValue, at: Layout.kind)
        target.store(UInt8(padding), at: Layout.padding)
        target.store(UInt16(0), at: Layout.reserved)
        target.store(draft.commit, at: Layout.commit)
        target.store(draft.position.rawValue, at: Layout.position)
        target.store(draft.time, at: Layout.time)
        target.store(UInt32(draft.operationCount), at: Layout.operationCount)
        target.store(draft.part, at: Layout.part)
    }

    /// Completes a record that was laid out, and returns its checksum.
    package static func seal(
        _ target: UnsafeMutableRawBufferPointer, previous: UInt64, synced: LogPosition,
        store: StoreID
    ) -> UInt64 {
        target.store(previous, at: Layout.previousChecksum)
        target.store(synced.rawValue, at: Layout.synced)
        let covered = UnsafeRawBufferPointer(rebasing: target[Layout.length...])
        let checksum = XXH3.hash64(covered, seed: store.checksumSeed)
        target.store(checksum, at: Layout.checksum)
        return checksum
    }
}
