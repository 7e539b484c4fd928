import SheafBytes
import SheafDocument

/// A run of an access path, which reads the documents of a source.
struct AccessRun {
    let store: any QueryStore
    let collection: CollectionDescription?
    /// Whether rows may be produced in any order.
    var isOrderFree = false
    /// Whether all rows are read.
    var isExhaustive = false
    /// The consumer of batches of scanned documents.
    ///
    /// Returns the number of documents after which the scan stops, or nil to continue.
    var consumeDocuments: ((ScannedDocuments) throws(StoreError) -> Int?)?

    init(_ store: any QueryStore, _ collection: CollectionDescription?) {
        self.store = store
        self.collection = collection
    }

    typealias Visitor = (Row, _ position: UInt64) throws(StoreError) -> Bool

    /// Visits the rows until `body` returns false, in order unless `isOrderFree`.
    ///
    /// The first `skipped` rows are not visited, which requires a scan without a filter.
    func run(
        _ access: Access, _ tally: AccessTally?, filter: FieldFilter? = nil,
        skipping skipped: Int = 0, _ body: Visitor
    ) throws(StoreError) {
        try measure(tally?.rows, tally?.meter) { () throws(StoreError) in
            switch access {
            case .nothing: return
            case .virtual(let name, let bounds): try visit(name, bounds, tally, body)
            case .rows(let rows): try visit(rows, tally, body)
            case .ids(let keys): try read(keys, filter, tally, body)
            case .documents(let ranges, let isReversed):
                try scan(ranges, isReversed, filter, skipped, tally, body)
            case .index(let scan) where scan.isCovering:
                precondition(filter == nil, "A covering scan reads no documents to filter.")
                try cover(scan, skipped, tally, body)
            case .index(let scan):
                try self.scan(scan.ranges, scan.isReversed, filter, skipped, tally, body)
            case .union(let accesses): try unite(accesses, filter, tally, body)
            case .intersection(let accesses): try intersect(accesses, filter, tally, body)
            }
        }
    }

    private func visit(
        _ name: String, _ bounds: RowBounds, _ tally: AccessTally?, _ body: Visitor
    ) throws(StoreError) {
        var number: UInt64 = 0
        try store.forEachVirtualRow(name, bounds) { (row) throws(StoreError) in
            tally?.scan.entries += 1
            tally?.rows.rowsOut += 1
            defer { number += 1 }
            return try body(Row(row), number)
        }
    }

    private func visit(
        _ rows: [Object], _ tally: AccessTally?, _ body: Visitor
    ) throws(StoreError) {
        for (number, row) in rows.enumerated() {
            tally?.scan.entries += 1
            tally?.rows.rowsOut += 1
            guard try body(Row(row), UInt64(number)) else { return }
        }
    }

    private func read(
        _ keys: [[UInt8]], _ filter: FieldFilter?, _ tally: AccessTally?, _ body: Visitor
    ) throws(StoreError) {
        var continues = true
        for key in keys where continues {
            tally?.scan.entries += 1
            try store.read(key) { (document) throws(StoreError) in
                tally?.scan.fetched += 1
                if let filter {
                    guard try matches(filter, document, tally) else { return }
                }
                tally?.rows.rowsOut += 1
                continues = try body(Row(document), document.position)
            }
        }
    }

    private func matches(
        _ filter: FieldFilter, _ document: ScannedDocument, _ tally: AccessTally?
    ) throws(StoreError) -> Bool {
        try measure(tally?.filter, tally?.meter) { () throws(StoreError) in
            tally?.filter.rowsIn += 1
            let holds = try onDocument(at: document.position) { () throws(Malformed) in
                try filter.holds(document.fields)
            }
            if holds { tally?.filter.rowsOut += 1 }
            return holds
        }
    }

    // MARK: Scans

