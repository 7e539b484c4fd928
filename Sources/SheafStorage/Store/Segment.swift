import SheafBytes
import Synchronization

/// A segment file in memory: what readers need to find an operation by its position.
package final class Segment: Sendable {
    package let name: String
    package let header: SegmentHeader
    private let mapping: FileMapping
    private let sealed: Mutex<SegmentFooter?>
    private let readableLength: Atomic<Int>
    /// One bit for each 64 bytes: whether the record that starts there was verified.
    ///
    /// No two records start in the same 64 bytes, because a header alone is that long.
    nonisolated(unsafe) private let verified: UnsafeMutablePointer<Atomic<UInt64>>
    private let verifiedWords: Int
    /// The directory of a base file; its bytes belong to the mapping.
    nonisolated(unsafe) private let directory: FoldedDirectory?

    /// Opens a sealed file that is mapped whole.
    convenience init(
        name: String, header: SegmentHeader, footer: SegmentFooter, mapping: FileMapping
    ) throws(FormatError) {
        var directory: FoldedDirectory?
        if header.kind == .base {
            let record = try Record(
                decoding: mapping.bytes, at: footer.directoryOffset,
                segment: header.segments.lowerBound, store: header.store)
            do throws(FormatError) {
                directory = try FoldedDirectory(record, limit: footer.directoryOffset)
            } catch {
                throw error.shifted(by: footer.directoryOffset)
            }
        }
        self.init(
            name: name, header: header, mapping: mapping, directory: directory,
            readable: footer.contentLength, footer: footer)
    }

    /// Opens a log file that is still growing into its mapping.
    convenience init(
        name: String, header: SegmentHeader, growingInto mapping: FileMapping, readable: Int
    ) {
        self.init(
            name: name, header: header, mapping: mapping, directory: nil, readable: readable,
            footer: nil)
    }

    private init(
        name: String, header: SegmentHeader, mapping: FileMapping, directory: FoldedDirectory?,
        readable: Int, footer: SegmentFooter?
    ) {
        self.name = name
        self.header = header
        self.mapping = mapping
        self.directory = directory
        readableLength = Atomic(readable)
        sealed = Mutex(footer)
        verifiedWords = mapping.count / (64 * 64) + 1
        verified = .allocate(capacity: verifiedWords)
        for word in 0..<verifiedWords {
            (verified + word).initialize(to: Atomic(0))
        }
    }

    deinit {
        verified.deinitialize(count: verifiedWords)
        verified.deallocate()
    }

    /// The footer, once the segment is sealed.
    package var footer: SegmentFooter? { sealed.withLock { $0 } }

    /// The bytes that may be read: header and records.
    package var content: UnsafeRawBufferPointer {
        mapping.bytes.slice(0..<readableLength.load(ordering: .acquiring))
    }

    /// The bytes of a sealed segment with its footer, which a scanner needs to see the end.
    package var sealedBytes: UnsafeRawBufferPointer {
        guard let footer else { return content }
        return mapping.bytes.slice(0..<footer.contentLength + SegmentFooter.length)
    }

    /// Whether positions are offsets in the file, and not looked up in a directory.
    var isLog: Bool { directory == nil }

    /// Whether the first record goes on with a commit of the segment before.
    var continuesCommit: Bool {
        let bytes = content
        guard header.kind == .log, bytes.count >= SegmentHeader.length + Record.headerLength else {
            return false
        }
        let kind = Record.Kind(rawValue: bytes[SegmentHeader.length + Record.Layout.kind])
        return kind == .middle || kind == .last
    }

    /// Lets readers see records up to `length`.
    func grow(to length: Int) {
        readableLength.store(length, ordering: .releasing)
    }

    /// Notes that a footer seals the segment.
    func seal(with footer: SegmentFooter) {
        sealed.withLock { $0 = footer }
    }

    /// The operation that was first written at `position`.
    ///
    /// Nothing when compaction has folded it away; an error when the bytes there are damaged.
    package func operation(at position: LogPosition) throws(FormatError) -> Operation? {
        guard let directory else { return try loggedOperation(at: position.offset) }
        guard let offset = directory.record(for: position) else { return nil }
        let record = try verifiedRecord(at: offset)
        let folded = FoldedRecord(verified: record)
        guard let entry = folded.entry(at: position) else { return nil }
        return try folded.operation(entry)
    }

    /// The operation that was first written at `position`, and the commit that wrote it.
    func operationAndCommit(at position: LogPosition) throws(FormatError) -> LoggedOperation? {
        guard let directory else {
            let operation = try loggedOperation(at: position.offset)
            let record = position.offset - operation.distance
            return LoggedOperation(
                position: position,
                commit: content.loadInteger(record + Record.Layout.commit), operation: operation)
        }
        guard let offset = directory.record(for: position) else { return nil }
        let folded = FoldedRecord(verified: try verifiedRecord(at: offset))
        guard let entry = folded.entry(at: position) else { return nil }
        return LoggedOperation(
            position: position, commit: entry.commit, operation: try folded.operation(entry))
    }

    /// Returns the first operation of the commit that wrote an operation; nil if compaction has folded the commit, or
    /// the operation is in a later record of the commit.
    func firstOperation(ofCommitOf logged: LoggedOperation) throws(FormatError) -> Operation? {
        guard directory == nil else { return nil }
        let record = logged.position.offset - logged.operation.distance
        let kind = Record.Kind(rawValue: content[record + Record.Layout.kind])
        guard kind?.beginsCommit == true else { return nil }
        return try loggedOperation(at: record + Record.headerLength)
    }

    @inline(__always)
    private func loggedOperation(at offset: Int) throws(FormatError) -> Operation {
        let bytes = content
        guard offset <= bytes.count - Operation.headerLength else {
            throw FormatError(at: offset, "the position lies behind the end of the segment")
        }
        let distance = Int(bytes.loadInteger(offset + Operation.Layout.distance) as UInt32)
        guard distance >= Record.headerLength, distance <= offset - SegmentHeader.length else {
            throw FormatError(at: offset, "there is no operation at this position")
        }
        let start = offset - distance
        if !isVerified(start, in: bytes) { _ = try verifiedRecord(at: start) }
        let operation = try Operation(decoding: bytes, at: offset)
        // A damaged distance may lead to a right record, which is not the one that was meant.
        let length = Int(bytes.loadInteger(start + Record.Layout.length) as UInt32)
        guard distance + operation.length <= length else {
            throw FormatError(
                at: offset + Operation.Layout.distance, "the operation misplaces its record")
        }
        return operation
    }

    /// Whether a record that was verified starts at an offset, behind which is room for its header.
    ///
    /// What is not verified may say that its record starts where one has its middle: the bit of those
    /// 64 bytes does not tell the two apart, and the position in the header does.
    @inline(__always)
    func isVerified(_ offset: Int, in bytes: UnsafeRawBufferPointer) -> Bool {
        let word = (verified + offset / 4_096).pointee.load(ordering: .relaxed)
        guard word & (1 << UInt64(offset / 64 % 64)) != 0 else { return false }
        let position = bytes.loadInteger(offset + Record.Layout.position) as UInt64
        return position == UInt64(header.segments.lowerBound) << 32 | UInt64(offset)
    }

    /// The bytes of the record at `offset`, which is verified when it is touched first.
    private func verifiedRecord(at offset: Int) throws(FormatError) -> UnsafeRawBufferPointer {
        let bytes = content
        if offset <= bytes.count - Record.headerLength, isVerified(offset, in: bytes) {
            let length = Int(bytes.loadInteger(offset + Record.Layout.length) as UInt32)
            return bytes.slice(offset..<offset + length)
        }
        guard offset % Record.alignment == 0 else {
            throw FormatError(at: offset, "there is no record at this offset")
        }
        let record = try Record(
            decoding: bytes, at: offset, segment: header.segments.lowerBound,
            store: header.store)
        do throws(FormatError) {
            if header.kind == .base {
                _ = try FoldedRecord(record, of: header.segments)
            } else {
                var operations = OperationSequence(record)
                while try operations.next() != nil {}
            }
        } catch {
            throw error.shifted(by: offset)
        }
        // A right record of another life of this store is found by the one that follows it.
        let end = offset + record.bytes.count
        if end + Record.headerLength <= bytes.count,
            bytes.loadInteger(end + Record.Layout.previousChecksum) != record.checksum
        {
            throw FormatError(
                at: end + Record.Layout.previousChecksum,
                "the record does not follow the one before it")
        }
        let bit = UInt64(1) << UInt64(offset / 64 % 64)
        (verified + offset / 4_096).pointee.bitwiseOr(bit, ordering: .relaxed)
        return record.bytes
    }
}
