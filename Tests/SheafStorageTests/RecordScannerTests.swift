import SheafStorage
import SheafTestSupport
import Testing

/// Tests of the ends of segments, and of the records and footers that prove what was synced.
@Suite struct RecordScannerTests {
    private static let store = StoreID(low: 5, high: 6)
    private static let segment: UInt32 = 3

    private typealias Tests = RecordScannerTests

    /// A segment file that a test makes up.
    private struct File {
        var bytes: [UInt8]

        init(length: Int) { bytes = [UInt8](repeating: 0, count: length) }

        mutating func set(_ value: UInt64, at offset: Int) {
            bytes = FormatVectorBytes.setting(bytes, 8, at: offset, to: value)
        }

        /// Writes an empty record with a valid checksum.
        mutating func addRecord(at offset: Int, synced: Int, previous: UInt64 = 0) -> UInt64 {
            bytes.withUnsafeMutableBytes { bytes in
                let target = UnsafeMutableRawBufferPointer(rebasing: bytes[offset..<offset + 64])
                Record.layOut(
                    Record.Draft(
                        kind: .complete, bodyLength: 0, commit: 1,
                        position: LogPosition(segment: Tests.segment, offset: offset), time: 0,
                        operationCount: 0, part: 0),
                    over: target)
                return Record.seal(
                    target, previous: previous,
                    synced: LogPosition(segment: Tests.segment, offset: synced), store: Tests.store)
            }
        }

        mutating func addFooter(at offset: Int, synced: Int, store: StoreID = Tests.store) {
            let footer = SegmentFooter(
                contentLength: offset, recordCount: 0, lastCommit: 1, lastCommitAt: 2, hash: 3,
                chainHash: 4, synced: LogPosition(segment: Tests.segment, offset: synced))
            bytes.replaceSubrange(offset..<offset + 88, with: footer.encoded(store: store))
        }

        /// Whether a record or footer proves that bytes after an offset were synced.
        func proves(beyond offset: Int, _ store: StoreID?, segment: UInt32 = Tests.segment) -> Bool
        {
            bytes.withUnsafeBytes {
                RecordScanner.provesSynced($0, segment: segment, store: store, beyond: offset)
            }
        }
    }

    @Test func `a record proves what it records as synced, up to its own position`() {
        let position = UInt64(Self.segment) << 32
        for (synced, isProof) in [
            (199, false), (200, false), (201, true), (399, true), (400, true), (401, false),
        ] as [(UInt64, Bool)] {
            var file = File(length: 500)
            file.set(position | 400, at: 400 + 24)
            file.set(position | synced, at: 400 + 40)
            #expect(file.proves(beyond: 200, nil) == isProof, "\(synced)")
            // With the identifier of the store, the checksum must be right, too.
            #expect(!file.proves(beyond: 200, Self.store), "\(synced)")
            #expect(!file.proves(beyond: 200, nil, segment: 4), "\(synced)")
        }
        for synced in [201, 399, 400] {
            var file = File(length: 500)
            _ = file.addRecord(at: 400, synced: synced)
            #expect(file.proves(beyond: 200, Self.store) && file.proves(beyond: 200, nil))
            #expect(!file.proves(beyond: 200, StoreID(low: 4, high: 6)))
            #expect(!file.proves(beyond: synced, Self.store))
            file.bytes[460] ^= 1
            #expect(!file.proves(beyond: 200, Self.store) && file.proves(beyond: 200, nil))
        }
    }

    @Test func `a proof is sought at each multiple of eight up to the end of the file`() {
        for offset in stride(from: 256, through: 320, by: 4) {
            var file = File(length: 384)
            file.set(UInt64(Self.segment) << 32 | UInt64(offset), at: offset + 24)
            file.set(UInt64(Self.segment) << 32 | 250, at: offset + 40)
            #expect(file.proves(beyond: 249, nil) == (offset % 8 == 0), "\(offset)")
            file.bytes.removeLast(384 - offset - 64 + 1)
            #expect(!file.proves(beyond: 249, nil), "\(offset)")
        }
        var file = File(length: 400)
        file.set(UInt64(Self.segment) << 32 | 256, at: 256 + 24)
        file.set(UInt64(Self.segment) << 32 | 256, at: 256 + 40)
        for beyond in 240...270 {
            #expect(file.proves(beyond: beyond, nil) == (beyond < 256), "\(beyond)")
        }
    }

