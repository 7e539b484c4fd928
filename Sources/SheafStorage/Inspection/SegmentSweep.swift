/// A scan of a log file that continues after invalid bytes.
struct SegmentSweep {
    /// A part of the file: a record, a gap or the end.
    enum Step {
        /// A valid record; `chainBreak` is set if it does not follow its predecessor.
        case record(Record, chainBreak: FormatError?)
        /// Invalid bytes up to the next valid record or the end.
        case gap(Range<Int>, FormatError)
        case footer(SegmentFooter)
        /// The end of the file, or only zeros up to it.
        case unused(from: Int)
    }

    /// The maximum number of bytes hashed in search of records, as a multiple of the file length.
    ///
    /// Crafted bytes could look like the start of a record at every offset.
    private static let hashAllowance = 16

    private let file: UnsafeRawBufferPointer
    private let segment: UInt32
    private let store: StoreID
    private(set) var offset: Int
    /// The expected previous checksum of the next record; nil if it is unknown.
    private var chain: UInt64?
    private var hashBudget: Int

    /// Creates a scan from the end of the header; `chain` is the checksum of a valid header.
    init(file: UnsafeRawBufferPointer, segment: UInt32, store: StoreID, chain: UInt64?) {
        self.file = file
        self.segment = segment
        self.store = store
        self.chain = chain
        offset = SegmentHeader.length
        hashBudget = file.count * Self.hashAllowance
    }

    /// Returns the next record, gap or end; after an end, each further call returns the same end.
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
                        "the record does not follow its predecessor")
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

    /// The offset of the zeros at the end of the file.
    private var usedEnd: Int {
        var end = file.count
        while end >= 8, end - 8 >= offset, file.loadInteger(end - 8) as UInt64 == 0 { end -= 8 }
        while end > offset, file[end - 1] == 0 { end -= 1 }
        return end
    }

    /// Returns the offset of the next valid record or footer.
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
        let position = LogPosition(segment: segment, offset: candidate)
        // The position is compared before the checksum, because it rules out nearly all candidates.
        guard file.loadInteger(candidate + Record.Layout.position) == position.rawValue else {
            return false
        }
        let length = Int(file.loadInteger(candidate + Record.Layout.length) as UInt32)
        guard length <= min(file.count - candidate, hashBudget) else { return false }
        hashBudget -= length
        return (try? Record(decoding: file, at: candidate, segment: segment, store: store)) != nil
    }
}
