/// A lookup of operations in damaged files by position, for the chains of deltas.
struct SalvageChains {
    private let files: [StoreDirectory.File]
    private let store: StoreID
    /// The files that contain each segment according to their headers, or else their names.
    private var logs: [UInt32: [Int]] = [:]
    private var bases: [(segments: ClosedRange<UInt32>, file: Int)] = []
    /// The valid compacted records of each base file, sorted by position; loaded on demand.
    private var compactedRecords: [Int: [CompactedRecord]] = [:]
    /// The verified records, by file and offset.
    private var verified: Set<UInt64> = []

    init(_ files: [StoreDirectory.File], store: StoreID) {
        self.files = files
        self.store = store
        for (number, file) in files.enumerated() {
            var (kind, segments) = (file.kind, file.segments)
            if case .success(let header) = file.header {
                guard header.store == store else { continue }
                (kind, segments) = (header.kind, header.segments)
            }
            if kind == .log {
                logs[segments.lowerBound, default: []].append(number)
            } else {
                bases.append((segments, number))
            }
        }
    }

    /// Returns the chain of `head`, newest first, and whether it is complete.
    ///
    /// An incomplete chain ends before the first operation that is lost.
    mutating func chain(
        of head: Operation, at position: LogPosition
    ) -> (operations: [Operation], isWhole: Bool) {
        var operations = [head]
        var limit = position
        while let last = operations.last, last.kind == .delta {
            guard last.previous < limit, operations.count < Limits.maximumChainLength,
                let next = operation(at: last.previous), next.kind != .remove,
                next.key.elementsEqual(head.key)
            else { return (operations, false) }
            limit = last.previous
            operations.append(next)
        }
        return (operations, true)
    }

    private mutating func operation(at position: LogPosition) -> Operation? {
        for number in logs[position.segment] ?? [] {
            if let found = loggedOperation(at: position, in: number) { return found }
        }
        for base in bases where base.segments.contains(position.segment) {
            let records =
                compactedRecords[base.file] ?? compactedRecords(of: base.file, base.segments)
            compactedRecords[base.file] = records
            if let found = Self.operation(at: position, in: records) { return found }
        }
        return nil
    }

    private static func operation(
        at position: LogPosition, in compactedRecords: [CompactedRecord]
    ) -> Operation? {
        var (low, high) = (0, compactedRecords.count)
        while low < high {
            let middle = (low + high) / 2
            if compactedRecords[middle][0].position <= position {
                low = middle + 1
            } else {
                high = middle
            }
        }
        guard low > 0, let entry = compactedRecords[low - 1].entry(at: position) else { return nil }
        return try? compactedRecords[low - 1].operation(entry)
    }

    private mutating func loggedOperation(
        at position: LogPosition, in number: Int
    ) -> Operation? {
        let (bytes, offset) = (files[number].bytes, position.offset)
        guard offset <= bytes.count - Operation.headerLength else { return nil }
        let distance = Int(bytes.loadInteger(offset + Operation.Layout.distance) as UInt32)
        guard distance >= Record.headerLength, distance <= offset - SegmentHeader.length else {
            return nil
        }
        let location = UInt64(number) << 32 | UInt64(offset - distance)
        if !verified.contains(location) {
            let record = try? Record(
                decoding: bytes, at: offset - distance, segment: position.segment, store: store)
            guard record != nil else { return nil }
            verified.insert(location)
        }
        return try? Operation(decoding: bytes, at: offset)
    }

    private func compactedRecords(
        of number: Int, _ segments: ClosedRange<UInt32>
    ) -> [CompactedRecord] {
        var sweep = SegmentSweep(
            file: files[number].bytes, segment: segments.lowerBound, store: store, chain: nil)
        var compactedRecords: [CompactedRecord] = []
        while true {
            switch sweep.next() {
            case .record(let record, _):
                if record.kind == .compacted,
                    let compacted = try? CompactedRecord(record, of: 1...UInt32.max)
                {
                    compactedRecords.append(compacted)
                }
            case .gap: continue
            case .footer, .unused:
                return compactedRecords.sorted { $0[0].position < $1[0].position }
            }
        }
    }
}