    @Test func `a footer proves what it records as synced, up to its own position`() {
        for (synced, isProof) in [
            (199, false), (200, false), (201, true), (400, true), (401, false),
        ] {
            var file = File(length: 488)
            file.addFooter(at: 400, synced: synced)
            #expect(file.proves(beyond: 200, Self.store) == isProof, "\(synced)")
            #expect(file.proves(beyond: 200, nil) == isProof, "\(synced)")
            // A footer of another store has no valid checksum.
            file.addFooter(at: 400, synced: synced, store: StoreID(low: 4, high: 6))
            #expect(!file.proves(beyond: 200, Self.store), "\(synced)")
            #expect(file.proves(beyond: 200, nil) == isProof, "\(synced)")
            file.bytes.removeLast()
            #expect(!file.proves(beyond: 200, nil), "\(synced)")
        }
    }

    /// Returns the steps of a scan after the header: the offsets of records, and the end.
    private func steps(_ bytes: [UInt8]) throws -> (records: [Int], end: String) {
        try bytes.withUnsafeBytes { bytes in
            let header = try SegmentHeader(decoding: bytes)
            var scanner = RecordScanner(file: bytes, header: header)
            var records: [Int] = []
            while true {
                switch scanner.next() {
                case .record(let record):
                    records.append(record.position.offset)
                    #expect(scanner.chain == record.checksum)
                    #expect(scanner.offset == record.end.offset)
                case .end(.unused(let offset)): return (records, "unused from \(offset)")
                case .end(.footer(let footer)):
                    return (records, "sealed at \(footer.contentLength)")
                case .end(.damage(let error)):
                    return (records, "\(error.offset): \(error.reason)")
                }
            }
        }
    }

    /// Returns a file with a header, and the checksum that its first record continues.
    private func segmentFile(length: Int) -> (file: File, chain: UInt64) {
        let header = SegmentHeader(
            kind: .log, store: Self.store, segments: Self.segment...Self.segment, firstCommit: 9,
            createdAt: 1, chainHash: 2)
        var file = File(length: length)
        file.bytes.replaceSubrange(0..<128, with: header.encoded())
        return (file, header.checksum)
    }

    @Test func `zeros after the last record are unused, and any other byte is damage`() throws {
        for zeros in 0..<20 {
            let made = segmentFile(length: 192 + zeros)
            var file = made.file
            _ = file.addRecord(at: 128, synced: 0, previous: made.chain)
            let found = try steps(file.bytes)
            #expect(found.records == [128] && found.end == "unused from 192", "\(zeros)")
            for offset in 192..<192 + zeros {
                var changed = file.bytes
                changed[offset] = 1
                let end = try steps(changed).end
                #expect(end == "192: the file ends inside a record header", "\(zeros) \(offset)")
            }
        }
        let found = try steps(segmentFile(length: 128).file.bytes)
        #expect(found.records == [] && found.end == "unused from 128")
    }

    @Test func `a record must follow the one before it`() throws {
        let made = segmentFile(length: 344)
        var file = made.file
        let first = file.addRecord(at: 128, synced: 0, previous: made.chain)
        let second = file.addRecord(at: 192, synced: 0, previous: first)
        file.addFooter(at: 256, synced: 0)
        let found = try steps(file.bytes)
        #expect(found.records == [128, 192] && found.end == "sealed at 256")
        _ = file.addRecord(at: 192, synced: 0, previous: second)
        let changed = try steps(file.bytes)
        #expect(changed.records == [128])
        #expect(changed.end == "224: the record does not follow the one before it")
    }

    @Test func `the last footer of a file is found before up to any number of zeros`() {
        for zeros in [0, 1, 7, 8, 9, 15, 16, 100] {
            var file = File(length: 256 + 88 + zeros)
            file.addFooter(at: 256, synced: 0)
            func last(_ bytes: [UInt8]) -> Int? {
                bytes.withUnsafeBytes { SegmentFooter.last(in: $0, store: Self.store) }?
                    .contentLength
            }
            #expect(last(file.bytes) == 256, "\(zeros)")
            for offset in 256 + 88..<256 + 88 + zeros {
                var changed = file.bytes
                changed[offset] = 7
                #expect(last(changed) == nil, "\(zeros) zeros, \(offset)")
            }
            #expect(last(Array(file.bytes.dropFirst(8))) == nil)
            #expect(last(Array(file.bytes.prefix(256 + 87))) == nil)
        }
    }
}
