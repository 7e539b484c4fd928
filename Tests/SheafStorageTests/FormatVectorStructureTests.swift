import SheafStorage
import SheafTestSupport
import Testing

/// Each structure of `format-spec/log.md` alone: decoded, reencoded, or refused.
@Suite struct FormatVectorStructureTests {
    private let valid: FormatVectors
    private let refused: FormatVectors
    private let store = FormatVectorStore.id

    init() throws {
        valid = try FormatVectors("structures.txt")
        refused = try FormatVectors("refused.txt")
    }

    /// Returns the bytes at their offset in a file, after zeros.
    private func inFile(_ bytes: [UInt8], at offset: Int) -> [UInt8] {
        [UInt8](repeating: 0, count: offset) + bytes
    }

    @Test func `the vectors of structures are excerpts of the store`() throws {
        let structures = FormatVectorStructures(try FormatVectorFiles().files)
        #expect(valid.cases == structures.valid.map(\.name))
        for structure in structures.valid {
            #expect(try valid.bytes("\(structure.name).bytes") == structure.bytes)
        }
        #expect(refused.cases == structures.refused.map(\.name))
        for structure in structures.refused {
            #expect(try refused.bytes("\(structure.name).bytes") == structure.bytes)
        }
    }

    @Test func `headers decode to the documented fields and reencode to the same bytes`() throws {
        for name in ["header-log", "header-base"] {
            let bytes = try valid.bytes("\(name).bytes")
            let header = try bytes.withUnsafeBytes { try SegmentHeader(decoding: $0) }
            #expect(header.encoded() == bytes)
            #expect(header.store == store)
            #expect(UInt64(header.kind.rawValue) == (try valid.number("\(name).kind")))
            let segments = (UInt64(header.segments.lowerBound), UInt64(header.segments.upperBound))
            #expect(segments.0 == (try valid.number("\(name).first-segment")))
            #expect(segments.1 == (try valid.number("\(name).last-segment")))
            #expect(header.firstCommit == (try valid.number("\(name).first-commit")))
            #expect(header.createdAt == (try valid.number("\(name).created-at")))
            #expect(header.chainHash == (try valid.number("\(name).link")))
            #expect(header.compactedThrough == (try valid.number("\(name).compacted-through")))
            #expect(header.checksum == (try valid.number("\(name).checksum")))
        }
    }

    @Test func `records decode to the documented fields and reencode to the same bytes`() throws {
        for name in valid.cases where name.hasPrefix("record-") {
            let bytes = try valid.bytes("\(name).bytes")
            let position = LogPosition(rawValue: try valid.number("\(name).position"))
            try inFile(bytes, at: position.offset).withUnsafeBytes { file in
                let record = try Record(
                    decoding: file, at: position.offset, segment: position.segment, store: store)
                #expect(UInt64(record.kind.rawValue) == (try valid.number("\(name).kind")))
                #expect(record.commit == (try valid.number("\(name).commit")))
                #expect(record.checksum == (try valid.number("\(name).checksum")))
                #expect(record.previousChecksum == (try valid.number("\(name).previous-checksum")))
                #expect(record.synced.rawValue == (try valid.number("\(name).synced")))
                #expect(record.time == (try valid.number("\(name).time")))
                #expect(record.operationCount == (try valid.integer("\(name).count")))
                #expect(UInt64(record.part) == (try valid.number("\(name).part")))
                #expect(encoded(record) == bytes, "\(name)")
            }
        }
    }

    private func encoded(_ record: Record) -> [UInt8] {
        let draft = Record.Draft(
            kind: record.kind, bodyLength: record.body.count, commit: record.commit,
            position: record.position, time: record.time, operationCount: record.operationCount,
            part: record.part)
        var bytes = [UInt8](repeating: 0xEE, count: Record.length(ofBody: record.body.count))
        bytes.withUnsafeMutableBytes { target in
            Record.layOut(draft, over: target)
            UnsafeMutableRawBufferPointer(rebasing: target[Record.headerLength...])
                .copyBytes(from: record.body)
            let checksum = Record.seal(
                target, previous: record.previousChecksum, synced: record.synced, store: store)
            #expect(checksum == record.checksum)
        }
        return bytes
    }

