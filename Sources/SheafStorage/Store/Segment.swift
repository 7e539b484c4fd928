import SheafBytes
import Synchronization

/// A mapped segment file in which operations are found by position.
package final class Segment: Sendable {
    package let name: String
    package let header: SegmentHeader
    private let mapping: FileMapping
    private let sealed: Mutex<SegmentFooter?>
    private let readableLength: Atomic<Int>
    /// A bitmap with one bit per 64 bytes: whether the record that starts there is verified.
    ///
    /// Two records never start in the same 64 bytes, because a header is 64 bytes long.
    nonisolated(unsafe) private let verified: UnsafeMutablePointer<Atomic<UInt64>>
    private let verifiedWords: Int
    /// The directory of a base file; its bytes belong to the mapping.
    nonisolated(unsafe) private let directory: CompactedDirectory?

    /// Opens a sealed file that is completely mapped.
    convenience init(
        name: String, header: SegmentHeader, footer: SegmentFooter, mapping: FileMapping
    ) throws(FormatError) {
        var directory: CompactedDirectory?
        if header.kind == .base {
            let record = try Record(
                decoding: mapping.bytes, at: footer.directoryOffset,
                segment: header.segments.lowerBound, store: header.store)
            do throws(FormatError) {
                directory = try CompactedDirectory(record, limit: footer.directoryOffset)
            } catch {
                throw error.shifted(by: footer.directoryOffset)
            }
        }
        self.init(
            name: name, header: header, mapping: mapping, directory: directory,
            readable: footer.contentLength, footer: footer)
    }

    /// Opens a log file that is still growing in its mapping.
    convenience init(
        name: String, header: SegmentHeader, growingInto mapping: FileMapping, readable: Int
    ) {
        self.init(
            name: name, header: header, mapping: mapping, directory: nil, readable: readable,
            footer: nil)
    }

    private init(
        name: String, header: SegmentHeader, mapping: FileMapping, directory: CompactedDirectory?,
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

    /// The footer, or nil if the segment is not sealed.
    package var footer: SegmentFooter? { sealed.withLock { $0 } }

    /// The readable bytes: header and records.
    package var content: UnsafeRawBufferPointer {
        mapping.bytes.slice(0..<readableLength.load(ordering: .acquiring))
    }

    /// The bytes of a sealed segment including its footer, which a scanner needs.
    package var sealedBytes: UnsafeRawBufferPointer {
        guard let footer else { return content }
        return mapping.bytes.slice(0..<footer.contentLength + SegmentFooter.length)
    }

    /// The file with all of its records.
    var file: LogContents.File {
        let footer = footer
        let length = footer.map { $0.contentLength + SegmentFooter.length } ?? content.count
        return LogContents.File(
            name: name, header: header, footer: footer, mapping: mapping.prefix(length))
    }

    /// Returns the file with its records up to an offset.
    func file(upTo offset: Int) -> LogContents.File {
        LogContents.File(
            name: name, header: header, footer: nil, mapping: mapping.prefix(offset))
    }

    /// Whether positions are file offsets rather than directory entries.
    var isLog: Bool { directory == nil }

    /// Whether the first record continues a commit of the previous segment.
    var continuesCommit: Bool {
        let bytes = content
        guard header.kind == .log, bytes.count >= SegmentHeader.length + Record.headerLength else {
            return false
        }
        let kind = Record.Kind(rawValue: bytes[SegmentHeader.length + Record.Layout.kind])
        return kind == .middle || kind == .last
    }

    /// Makes the records up to `length` visible to readers.
    func grow(to length: Int) {
        readableLength.store(length, ordering: .releasing)
    }

    /// Makes the footer visible to readers; the segment does not grow any more.
    func seal(with footer: SegmentFooter) {
        sealed.withLock { $0 = footer }
    }

    /// Returns the operation originally written at `position`.
    ///
    /// Returns nil if compaction has dropped it; throws if the bytes are damaged.
    package func operation(at position: LogPosition) throws(FormatError) -> Operation? {
        guard let directory else { return try loggedOperation(at: position.offset) }
        guard let offset = directory.record(for: position) else { return nil }
        let record = try verifiedRecord(at: offset)
        let compacted = CompactedRecord(verified: record)
        guard let entry = compacted.entry(at: position) else { return nil }
        return try compacted.operation(entry)
    }

    /// Returns the operation originally written at `position`, with its commit.
    func operationAndCommit(at position: LogPosition) throws(FormatError) -> LoggedOperation? {
        guard let directory else {
            let operation = try loggedOperation(at: position.offset)
            let record = position.offset - operation.distance
            return LoggedOperation(
                position: position,
                commit: content.loadInteger(record + Record.Layout.commit), operation: operation)
        }
        guard let offset = directory.record(for: position) else { return nil }
        let compacted = CompactedRecord(verified: try verifiedRecord(at: offset))
        guard let entry = compacted.entry(at: position) else { return nil }
        return LoggedOperation(
            position: position, commit: entry.commit, operation: try compacted.operation(entry))
    }

    /// Returns the first operation of the commit that wrote an operation.
    ///
    /// Returns nil if compaction has rewritten the commit, or the operation is in a later record of
    /// the commit.
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
            throw FormatError(at: offset, "the position is past the end of the segment")
        }
        let distance = Int(bytes.loadInteger(offset + Operation.Layout.distance) as UInt32)
        guard distance >= Record.headerLength, distance <= offset - SegmentHeader.length else {
            throw FormatError(at: offset, "there is no operation at this position")
        }
        let start = offset - distance
        if !isVerified(start, in: bytes) { _ = try verifiedRecord(at: start) }
        let operation = try Operation(decoding: bytes, at: offset)
        // A damaged distance may point to a valid record that does not contain the operation.
        let length = Int(bytes.loadInteger(start + Record.Layout.length) as UInt32)
        guard distance + operation.length <= length else {
            throw FormatError(
                at: offset + Operation.Layout.distance,
                "the distance to the start of the record is wrong")
        }
        return operation
    }

    /// Whether a verified record starts at `offset`, after which a record header must fit.
    ///
    /// Unverified bytes may refer to an offset within a verified record, which can share the
    /// record's bit of the bitmap. The position in the header is therefore compared, too.
    @inline(__always)
    func isVerified(_ offset: Int, in bytes: UnsafeRawBufferPointer) -> Bool {
        let word = (verified + offset / 4_096).pointee.load(ordering: .relaxed)
        guard word & (1 << UInt64(offset / 64 % 64)) != 0 else { return false }
        let position = bytes.loadInteger(offset + Record.Layout.position) as UInt64
        return position == UInt64(header.segments.lowerBound) << 32 | UInt64(offset)
    }

    /// Returns the bytes of the record at `offset`, verifying it on first access.
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
                _ = try CompactedRecord(record, of: header.segments)
            } else {
                var operations = OperationSequence(record)
                while try operations.next() != nil {}
            }
        } catch {
            throw error.shifted(by: offset)
        }
        // A valid record of an earlier version of the file fails this check of its successor.
        let end = offset + record.bytes.count
        if end + Record.headerLength <= bytes.count,
            bytes.loadInteger(end + Record.Layout.previousChecksum) != record.checksum
        {
            throw FormatError(
                at: end + Record.Layout.previousChecksum,
                "the record does not follow its predecessor")
        }
        let bit = UInt64(1) << UInt64(offset / 64 % 64)
        (verified + offset / 4_096).pointee.bitwiseOr(bit, ordering: .relaxed)
        return record.bytes
    }
}
