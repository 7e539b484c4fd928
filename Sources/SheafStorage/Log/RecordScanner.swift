/// An iterator over the records of one segment file that reports how the segment ends.
package struct RecordScanner {
    /// A record, or the end of the segment.
    package enum Step {
        case record(Record)
        case end(End)
    }

    /// The way in which a segment ends.
    package enum End {
        /// A valid footer, which seals the segment.
        case footer(SegmentFooter)
        /// The end of the file, or only zeros up to it.
        case unused(offset: Int)
        /// Bytes that are neither a valid record nor a footer.
        case damage(FormatError)
    }

    private let file: UnsafeRawBufferPointer
    private let segment: UInt32
    private let store: StoreID
    /// The offset of the next record.
    package private(set) var offset: Int
    /// The checksum that the next record must have as its previous checksum.
    package private(set) var chain: UInt64

    /// Creates a scanner that starts after the header of a file.
    package init(file: UnsafeRawBufferPointer, header: SegmentHeader) {
        self.init(
            file: file, segment: header.segments.lowerBound, store: header.store,
            offset: SegmentHeader.length, chain: header.checksum)
    }

    /// Creates a scanner that starts at `offset`, after a record with the checksum `chain`.
    package init(
        file: UnsafeRawBufferPointer, segment: UInt32, store: StoreID, offset: Int, chain: UInt64
    ) {
        self.file = file
        self.segment = segment
        self.store = store
        self.offset = offset
        self.chain = chain
    }

    /// Returns the next record, or the end of the segment.
    ///
    /// After an end, each further call returns the same end.
    package mutating func next() -> Step {
        if let footer = SegmentFooter(decoding: file, at: offset, store: store) {
            return .end(.footer(footer))
        }
        do throws(FormatError) {
            let record = try Record(decoding: file, at: offset, segment: segment, store: store)
            guard record.previousChecksum == chain else {
                throw FormatError(
                    at: offset + Record.Layout.previousChecksum,
                    "the record does not follow the one before it")
            }
            offset += record.bytes.count
            chain = record.checksum
            return .record(record)
        } catch {
            return .end(isUnused(from: offset) ? .unused(offset: offset) : .damage(error))
        }
    }

    /// Whether a record or footer after `offset` proves that the log was synced beyond `offset`.
    ///
    /// Synced bytes cannot be torn by a crash, so if they are invalid they were damaged. Without a
    /// store identifier checksums cannot be verified; a position field that matches its own offset,
    /// or the magic number of a footer, suffices.
    package static func provesSynced(
        _ file: UnsafeRawBufferPointer, segment: UInt32, store: StoreID?, beyond offset: Int
    ) -> Bool {
        let position = LogPosition(segment: segment, offset: offset)
        var candidate = (offset + 7) & ~7
        while candidate + Record.headerLength <= file.count {
            defer { candidate += Record.alignment }
            let here = LogPosition(segment: segment, offset: candidate)
            if file.loadInteger(candidate + Record.Layout.position) == here.rawValue {
                let synced = LogPosition(
                    rawValue: file.loadInteger(candidate + Record.Layout.synced))
                if synced > position, synced <= here,
                    store.map({
                        (try? Record(
                            decoding: file, at: candidate, segment: segment, store: $0)) != nil
                    }) ?? true
                {
                    return true
                }
            }
            guard candidate + SegmentFooter.length <= file.count,
                file.loadInteger(candidate) as UInt64 == SegmentFooter.magic
            else { continue }
            let synced = LogPosition(
                rawValue: file.loadInteger(candidate + SegmentFooter.Layout.synced))
            if synced > position, synced <= here,
                store.map({ SegmentFooter(decoding: file, at: candidate, store: $0) != nil })
                    ?? true
            {
                return true
            }
        }
        return false
    }

    private func isUnused(from offset: Int) -> Bool {
        var index = offset
        while index + 8 <= file.count {
            guard file.loadInteger(index) as UInt64 == 0 else { return false }
            index += 8
        }
        return file[min(index, file.count)...].allSatisfy { $0 == 0 }
    }
}

/// A check that the records form commits without a gap: commit IDs and record indices.
package struct CommitSequence {
    /// The last complete commit.
    package private(set) var last: CommitID
    /// The position of the first record of an incomplete commit.
    package private(set) var openStart: LogPosition?
    private var nextPart: UInt32 = 0

    package init(after last: CommitID) {
        self.last = last
    }

    /// Accepts the next record of the log; returns whether it completes its commit.
    ///
    /// A crash may leave an incomplete commit at the end of a sealed segment. The next segment then
    /// begins with the same commit.
    package mutating func accept(
        _ record: Record, startsSegment: Bool
    ) throws(FormatError) -> Bool {
        guard record.kind != .compacted, record.kind != .directory else {
            throw FormatError(
                at: record.position.offset + Record.Layout.kind,
                "a log segment holds a record of a base file")
        }
        guard last < .max, record.commit == last + 1 else {
            throw FormatError(
                at: record.position.offset + Record.Layout.commit,
                "commit \(record.commit) follows commit \(last)")
        }
        if record.kind.beginsCommit {
            guard openStart == nil || startsSegment else {
                throw FormatError(
                    at: record.position.offset + Record.Layout.kind,
                    "a commit begins before the previous commit has ended")
            }
            openStart = record.position
            nextPart = 0
        }
        guard openStart != nil, record.part == nextPart else {
            throw FormatError(
                at: record.position.offset + Record.Layout.part,
                "the records of commit \(record.commit) are not in order")
        }
        nextPart += 1
        guard record.kind.endsCommit else { return false }
        last = record.commit
        openStart = nil
        return true
    }

    /// Discards an incomplete commit at the end of the log.
    package mutating func abandonOpenCommit() {
        openStart = nil
    }
}
