/// Walks a file of the log from end to end, and goes on behind bytes that make no sense.
struct SegmentSweep {
    /// What comes next in the file.
    enum Step {
        /// A record that is right in itself; a break when it does not follow the one before.
        case record(Record, chainBreak: FormatError?)
        /// Bytes that are no record, up to the next one that is, or to the end.
        case gap(Range<Int>, FormatError)
        case footer(SegmentFooter)
        /// Only zeros follow, or nothing.
        case unused(from: Int)
    }

    /// Looking for records behind a gap hashes at most this many times the bytes of the file: there
    /// may be bytes that look like the beginning of a record everywhere.
    private static let hashAllowance = 16

    private let file: UnsafeRawBufferPointer
    private let segment: UInt32
    private let store: StoreID
    private(set) var offset: Int
    /// The checksum that the next record must name; none where it is not known.
    private var chain: UInt64?
    private var hashBudget: Int

    /// Starts behind the header; `chain` is the header's checksum, if the header is right.
    init(file: UnsafeRawBufferPointer, segment: UInt32, store: StoreID, chain: UInt64?) {
        self.file = file
        self.segment = segment
        self.store = store
        self.chain = chain
        offset = SegmentHeader.length
        hashBudget = file.count * Self.hashAllowance
    }

    /// The next record, gap or end; after an end, every further step is the same.
    mutating func next() -> Step {
        guard offset < file.count else { return .unused(from: min(offset, file.count)) }
        if let footer = SegmentFooter(decoding: file, at: offset, store: store) {
            return .footer(footer)
        }
        do throws(FormatError) {
            let record = try Record(decoding: file, at: offset, segment: segment, store: store)
            let chainBreak = chain.flatMap { expected in
                record.previousChecksum == expected
                    ? nil
                    : FormatError(
                        at: offset + Record.Layout.previousChecksum,
                        "the record does not follow the one before it")
            }
            offset += record.bytes.count
            chain = record.checksum
            return .record(record, chainBreak: chainBreak)
        } catch {
            let end = usedEnd
            guard offset < end else { return .unused(from: offset) }
            let start = offset
            offset = nextAnchor(after: start) ?? end
            chain = nil
            return .gap(start..<offset, error)
        }
    }

    /// Where the zeros at the end of the file begin.
    private var usedEnd: Int {
        var end = file.count
        while end >= 8, end - 8 >= offset, file.loadInteger(end - 8) as UInt64 == 0 { end -= 8 }
        while end > offset, file[end - 1] == 0 { end -= 1 }
        return end
    }

    /// The next place where a record or a footer stands that is right in itself.
    private mutating func nextAnchor(after start: Int) -> Int? {
        var candidate = start + Record.alignment
        while candidate + Record.headerLength <= file.count {
            defer { candidate += Record.alignment }
            if isRecord(at: candidate) { return candidate }
            let isFooter = SegmentFooter(decoding: file, at: candidate, store: store) != nil
            if isFooter { return candidate }
        }
        return nil
    }

    private mutating func isRecord(at candidate: Int) -> Bool {
        let here = LogPosition(segment: segment, offset: candidate)
        // The position is compared before the checksum: it rules out nearly everything.
        guard file.loadInteger(candidate + Record.Layout.position) == here.rawValue else {
            return false
        }
        let length = Int(file.loadInteger(candidate + Record.Layout.length) as UInt32)
        guard length <= min(file.count - candidate, hashBudget) else { return false }
        hashBudget -= length
        return (try? Record(decoding: file, at: candidate, segment: segment, store: store)) != nil
    }
}
