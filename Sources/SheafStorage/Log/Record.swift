import SheafBytes

/// A checksummed run of bytes in a segment file (`format-spec/log.md`, table 3).
///
///     0          8        12     13    14     16       24         32         40       48
///     | checksum | length | kind | pad | zero | commit | position | previous | synced | time |
///
///     56    60     64
///     | ops | part | body |
///
/// A commit is one `complete` record, or a `first`, any number of `middle` and a `last` record. It
/// is valid only if its last record is present.
package struct Record {
    /// The role of a record in its commit.
    package enum Kind: UInt8, Sendable {
        case complete = 1
        case first = 2
        case middle = 3
        case last = 4
        /// The operations of many commits in a base file, each with its position.
        case compacted = 5
        /// The offsets of the compacted records in a base file.
        case directory = 6

        /// Creates the kind of the record with index `part` in its commit.
        init(part: UInt32, isLast: Bool) {
            self =
                switch (part == 0, isLast) {
                case (true, true): .complete
                case (true, false): .first
                case (false, false): .middle
                case (false, true): .last
                }
        }

        /// Whether the record ends a commit.
        package var endsCommit: Bool { self == .complete || self == .last }
        /// Whether the record begins a commit.
        package var beginsCommit: Bool { self == .complete || self == .first }
    }

    package let kind: Kind
    package let commit: CommitID
    package let position: LogPosition
    package let checksum: UInt64
    package let previousChecksum: UInt64
    /// The position up to which the log was synced when the record was written.
    package let synced: LogPosition
    /// Milliseconds since 1970.
    package let time: UInt64
    package let operationCount: Int
    /// The index of the record in its commit, counted from zero.
    package let part: UInt32
    /// All bytes of the record, including header and padding.
    package let bytes: UnsafeRawBufferPointer
    private let padding: Int

    package static let headerLength = 64
    /// The alignment of records in a segment file.
    package static let alignment = 8
    /// The approximate length at which a commit is split into records.
    package static let targetLength = 256 << 10
    /// The maximum length of a record; a greater length field is damage.
    package static let maximumLength = 64 << 20

    /// The offsets of the header fields.
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

    /// The body of the record, without header and padding.
    package var body: UnsafeRawBufferPointer {
        bytes.slice(Self.headerLength..<bytes.count - padding)
    }

    /// The position at which the record ends in its file.
    package var end: LogPosition {
        LogPosition(segment: position.segment, offset: position.offset + bytes.count)
    }

    /// Decodes and verifies the record at `offset` of a segment file.
    ///
    /// `segment` is the segment number in the positions of this file. The caller compares the
    /// predecessor's checksum.
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
                at: offset + Layout.position, "the record's position field is \(position)")
        }
        let checksum: UInt64 = bytes.loadInteger(Layout.checksum)
        let found = XXH3.hash64(bytes.slice(Layout.length..<length), seed: store.checksumSeed)
        guard checksum == found else {
            throw FormatError(at: offset, "the record's checksum does not match")
        }
        // The checksum is valid, so an unknown kind may come from a newer program version.
        guard let kind = Kind(rawValue: bytes[Layout.kind]),
            bytes.loadInteger(Layout.reserved) as UInt16 == 0
        else {
            throw FormatError(
                at: offset + Layout.kind, "the record is of no known kind", isUnsupported: true)
        }
        let padding = Int(bytes[Layout.padding])
        guard padding < Self.alignment, padding <= length - Self.headerLength else {
            throw FormatError(at: offset + Layout.padding, "the padding length is wrong")
        }
        let synced = LogPosition(rawValue: bytes.loadInteger(Layout.synced))
        guard bytes[(length - padding)...].allSatisfy({ $0 == 0 }), synced <= position else {
            throw FormatError(
                at: offset + Layout.synced,
                "the padding is not zero, or the synced position is past the record")
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

    /// Returns the length of a record with a body of `count` bytes.
    package static func length(ofBody count: Int) -> Int {
        (headerLength + count + alignment - 1) & ~(alignment - 1)
    }

    /// The header fields of a record that are known when its position is reserved.
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

    /// Writes the padding and the header, except for the fields that are set when sealing.
    package static func layOut(_ draft: Draft, over target: UnsafeMutableRawBufferPointer) {
        let length = Record.length(ofBody: draft.bodyLength)
        precondition(target.count == length, "A record fills its reserved bytes.")
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

    /// Completes a record written by `layOut(_:over:)` and returns its checksum.
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
