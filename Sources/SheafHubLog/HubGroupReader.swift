package import SheafBytes
package import SheafDocument
package import SheafSync

/// A decoder of the payloads of a group, in the order of its messages (`format-spec/hub.md`,
/// table 3).
///
/// It keeps no more than one incomplete segment. The states of documents are not decoded, so the
/// receiver validates them, as it does those of peers.
package struct HubGroupReader: Sendable {
    private let commit: UInt64
    private let shard: UInt16
    private let map: ShardMap
    private let groupLength: Int
    /// Bytes of a segment that continues in the next payload.
    private var rest: [UInt8] = []
    private var segments = ShippedSegmentReader()
    private var expandedLength = 0
    private var last: DocumentAddress?
    private var isBegun = false
    private var isEnded = false
    /// The numbered names that occurred so far.
    package private(set) var names = NameTable()
    /// The pauses of sites that the author has learned; known after the first segment.
    package private(set) var pauses: [SitePauses] = []
    /// The stamp of the only commit of the group; known after the first segment.
    package private(set) var stamp: Stamp?

    /// Begins to read a group of a shard.
    ///
    /// - Parameter commit: The number of `HubMessage.Extent.commit`.
    package init(
        commit: UInt64, shard: UInt16, in map: ShardMap,
        groupLength: Int = HubLimits.groupLength
    ) {
        self.commit = commit
        self.shard = shard
        self.map = map
        self.groupLength = groupLength
    }

    /// Reads the payload of the next message, and returns the documents of complete segments.
    ///
    /// They must not be applied before the last payload was read.
    package mutating func read(
        _ payload: [UInt8], isLast: Bool
    ) throws(Malformed) -> [ShippedDocument] {
        rest += payload
        let whole = rest
        var documents: [ShippedDocument] = []
        var start = 0
        while let segment = try nextSegment(at: start) {
            documents += try whole.span.withUnsafeBytes { bytes throws(Malformed) in
                try read(segment: UnsafeRawBufferPointer(rebasing: bytes[segment]))
            }
            start = segment.upperBound
        }
        rest = Array(whole.suffix(from: start))
        guard isLast else { return documents }
        guard rest.isEmpty else { throw .truncated(at: start) }
        guard isEnded else { throw .invalid("a group without its end", at: start) }
        return documents
    }

    /// Returns the range of the next complete segment; nil if more bytes must follow.
    private func nextSegment(at start: Int) throws(Malformed) -> Range<Int>? {
        try rest.span.withUnsafeBytes { bytes throws(Malformed) -> Range<Int>? in
            var reader = ByteReader(bytes, at: start)
            // A varint of a valid length has at most four bytes.
            guard
                bytes[start...].prefix(4).contains(where: { $0 < 0x80 })
                    || reader.remaining >= 4
            else { return nil }
            let length = try reader.readVarint()
            guard length <= UInt64(HubLimits.segmentLength) else {
                throw .tooLong(
                    at: start, length: length, limit: UInt64(HubLimits.segmentLength))
            }
            guard Int(length) <= reader.remaining else { return nil }
            return reader.offset..<reader.offset + Int(length)
        }
    }

    private mutating func read(
        segment: UnsafeRawBufferPointer
    ) throws(Malformed) -> [ShippedDocument] {
        guard !isEnded else { throw .invalid("a segment after the end of a group", at: 0) }
        let raw = try segments.raw(of: segment)
        expandedLength += raw.count
        guard expandedLength <= groupLength else {
            throw .tooLong(
                at: 0, length: UInt64(expandedLength), limit: UInt64(groupLength))
        }
        let commits = try raw.span.withUnsafeBytes { bytes throws(Malformed) in
            var reader = ByteReader(bytes)
            if !isBegun { pauses = try reader.readSitePauses() }
            return try WireNameDictionary.commits(
                in: try reader.readBytes(reader.remaining), &names)
        }
        guard commits.count == 1, let only = commits.first else {
            throw .invalid("\(commits.count) commits in a segment in place of one", at: 0)
        }
        try check(only)
        isEnded = !only.isContinued
        isBegun = true
        return only.documents
    }

    private mutating func check(_ found: ShippedCommit) throws(Malformed) {
        guard !found.isCut, !found.endsPart, found.remaining == nil else {
            throw .invalid("a commit with flags that no group has", at: 0)
        }
        guard found.commit == commit else {
            throw .invalid("commit \(found.commit) in a group of commit \(commit)", at: 0)
        }
        if !isBegun { stamp = found.stamp }
        guard found.stamp == stamp else {
            throw .invalid("another stamp than that of the first segment", at: 0)
        }
        for document in found.documents {
            guard document.form == .state else {
                throw .invalid("a delta in place of a complete document", at: 0)
            }
            let address = DocumentAddress(collection: document.collection, id: document.id)
            if let last, last >= address {
                throw .invalid("documents whose addresses do not ascend", at: 0)
            }
            let owner = map.shard(of: address)
            guard owner == shard else {
                throw .invalid("a document of shard \(owner) in shard \(shard)", at: 0)
            }
            last = address
        }
    }
}
