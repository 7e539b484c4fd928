import SheafStorage
import Testing

@Suite struct CommitSequenceTests {
    private let store = StoreID(low: 1, high: 2)

    private func record(_ kind: Record.Kind, commit: CommitID, part: UInt32 = 0) throws -> Record {
        let offset = SegmentHeader.length
        var file = [UInt8](repeating: 0, count: offset + Record.headerLength)
        return try file.withUnsafeMutableBytes { file in
            let target = UnsafeMutableRawBufferPointer(rebasing: file[offset...])
            Record.layOut(
                Record.Draft(
                    kind: kind, bodyLength: 0, commit: commit,
                    position: LogPosition(segment: 1, offset: offset), time: 0,
                    operationCount: 0, part: part),
                over: target)
            _ = Record.seal(target, previous: 0, synced: .none, store: store)
            // The buffer outlives the decoding, the only access to its bytes.
            return try Record(
                decoding: UnsafeRawBufferPointer(file), at: offset, segment: 1, store: store)
        }
    }

    @Test func `the last commit ID has no successor`() throws {
        var sequence = CommitSequence(after: .max)
        #expect(throws: FormatError.self) {
            try sequence.accept(record(.complete, commit: 0), startsSegment: true)
        }
        #expect(sequence.last == .max)
        sequence = CommitSequence(after: .max - 1)
        #expect(try sequence.accept(record(.complete, commit: .max), startsSegment: true))
        #expect(sequence.last == .max)
    }

    @Test func `the parts of a commit must be consecutive, and the last one completes it`() throws {
        var sequence = CommitSequence(after: 6)
        #expect(try !sequence.accept(record(.first, commit: 7), startsSegment: false))
        #expect(throws: FormatError.self) {
            try sequence.accept(record(.last, commit: 7, part: 2), startsSegment: false)
        }
        #expect(try !sequence.accept(record(.middle, commit: 7, part: 1), startsSegment: false))
        #expect(try sequence.accept(record(.last, commit: 7, part: 2), startsSegment: false))
        #expect(sequence.last == 7)
    }
}