    private func scan(
        _ ranges: [KeyRange], _ isReversed: Bool, _ filter: FieldFilter?, _ skipped: Int,
        _ tally: AccessTally?, _ body: Visitor
    ) throws(StoreError) {
        // PROFILE evaluates the filter here, where its time and rows are measured.
        let countedFilter = tally == nil ? nil : filter
        let filter = tally == nil ? filter : nil
        var visited = ScanTally()
        var (rows, continues) = (0, true)
        defer {
            tally?.scan.add(visited)
            tally?.rows.rowsOut += rows
        }
        func visit(_ documents: ScannedDocuments) throws(StoreError) -> Int? {
            if let consumeDocuments {
                let stop = try consumeDocuments(documents)
                continues = stop == nil
                return stop
            }
            for number in 0..<documents.count {
                let document = documents[number]
                if let countedFilter {
                    guard try matches(countedFilter, document, tally) else { continue }
                }
                rows += 1
                continues = try body(Row(document), document.position)
                guard continues else { return number + 1 }
            }
            return nil
        }
        var skipped = skipped
        for range in isReversed ? ranges.reversed() : ranges where continues {
            guard let first = enter(range, &skipped) else { continue }
            let order: ScanOrder =
                isOrderFree
                ? isExhaustive ? .all : .any : isReversed ? .descending : .ascending
            try store.scan(range, order, skipping: first, filter: filter, &visited, visit)
        }
        guard continues, let collection, collection.hasPendingChanges else { return }
        try store.scanPending(collection, filter: filter, &visited, visit)
    }

    /// Returns the number of entries to skip in a range, or nil if the complete range is skipped.
    private func enter(_ range: KeyRange, _ skipped: inout Int) -> Int? {
        guard skipped > 0 else { return 0 }
        let count = store.count(in: range)
        guard skipped < count else {
            skipped -= count
            return nil
        }
        defer { skipped = 0 }
        return skipped
    }

    /// Produces rows from the entries of a covering index.
    private func cover(
        _ scan: IndexScan, _ skipped: Int, _ tally: AccessTally?, _ body: Visitor
    ) throws(StoreError) {
        let row = EntryRow(scan.index)
        var skipped = skipped
        var (entries, continues) = (0, true)
        defer {
            tally?.scan.entries += entries
            tally?.rows.rowsOut += entries
        }
        for range in scan.isReversed ? scan.ranges.reversed() : scan.ranges where continues {
            guard let first = enter(range, &skipped) else { continue }
            try store.scanKeys(range, isReversed: scan.isReversed, skipping: first) {
                (key, position) throws(StoreError) in
                entries += 1
                try row.read(key)
                continues = try body(Row(row, position: position), position)
                return continues
            }
        }
    }

    // MARK: Unions and intersections

    private func unite(
        _ accesses: [Access], _ filter: FieldFilter?, _ tally: AccessTally?, _ body: Visitor
    ) throws(StoreError) {
        var seen: Set<UInt64> = []
        var continues = true
        var single = self
        single.consumeDocuments = nil
        for (number, access) in accesses.enumerated() where continues {
            try single.run(access, tally?.children[number], filter: filter) {
                (row, position) throws(StoreError) in
                tally?.rows.rowsIn += 1
                guard seen.insert(position).inserted else { return true }
                tally?.rows.rowsOut += 1
                continues = try body(row, position)
                return continues
            }
        }
    }

    /// Reads only the documents whose record pointers occur in all scans.
    private func intersect(
        _ accesses: [Access], _ filter: FieldFilter?, _ tally: AccessTally?, _ body: Visitor
    ) throws(StoreError) {
        var common: Set<UInt64> = []
        var keys: [[UInt8]] = []
        for (number, access) in accesses.enumerated() {
            guard case .index(let scan) = access else {
                preconditionFailure("Only scans of indexes are intersected.")
            }
            let (part, known) = (tally?.children[number], common)
            common = []
            try measure(part?.rows, part?.meter) { () throws(StoreError) in
                for range in scan.ranges {
                    try store.scanKeys(range, isReversed: false, skipping: 0) {
                        (key, position) throws(StoreError) in
                        part?.scan.entries += 1
                        part?.rows.rowsOut += 1
                        tally?.rows.rowsIn += 1
                        guard number == 0 || known.contains(position) else { return true }
                        // A document is read once, even if two of its entries were returned.
                        guard common.insert(position).inserted else { return true }
                        if number == accesses.count - 1 { keys.append(Array(key)) }
                        return true
                    }
                }
            }
        }
        try scan(keys.map(KeyRange.only), false, filter, 0, tally, body)
    }
}

extension ScanTally {
    fileprivate mutating func add(_ other: ScanTally) {
        entries += other.entries
        fetched += other.fetched
    }
}
