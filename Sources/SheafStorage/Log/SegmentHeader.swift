import SheafBytes

/// The first 128 bytes of a segment file (`format-spec/log.md`, table 2).
package struct SegmentHeader: Equatable, Sendable {
    /// The content of a segment file.
    package enum Kind: UInt32, Sendable {
        /// Commits in the order in which they were written.
        case log = 1
        /// The operations that compaction kept of consecutive segments.
        case base = 2
    }

    package let kind: Kind
    package let store: StoreID
    /// The segments whose positions this file holds: one in a log segment, a range in a base file.
    package let segments: ClosedRange<UInt32>
    package let firstCommit: CommitID
    /// Milliseconds since 1970.
    package let createdAt: UInt64
    /// The chain hash in the footer of the previous segment; zero in the first segment.
    package let chainHash: UInt64
    /// The last commit that compaction may have changed; zero in a log segment.
    ///
    /// Of the commits up to this one, the file holds only the operations that were newest at that
    /// commit and the bases of deltas among them. Later commits are complete.
    package let compactedThrough: CommitID

    package init(
        kind: Kind, store: StoreID, segments: ClosedRange<UInt32>, firstCommit: CommitID,
        createdAt: UInt64, chainHash: UInt64, compactedThrough: CommitID = 0
    ) {
        self.kind = kind
        self.store = store
        self.segments = segments
        self.firstCommit = firstCommit
        self.createdAt = createdAt
        self.chainHash = chainHash
        self.compactedThrough = compactedThrough
    }

    /// "SHEAFLOG".
    static let magic: UInt64 = 0x474F_4C46_4145_4853
    package static let formatVersion: UInt32 = 1
    package static let length = 128

    /// The offsets of the fields.
    enum Layout {
        static let magic = 0
        static let version = 8
        static let length = 12
        static let storeLow = 16
        static let storeHigh = 24
        static let firstSegment = 32
        static let lastSegment = 36
        static let firstCommit = 40
        static let createdAt = 48
        static let chainHash = 56
        static let cipher = 64
        static let codec = 66
        static let kind = 68
        static let compactedThrough = 72
        static let reserved = 80
        static let checksum = 120
    }

    /// Writes the header into the first bytes of `target`.
    func encode(into target: UnsafeMutableRawBufferPointer) {
        precondition(target.count >= Self.length, "A header needs 128 bytes.")
        target[0..<Self.length].update(repeating: 0)
        target.store(Self.magic, at: Layout.magic)
        target.store(Self.formatVersion, at: Layout.version)
        target.store(UInt32(Self.length), at: Layout.length)
        target.store(store.low, at: Layout.storeLow)
        target.store(store.high, at: Layout.storeHigh)
        target.store(segments.lowerBound, at: Layout.firstSegment)
        target.store(segments.upperBound, at: Layout.lastSegment)
        target.store(firstCommit, at: Layout.firstCommit)
        target.store(createdAt, at: Layout.createdAt)
        target.store(chainHash, at: Layout.chainHash)
        target.store(kind.rawValue, at: Layout.kind)
        target.store(compactedThrough, at: Layout.compactedThrough)
        let covered = UnsafeRawBufferPointer(rebasing: target[0..<Layout.checksum])
        target.store(XXH3.hash64(covered), at: Layout.checksum)
    }

    /// Returns the 128 bytes of the header.
    package func encoded() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.length)
        bytes.withUnsafeMutableBytes { encode(into: $0) }
        return bytes
    }

    /// Decodes a header; errors name the invalid field.
    package init(decoding bytes: UnsafeRawBufferPointer) throws(FormatError) {
        guard bytes.count >= Self.length else {
            throw FormatError(at: 0, "the file is shorter than a segment header")
        }
        guard bytes.loadInteger(Layout.magic) as UInt64 == Self.magic else {
            throw FormatError(at: Layout.magic, "the file does not begin with SHEAFLOG")
        }
        let covered = UnsafeRawBufferPointer(rebasing: bytes[0..<Layout.checksum])
        guard bytes.loadInteger(Layout.checksum) == XXH3.hash64(covered) else {
            throw FormatError(at: Layout.checksum, "the header's checksum does not match")
        }
        let version: UInt32 = bytes.loadInteger(Layout.version)
        guard version == Self.formatVersion else {
            throw FormatError(
                at: Layout.version,
                "the format version is \(version); this program reads \(Self.formatVersion)",
                isUnsupported: true)
        }
        guard bytes.loadInteger(Layout.length) as UInt32 == UInt32(Self.length) else {
            throw FormatError(at: Layout.length, "the header is not 128 bytes long")
        }
        let cipher: UInt16 = bytes.loadInteger(Layout.cipher)
        let codec: UInt16 = bytes.loadInteger(Layout.codec)
        guard cipher == 0, codec == 0 else {
            throw FormatError(
                at: Layout.cipher,
                "the segment uses cipher \(cipher) and codec \(codec); this program knows 0 and 0",
                isUnsupported: true)
        }
        guard bytes.slice(Layout.reserved..<Layout.checksum).allSatisfy({ $0 == 0 }) else {
            throw FormatError(
                at: Layout.reserved, "reserved bytes of the header are not zero",
                isUnsupported: true)
        }
        let first: UInt32 = bytes.loadInteger(Layout.firstSegment)
        let last: UInt32 = bytes.loadInteger(Layout.lastSegment)
        guard let kind = Kind(rawValue: bytes.loadInteger(Layout.kind)) else {
            throw FormatError(
                at: Layout.kind, "the segment is of no known kind", isUnsupported: true)
        }
        guard first >= 1, first <= last, kind == .base || first == last else {
            throw FormatError(
                at: Layout.firstSegment, "segments \(first)...\(last) are not a valid range")
        }
        let firstCommit: CommitID = bytes.loadInteger(Layout.firstCommit)
        let chainHash: UInt64 = bytes.loadInteger(Layout.chainHash)
        guard first > 1 || (firstCommit == 1 && chainHash == 0) else {
            throw FormatError(
                at: Layout.firstCommit, "the first segment does not begin with the first commit")
        }
        self.init(
            kind: kind,
            store: StoreID(
                low: bytes.loadInteger(Layout.storeLow), high: bytes.loadInteger(Layout.storeHigh)),
            segments: first...last,
            firstCommit: firstCommit,
            createdAt: bytes.loadInteger(Layout.createdAt),
            chainHash: chainHash,
            compactedThrough: bytes.loadInteger(Layout.compactedThrough))
    }

    /// The header's checksum, which is the previous checksum of the first record.
    package var checksum: UInt64 {
        encoded().withUnsafeBytes { $0.loadInteger(Layout.checksum) }
    }
}
