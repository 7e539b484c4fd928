import SheafBytes

/// The body of a record in a base file, which holds operations of many commits.
///
/// The bytes are in `format-spec/log.md`, table 6.
///
///     entry:  0          8        16       20       24
///             | position | commit | offset | length |
///
/// The entries precede the operations, sorted by position; `offset` counts from the record's start.
package struct CompactedRecord {
    /// The original position and commit of an operation, and its range in this record.
    package struct Entry: Equatable {
        package let position: LogPosition
        package let commit: CommitID
        package let offset: Int
        package let length: Int
    }

    static let entryLength = 24
    /// The approximate length of a compacted record, which is verified as a unit on first access.
    static let targetLength = 32 << 10

    private let record: UnsafeRawBufferPointer
    package let count: Int

    /// Decodes a `compacted` record and checks that its entries are in order and within it.
    ///
    /// `segments` are the segments that the base file replaces.
    package init(
        _ record: Record, of segments: ClosedRange<UInt32>
    ) throws(FormatError) {
        let start = Record.headerLength
        guard record.kind == .compacted else {
            throw FormatError(at: Record.Layout.kind, "the record is not a compacted one")
        }
        guard record.operationCount >= 1,
            record.operationCount <= record.body.count / Self.entryLength
        else {
            throw FormatError(
                at: Record.Layout.operationCount, "the record's entry count is wrong")
        }
        self.record = record.bytes
        count = record.operationCount
        var end = start + count * Self.entryLength
        var last = LogPosition.none
        for index in 0..<count {
            let entry = self[index]
            guard entry.position > last, segments.contains(entry.position.segment),
                entry.offset == end,
                entry.length <= start + record.body.count - end
            else {
                throw FormatError(
                    at: start + index * Self.entryLength,
                    "an entry of the record is out of order or bounds")
            }
            let operation = try Operation(
                decoding: record.bytes.slice(0..<entry.offset + entry.length), at: entry.offset)
            guard operation.length == entry.length, operation.distance == entry.offset else {
                throw FormatError(at: entry.offset, "an operation does not fill its entry")
            }
            last = entry.position
            end += entry.length
        }
        guard end == start + record.body.count else {
            throw FormatError(at: end, "the record holds more than its entries")
        }
    }

    /// Wraps a `compacted` record that has already been verified.
    init(verified record: UnsafeRawBufferPointer) {
        self.record = record
        count = Int(record.loadInteger(Record.Layout.operationCount) as UInt32)
    }

    package subscript(index: Int) -> Entry {
        let offset = Record.headerLength + index * Self.entryLength
        return Entry(
            position: LogPosition(rawValue: record.loadInteger(offset)),
            commit: record.loadInteger(offset + 8),
            offset: Int(record.loadInteger(offset + 16) as UInt32),
            length: Int(record.loadInteger(offset + 20) as UInt32))
    }

    /// Returns the entry of the operation written at `position`; nil if it was compacted away.
    package func entry(at position: LogPosition) -> Entry? {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            let found: UInt64 = record.loadInteger(
                Record.headerLength + middle * Self.entryLength)
            if found < position.rawValue { low = middle + 1 } else { high = middle }
        }
        guard low < count else { return nil }
        let entry = self[low]
        return entry.position == position ? entry : nil
    }

    /// Decodes the operation of an entry of this record.
    package func operation(_ entry: Entry) throws(FormatError) -> Operation {
        try Operation(
            decoding: record.slice(0..<entry.offset + entry.length), at: entry.offset)
    }
}

/// The index of the compacted records of a base file (`format-spec/log.md`, table 7).
///
///     entry:  0                8               12            16
///             | first position | record offset | entry count |
package struct CompactedDirectory {
    static let entryLength = 16

    private let body: UnsafeRawBufferPointer

    /// Decodes a `directory` record; `limit` is the offset at which it starts.
    package init(_ record: Record, limit: Int) throws(FormatError) {
        guard record.kind == .directory, record.body.count % Self.entryLength == 0,
            record.operationCount == record.body.count / Self.entryLength
        else {
            throw FormatError(at: Record.Layout.kind, "the directory's kind or length is wrong")
        }
        body = record.body
        var last = LogPosition.none
        var end = SegmentHeader.length
        for index in 0..<count {
            let offset = recordOffset(index)
            guard firstPosition(index) > last, offset >= end, offset < limit else {
                throw FormatError(
                    at: Record.headerLength + index * Self.entryLength,
                    "an entry of the directory is out of order or bounds")
            }
            last = firstPosition(index)
            end = offset + Record.headerLength
        }
    }

    /// The number of compacted records in the file.
    package var count: Int { body.count / Self.entryLength }

    /// Returns the position of the first operation in a compacted record.
    package func firstPosition(_ index: Int) -> LogPosition {
        LogPosition(rawValue: body.loadInteger(index * Self.entryLength))
    }

    /// Returns the file offset of a compacted record.
    package func recordOffset(_ index: Int) -> Int {
        Int(body.loadInteger(index * Self.entryLength + 8) as UInt32)
    }

    /// Returns the number of entries in a compacted record.
    func entryCount(_ index: Int) -> Int {
        Int(body.loadInteger(index * Self.entryLength + 12) as UInt32)
    }

    /// Returns the offset of the only record that can hold `position`; nil before the first record.
    @inline(__always)
    package func record(for position: LogPosition) -> Int? {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            let first: UInt64 = body.loadInteger(middle * Self.entryLength)
            if first <= position.rawValue { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : recordOffset(low - 1)
    }
}
