import SheafBytes

/// The last 88 bytes of a sealed segment (`format-spec/log.md`, table 4).
package struct SegmentFooter: Equatable, Sendable {
    /// The number of bytes before the footer.
    package let contentLength: Int
    package let recordCount: UInt64
    /// The last complete commit up to the end of the segment.
    package let lastCommit: CommitID
    /// Milliseconds since 1970.
    package let lastCommitAt: UInt64
    /// The hash of the bytes before the footer.
    package let hash: UInt64
    /// The value that the next segment's header must contain.
    ///
    /// It is the hash, or in a base file the chain hash of the last segment that the file replaces.
    package let chainHash: UInt64
    /// The offset of a base file's directory record; zero in a log segment.
    package let directoryOffset: Int
    /// The position up to which the log was synced at the time of writing; none in a base file.
    package let synced: LogPosition
    /// The position of the last removal that compaction dropped in a base file.
    ///
    /// An older checkpoint would restore the removed keys, so it must not be used.
    package let removalsCompactedThrough: LogPosition

    package init(
        contentLength: Int, recordCount: UInt64, lastCommit: CommitID, lastCommitAt: UInt64,
        hash: UInt64, chainHash: UInt64, directoryOffset: Int = 0, synced: LogPosition,
        removalsCompactedThrough: LogPosition = .none
    ) {
        self.contentLength = contentLength
        self.recordCount = recordCount
        self.lastCommit = lastCommit
        self.lastCommitAt = lastCommitAt
        self.hash = hash
        self.chainHash = chainHash
        self.directoryOffset = directoryOffset
        self.synced = synced
        self.removalsCompactedThrough = removalsCompactedThrough
    }

    /// "SHEAFEND".
    static let magic: UInt64 = 0x444E_4546_4145_4853
    package static let length = 88

    /// The offsets of the fields.
    enum Layout {
        static let magic = 0
        static let contentLength = 8
        static let recordCount = 16
        static let lastCommit = 24
        static let lastCommitAt = 32
        static let hash = 40
        static let chainHash = 48
        static let directoryOffset = 56
        static let synced = 64
        static let removals = 72
        static let checksum = 80
    }

    /// Returns the footer's bytes for a segment of `store`.
    package func encoded(store: StoreID) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: Self.length)
        bytes.withUnsafeMutableBytes { target in
            target.store(Self.magic, at: Layout.magic)
            target.store(UInt64(contentLength), at: Layout.contentLength)
            target.store(recordCount, at: Layout.recordCount)
            target.store(lastCommit, at: Layout.lastCommit)
            target.store(lastCommitAt, at: Layout.lastCommitAt)
            target.store(hash, at: Layout.hash)
            target.store(chainHash, at: Layout.chainHash)
            target.store(UInt64(directoryOffset), at: Layout.directoryOffset)
            target.store(synced.rawValue, at: Layout.synced)
            target.store(removalsCompactedThrough.rawValue, at: Layout.removals)
            let covered = UnsafeRawBufferPointer(rebasing: target[0..<Layout.checksum])
            let checksum = XXH3.hash64(covered, seed: store.checksumSeed)
            target.store(checksum, at: Layout.checksum)
        }
        return bytes
    }

    /// Whether 88 bytes read at `offset` are a footer of a segment of `store`.
    static func isValid(
        _ footer: UnsafeRawBufferPointer, at offset: Int, store: StoreID
    ) -> Bool {
        guard footer.loadInteger(Layout.magic) as UInt64 == magic else { return false }
        let checksum = XXH3.hash64(
            footer.slice(0..<Layout.checksum), seed: store.checksumSeed)
        return footer.loadInteger(Layout.checksum) == checksum
            && footer.loadInteger(Layout.contentLength) == UInt64(offset)
            && (footer.loadInteger(Layout.directoryOffset) as UInt64) < UInt64(offset)
    }

    /// Decodes the footer at `offset`; nil unless it is complete and belongs to `store`.
    package init?(decoding bytes: UnsafeRawBufferPointer, at offset: Int, store: StoreID) {
        guard offset >= SegmentHeader.length, offset <= bytes.count - Self.length else {
            return nil
        }
        let footer = bytes.slice(offset..<offset + Self.length)
        guard Self.isValid(footer, at: offset, store: store) else { return nil }
        let directoryOffset: UInt64 = footer.loadInteger(Layout.directoryOffset)
        self.init(
            contentLength: offset,
            recordCount: footer.loadInteger(Layout.recordCount),
            lastCommit: footer.loadInteger(Layout.lastCommit),
            lastCommitAt: footer.loadInteger(Layout.lastCommitAt),
            hash: footer.loadInteger(Layout.hash),
            chainHash: footer.loadInteger(Layout.chainHash),
            directoryOffset: Int(directoryOffset),
            synced: LogPosition(rawValue: footer.loadInteger(Layout.synced)),
            removalsCompactedThrough: LogPosition(rawValue: footer.loadInteger(Layout.removals)))
    }

    /// Returns the footer at the end of a file; zeros not yet truncated may follow the footer.
    package static func last(in bytes: UnsafeRawBufferPointer, store: StoreID) -> SegmentFooter? {
        var end = bytes.count & ~7
        guard bytes[end...].allSatisfy({ $0 == 0 }) else { return nil }
        while end >= 8, bytes.loadInteger(end - 8) as UInt64 == 0 { end -= 8 }
        // The checksum at the end of a footer may itself be zero.
        for candidate in [end, end + 8] {
            let offset = candidate - length
            if let footer = SegmentFooter(decoding: bytes, at: offset, store: store) {
                return footer
            }
        }
        return nil
    }
}
