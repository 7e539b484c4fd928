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

    @Test func `records that do not continue the sequence are refused at the field that shows it`()
        throws
    {
        var sequence = CommitSequence(after: 6)
        func refusal(_ kind: Record.Kind, commit: CommitID, part: UInt32 = 0, starts: Bool = false)
            throws -> String?
        {
            let record = try record(kind, commit: commit, part: part)
            do throws(FormatError) {
                _ = try sequence.accept(record, startsSegment: starts)
                return nil
            } catch {
                return "\(error.offset - 128): \(error.reason)"
            }
        }
        for kind in [Record.Kind.compacted, .directory] {
            #expect(
                try refusal(kind, commit: 7) == "12: a log segment holds a record of a base file")
        }
        #expect(try refusal(.complete, commit: 6) == "16: commit 6 follows commit 6")
        #expect(try refusal(.complete, commit: 8) == "16: commit 8 follows commit 6")
        let disorder = "60: the records of commit 7 are not in order"
        #expect(try refusal(.middle, commit: 7) == disorder)
        #expect(try refusal(.last, commit: 7) == disorder)
        #expect(sequence.openStart == nil && sequence.last == 6)
        #expect(try refusal(.first, commit: 7) == nil)
        #expect(sequence.openStart == LogPosition(segment: 1, offset: 128))
        let early = "12: a commit begins before the previous commit has ended"
        #expect(try refusal(.first, commit: 7) == early)
        #expect(try refusal(.complete, commit: 7) == early)
        #expect(try refusal(.middle, commit: 7, part: 2) == disorder)
        // A crash may have left an incomplete commit at the end of the segment before.
        #expect(try refusal(.first, commit: 7, starts: true) == nil)
        #expect(try refusal(.middle, commit: 7, part: 1) == nil)
        #expect(try refusal(.first, commit: 7, starts: true) == nil)
        #expect(try refusal(.middle, commit: 7, part: 2) == disorder)
        #expect(sequence.last == 6)
        sequence.abandonOpenCommit()
        #expect(sequence.openStart == nil)
        #expect(try refusal(.last, commit: 7, part: 1) == disorder)
        #expect(try refusal(.complete, commit: 7) == nil)
        #expect(sequence.last == 7 && sequence.openStart == nil)
    }
}
