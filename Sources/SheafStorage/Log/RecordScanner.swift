/// Walks the records of one segment file from a known place, and says how the walk ended.
package struct RecordScanner {
    /// One step of the walk.
    package enum Step {
        case record(Record)
        case end(End)
    }

    /// Where the segment stops making sense, and how.
    package enum End {
        /// A footer seals the segment here.
        case footer(SegmentFooter)
        /// Only zeros follow, or nothing.
        case unused(offset: Int)
        /// Something follows that is neither a record nor a footer.
        case damage(FormatError)
    }

    private let file: UnsafeRawBufferPointer
    private let segment: UInt32
    private let store: StoreID
    /// Where the next record would start.
    package private(set) var offset: Int
    /// The checksum that the next record must name as its predecessor's.
    package private(set) var chain: UInt64

    /// Starts after the header of a file.
    package init(file: UnsafeRawBufferPointer, header: SegmentHeader) {
        self.init(
            file: file, segment: header.segments.lowerBound, store: header.store,
            offset: SegmentHeader.length, chain: header.checksum)
    }

    /// Starts at `offset`, after a record with the checksum `chain`.
    package init(
        file: UnsafeRawBufferPointer, segment: UInt32, store: StoreID, offset: Int, chain: UInt64
    ) {
        self.file = file
        self.segment = segment
        self.store = store
        self.offset = offset
        self.chain = chain
    }

    /// The next record, or how the segment ends.
    ///
    /// After an end, every further step is the same.
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

    /// Whether a record or footer behind `offset` proves that the log was synced beyond it.
    ///
    /// Bytes that had reached the disk do not tear: where they are wrong, they were damaged.
    /// Without a store the checksums cannot be checked, and a position that is right at its own
    /// offset has to do.
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

/// Checks that records make up commits without a gap: the identifiers, and the parts of each.
package struct CommitSequence {
    /// The last commit that is complete.
    package private(set) var last: CommitID
    /// Where the first record of an incomplete commit is.
    package private(set) var openStart: LogPosition?
    private var nextPart: UInt32 = 0

    package init(after last: CommitID) {
        self.last = last
    }

    /// Takes the next record of the log; true when it completes its commit.
    ///
    /// A commit that a crash left incomplete may stay behind in a sealed segment: the next segment
    /// then begins the same commit anew.
    package mutating func accept(
        _ record: Record, startsSegment: Bool
    ) throws(FormatError) -> Bool {
        guard record.kind != .folded, record.kind != .directory else {
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
                    "a commit begins before the one before it has ended")
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

    /// Forgets an incomplete commit, because the log ends within it.
    package mutating func abandonOpenCommit() {
        openStart = nil
    }
}