    @Test func `operations decode to the documented fields`() throws {
        for name in ["operation-put", "operation-remove", "operation-delta"] {
            let bytes = try valid.bytes("\(name).bytes")
            try bytes.withUnsafeBytes { bytes in
                let operation = try Operation(decoding: bytes, at: 0)
                #expect(UInt64(operation.kind.rawValue) == (try valid.number("\(name).kind")))
                #expect(Array(operation.key) == (try valid.bytes("\(name).key")))
                #expect(Array(operation.payload) == (try valid.bytes("\(name).payload")))
                #expect(operation.previous.rawValue == (try valid.number("\(name).previous")))
                #expect(operation.distance == (try valid.integer("\(name).distance")))
                #expect(operation.length == bytes.count)
            }
        }
    }

    @Test func `footers decode to the documented fields and reencode to the same bytes`() throws {
        for name in ["footer-log", "footer-base"] {
            let bytes = try valid.bytes("\(name).bytes")
            let length = try valid.integer("\(name).content-length")
            let found = inFile(bytes, at: length).withUnsafeBytes {
                SegmentFooter(decoding: $0, at: length, store: store)
            }
            let footer = try #require(found)
            #expect(footer.encoded(store: store) == bytes)
            #expect(footer.recordCount == (try valid.number("\(name).record-count")))
            #expect(footer.lastCommit == (try valid.number("\(name).last-commit")))
            #expect(footer.lastCommitAt == (try valid.number("\(name).last-commit-at")))
            #expect(footer.hash == (try valid.number("\(name).hash")))
            #expect(footer.chainHash == (try valid.number("\(name).link")))
            #expect(footer.directoryOffset == (try valid.integer("\(name).directory-offset")))
            #expect(footer.synced.rawValue == (try valid.number("\(name).synced")))
            #expect(
                footer.removalsCompactedThrough.rawValue
                    == (try valid.number("\(name).removals-compacted-through")))
        }
    }

    @Test func `an invalid structure is refused at the documented offset`() throws {
        for name in refused.cases {
            let bytes = try refused.bytes("\(name).bytes")
            let kind = try refused.text("\(name).kind")
            var error: FormatError?
            do throws(FormatError) {
                try decode(bytes, as: kind)
            } catch let found {
                error = found
            }
            if kind == "footer" {
                // An invalid footer counts as missing, so there is no further detail.
                #expect(error?.offset == 0, "\(name)")
                continue
            }
            #expect(error?.offset == (try refused.integer("\(name).at")), "\(name)")
            #expect(error?.isUnsupported == refused.has("\(name).unsupported"), "\(name)")
        }
    }

    /// Decodes bytes at their offset in a file; error offsets are relative to the structure.
    private func decode(_ bytes: [UInt8], as kind: String) throws(FormatError) {
        let (segment, offset): (UInt32, Int) =
            switch kind {
            case "header": (3, 0)
            case "record": (3, 128)
            case "operations": (3, 224)
            case "footer": (3, 384)
            case "compacted": (1, 128)
            default: (1, 344)
            }
        let file = inFile(bytes, at: offset)
        try file.span.withUnsafeBytes { file throws(FormatError) in
            switch kind {
            case "header": _ = try SegmentHeader(decoding: file)
            case "footer":
                guard SegmentFooter(decoding: file, at: offset, store: store) == nil else { return }
                throw FormatError(at: 0, "missing footer")
            case "record":
                do throws(FormatError) {
                    _ = try Record(decoding: file, at: offset, segment: segment, store: store)
                } catch {
                    throw FormatError(
                        at: error.offset - offset, error.reason, isUnsupported: error.isUnsupported)
                }
            default:
                let record = try Record(
                    decoding: file, at: offset, segment: segment, store: store)
                switch kind {
                case "compacted": _ = try CompactedRecord(record, of: 1...2)
                case "directory": _ = try CompactedDirectory(record, limit: offset)
                default:
                    var operations = OperationSequence(record)
                    while try operations.next() != nil {}
                }
            }
        }
    }
}
