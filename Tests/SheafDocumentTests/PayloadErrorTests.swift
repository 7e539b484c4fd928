import SheafBytes
import SheafDocument
import Testing

/// Tests of the error for each violation of the format in a payload of the log.
@Suite struct PayloadErrorTests {
    private func refusal(
        _ bytes: [UInt8], _ read: (UnsafeRawBufferPointer) throws -> Void
    ) -> Malformed? {
        do {
            try bytes.withUnsafeBytes { try read($0) }
            return nil
        } catch {
            return error as? Malformed
        }
    }

    private func all(_ parts: [UInt8]...) -> [UInt8] { Array(parts.joined()) }

    /// Returns numbers of eight bytes each, and the given bytes after them.
    private func numbers(_ numbers: [UInt64], _ more: [UInt8] = []) -> [UInt8] {
        var writer = ByteWriter()
        for number in numbers { writer.write(number) }
        writer.write(more)
        return writer.bytes
    }

    @Test func `a clock and an origin end where their fields end`() {
        let clock = { (bytes: UnsafeRawBufferPointer) throws in
            _ = try HybridTime(decoding: bytes)
        }
        #expect(refusal(numbers([1]), clock) == nil)
        #expect(refusal(numbers([0xFFFF]), clock) == nil)
        #expect(refusal([1, 2, 3, 4, 5, 6, 7], clock) == .truncated(at: 0))
        let later = Malformed.invalid("bytes after the time of a clock", at: 8)
        #expect(refusal(numbers([1], [0]), clock) == later)
        let zero = Malformed.invalid("a time of the clock with a zero counter", at: 0)
        for time: UInt64 in [0, 0x1_0000] { #expect(refusal(numbers([time]), clock) == zero) }
        let origin = { (bytes: UnsafeRawBufferPointer) throws in
            _ = try CommitOrigin(decoding: bytes)
        }
        #expect(refusal(numbers([1, 2, 3], [0x80, 1]), origin) == nil)
        #expect(refusal(numbers([1, 2, 3]), origin) == .truncated(at: 24))
        #expect(refusal(numbers([1, 2]), origin) == .truncated(at: 16))
        let more = Malformed.invalid("bytes after the origin", at: 26)
        #expect(refusal(numbers([1, 2, 3], [0x80, 1, 0]), origin) == more)
    }

    @Test func `former sites are some different sites`() {
        let read = { (bytes: UnsafeRawBufferPointer) throws in
            _ = try FormerSites(decoding: bytes)
        }
        let duplicate = "a duplicate site"
        let cases: [(bytes: [UInt8], error: Malformed?)] = [
            (numbers([1]), nil), (numbers(Array(1...64)), nil),
            ([], .invalid("no former sites", at: 0)),
            (numbers([0]), .invalid("a zero site", at: 0)),
            (numbers([1, 2, 0]), .invalid("a zero site", at: 16)),
            (numbers([1, 2, 2]), .invalid(duplicate, at: 16)),
            (numbers([1, 2, 1]), .invalid(duplicate, at: 16)),
            (numbers([1], [2]), .truncated(at: 8)),
            (numbers(Array(1...65)), .invalid("more than 64 former sites", at: 512)),
        ]
        for (bytes, error) in cases { #expect(refusal(bytes, read) == error) }
    }

    @Test func `a site record and the pauses of a site are refused at their first wrong field`() {
        let record = { (bytes: UnsafeRawBufferPointer) throws in
            _ = try SiteRecord(decoding: bytes)
        }
        let noTime = "a pause of a site that contains no time"
        let full: [UInt64] = [1, 2, 3] + (0..<32).map { UInt64($0) * 10 }
        let records: [(bytes: [UInt8], error: Malformed?)] = [
            (numbers([1, 0]), nil), (numbers([1, 2, 3]), nil),
            (numbers([0, 2]), .invalid("a zero site", at: 0)),
            (numbers([1, 2, 0]), .invalid("a zero clock", at: 24)),
            (numbers([1, 2, 0, 5, 7]), nil),
            (numbers([1, 2, 0, 5, 6]), .invalid(noTime, at: 24)),
            (numbers([1, 2, 0, 5, 7, 9, 9]), .invalid(noTime, at: 40)),
            (numbers([1, 2, 0, 5]), .truncated(at: 32)),
            (numbers(full), nil),
            (
                all(numbers(full), numbers([400, 500])),
                .invalid("more than 16 pauses of a site", at: 280)
            ),
        ]
        for (bytes, error) in records { #expect(refusal(bytes, record) == error) }
        let pauses = { (bytes: UnsafeRawBufferPointer) throws in
            _ = try SitePauses(decoding: bytes)
        }
        #expect(refusal(numbers([1, 5, 7]), pauses) == nil)
        #expect(refusal(numbers([0, 5, 7]), pauses) == .invalid("a zero site", at: 0))
        #expect(refusal(numbers([1]), pauses) == .invalid("a site without pauses", at: 8))
        #expect(refusal(numbers([1, 7, 5]), pauses) == .invalid(noTime, at: 8))
    }

    @Test func `the directory of a site record is that of a store, unless one is unknown`() {
        func isOf(_ stored: UInt64, _ other: UInt64) -> Bool {
            SiteRecord(site: Site(rawValue: 1), directory: stored).isOf(directory: other)
        }
        #expect(isOf(5, 5) && isOf(0, 5) && isOf(5, 0) && isOf(0, 0) && !isOf(5, 6))
    }

    /// A state, and a delta of the same document.
    private static let state: [UInt8] = [
        0, 19, 1, 7, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 0x8E, 0, 0, 0,
    ]
    private static let delta: [UInt8] = [
        1, 19, 1, 7, 0, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 15, 0, 0x20,
    ]

    @Test func `the payload of a document has a state, a delta or both`() throws {
        let (state, delta) = (Self.state, Self.delta)
        let read = { (bytes: UnsafeRawBufferPointer) throws in _ = try DocumentPayload(bytes) }
        let length = UInt8(state.count)
        let cases: [(bytes: [UInt8], error: Malformed?)] = [
            (all([1], state), nil), (all([2], delta), nil), (all([4], state), nil),
            (all([3, length], state, delta), nil), ([], .truncated(at: 0)),
            (all([0], state), .unexpected(0, at: 0)), (all([5], state), .unexpected(5, at: 0)),
            (all([1], delta), .invalid("a partial state", at: 1)),
            (all([4], delta), .invalid("a partial state", at: 1)),
            (all([2], state), .invalid("a complete delta", at: 1)),
            (all([3, length], state, state), .invalid("a complete delta", at: 1)),
            (all([3, UInt8(delta.count)], delta, delta), .invalid("a partial state", at: 1)),
            (all([3, length], state), .truncated(at: 0)), ([3, length], .truncated(at: 1)),
        ]
        for (bytes, error) in cases { #expect(refusal(bytes, read) == error, "\(bytes)") }
        for kind: UInt8 in 1...4 {
            let single = all([kind], kind == 2 ? delta : state)
            let bytes = kind == 3 ? all([3, length], state, delta) : single
            try bytes.withUnsafeBytes { bytes in
                let payload = try DocumentPayload(bytes)
                #expect((payload.state != nil) == (kind != 2))
                #expect((payload.delta != nil) == (kind == 2 || kind == 3))
                #expect(payload.isComplete == (kind == 4))
                let plain = try DocumentPayload.plainState(bytes)
                #expect((plain != nil) == (kind == 1 || kind == 4))
                let times = try payload.vector().entries.map(\.time.rawValue)
                #expect(times == [10])
                #expect(try payload.baseVector() == VersionVector())
            }
        }
        #expect(DocumentPayload.encode(state: state) == [1] + state)
        #expect(DocumentPayload.encode(delta: delta) == [2] + delta)
        let both = DocumentPayload.encode(state: state, delta: delta)
        #expect(both == [3, length] + state + delta)
        let isNone = try all([1], delta).withUnsafeBytes {
            try DocumentPayload.plainState($0) == nil
        }
        #expect(isNone)
    }

    // MARK: Shards of hub logs

    /// The fields of a stored shard before its authors: log, entry, digest, commit, time.
    private func shard(_ entry: UInt64, _ digest: UInt64, _ more: [UInt8]) -> [UInt8] {
        numbers([1, 2, entry, digest, 3, 4], more)
    }

    @Test func `a stored shard is refused at its first wrong field`() {
        let read = { (bytes: UnsafeRawBufferPointer) throws in
            _ = try StoredShard(decoding: bytes)
        }
        let first = numbers([1, 1, 5, 6])
        let noAuthor = "an author without a site or an opening"
        let noOrder = "authors that do not ascend"
        let noMessage = "a checksum of no message"
        let cases: [(bytes: [UInt8], error: Malformed?)] = [
            (shard(0, 0, [0]), nil), (shard(1, 0, [0]), nil), (shard(1, 9, [0]), nil),
            (shard(0, 9, [0]), .invalid("a digest of no entries", at: 16)),
            (shard(1, 0, all([1], first)), nil), (shard(1, 0, [1]), .truncated(at: 48)),
            (shard(1, 0, all([1], numbers([0, 1, 5, 6]))), .invalid(noAuthor, at: 49)),
            (shard(1, 0, all([1], numbers([1, 0, 5, 6]))), .invalid(noAuthor, at: 49)),
            (shard(1, 0, all([1], numbers([1, 1, 0, 0]))), nil),
            (shard(1, 0, all([1], numbers([1, 1, 0, 6]))), .invalid(noMessage, at: 49)),
            (shard(1, 0, all([2], first, numbers([1, 2, 5, 6]))), nil),
            (shard(1, 0, all([2], first, numbers([2, 1, 5, 6]))), nil),
            (shard(1, 0, all([2], first, first)), .invalid(noOrder, at: 81)),
            (shard(1, 0, all([2], numbers([1, 2, 5, 6]), first)), .invalid(noOrder, at: 81)),
            (shard(1, 0, [0, 0]), .invalid("bytes after the last field", at: 49)),
            (
                shard(1, 0, [0x81, 0x08]),
                .invalid("1025 authors, more than the 1024 allowed,", at: 48)
            ),
            (shard(1, 0, [0x80, 0x08]), .truncated(at: 48)),
        ]
        for (bytes, error) in cases { #expect(refusal(bytes, read) == error, "\(bytes)") }
    }

    @Test func `a store continues a shard before the messages of silent authors`() {
        let author = AuthorPosition(
            author: HubAuthor(site: Site(rawValue: 1), opening: 2), sequence: 3, checksum: 4)
        func position(_ earlier: UInt64?) -> ShardPosition {
            ShardPosition(
                entry: 9, digest: 90, authors: [author],
                continuingFrom: earlier.map { ShardPosition.Entry($0, digest: $0 * 10) })
        }
        for entry: UInt64 in [9, 10] {
            #expect(position(entry) == position(nil))
            #expect(position(entry).continuation == position(nil))
        }
        let earlier = position(8).continuation
        #expect(position(8) != position(nil) && position(8).entry == 9)
        #expect(earlier == ShardPosition(entry: 8, digest: 80, authors: [author]))
        #expect(earlier.continuation == earlier)
        let stored = StoredShard(
            log: XXH3.Hash128(low: 1, high: 2), position: position(8), commit: 5,
            wallMilliseconds: 6)
        #expect(stored.position == earlier)
        let bytes = stored.bytes
        let read = bytes.withUnsafeBytes { try? StoredShard(decoding: $0) }
        #expect(read == stored && bytes.count == 48 + 1 + 32)
    }
}
