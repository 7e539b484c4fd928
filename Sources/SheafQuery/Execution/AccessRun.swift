import SheafBytes
import SheafDocument

/// Comes to the documents of a source, the way that a plan says.
struct AccessRun {
    let store: any QueryStore
    let collection: CollectionDescription?
    var tally = ScanTally()

    init(_ store: any QueryStore, _ collection: CollectionDescription?) {
        self.store = store
        self.collection = collection
    }

    /// Visits the rows in order until `body` returns false.
    ///
    /// `skipped` of them are passed over unseen, which only a scan of keys without a filter can.
    mutating func run(
        _ access: Access, filter: FieldFilter? = nil, skipping skipped: Int = 0,
        _ body: (Row, _ place: UInt64) throws(QueryError) -> Bool
    ) throws(QueryError) {
        switch access {
        case .nothing: return
        case .virtual(let name): try visit(try store.virtualRows(name) ?? [], body)
        case .rows(let rows): try visit(rows, body)
        case .ids(let keys): try read(keys, filter, body)
        case .documents(let ranges, let isReversed):
            try scan(ranges, isReversed, filter, skipped, body)
        case .index(let scan) where scan.isCovering: try cover(scan, skipped, body)
        case .index(let scan):
            try self.scan(scan.ranges, scan.isReversed, filter, skipped, body)
        case .union(let accesses):
            var seen: Set<UInt64> = []
            var goesOn = true
            for access in accesses where goesOn {
                try run(access, filter: filter) { (row, place) throws(QueryError) in
                    guard seen.insert(place).inserted else { return true }
                    goesOn = try body(row, place)
                    return goesOn
                }
            }
        case .intersection(let accesses): try intersect(accesses, filter, body)
        }
    }

    private mutating func visit(
        _ rows: [Object], _ body: (Row, UInt64) throws(QueryError) -> Bool
    ) throws(QueryError) {
        for row in rows {
            tally.entries += 1
            guard try body(Row(row), UInt64(tally.entries)) else { return }
        }
    }

    private mutating func read(
        _ keys: [[UInt8]], _ filter: FieldFilter?,
        _ body: (Row, UInt64) throws(QueryError) -> Bool
    ) throws(QueryError) {
        var goesOn = true
        for key in keys where goesOn {
            tally.entries += 1
            var fetched = 0
            try store.read(key) { (document) throws(QueryError) in
                fetched += 1
                if let filter {
                    let holds = try onDocument { () throws(Malformed) in
                        try filter.holds(document.fields)
                    }
                    guard holds else { return }
                }
                goesOn = try body(Row(document), document.place)
            }
            tally.fetched += fetched
        }
    }

    private mutating func scan(
        _ ranges: [KeyRange], _ isReversed: Bool, _ filter: FieldFilter?, _ skipped: Int,
        _ body: (Row, UInt64) throws(QueryError) -> Bool
    ) throws(QueryError) {
        var skipped = skipped
        var goesOn = true
        for range in isReversed ? ranges.reversed() : ranges where goesOn {
            if skipped > 0 {
                let count = store.count(in: range)
                guard skipped < count else {
                    skipped -= count
                    continue
                }
            }
            try store.scan(
                range, isReversed: isReversed, skipping: skipped, filter: filter, &tally
            ) { (document) throws(QueryError) in
                goesOn = try body(Row(document), document.place)
                return goesOn
            }
            skipped = 0
        }
        guard goesOn, let collection, collection.hasPendingChanges else { return }
        try store.scanPending(collection, filter: filter, &tally) {
            (document) throws(QueryError) in
            try body(Row(document), document.place)
        }
    }

    /// Makes rows of what the entries of an index say.
    private mutating func cover(
        _ scan: IndexScan, _ skipped: Int, _ body: (Row, UInt64) throws(QueryError) -> Bool
    ) throws(QueryError) {
        let reader = EntryReader(scan.index)
        var skipped = skipped
        var goesOn = true
        for range in scan.isReversed ? scan.ranges.reversed() : scan.ranges where goesOn {
            if skipped > 0 {
                let count = store.count(in: range)
                guard skipped < count else {
                    skipped -= count
                    continue
                }
            }
            var entries = 0
            try store.scanKeys(range, isReversed: scan.isReversed, skipping: skipped) {
                (key, place) throws(QueryError) in
                entries += 1
                goesOn = try body(Row(try reader.object(of: key)), place)
                return goesOn
            }
            tally.entries += entries
            skipped = 0
        }
    }

    private mutating func intersect(
        _ accesses: [Access], _ filter: FieldFilter?,
        _ body: (Row, UInt64) throws(QueryError) -> Bool
    ) throws(QueryError) {
        var common: Set<UInt64>?
        for case .index(let scan) in accesses.dropLast() {
            var found: Set<UInt64> = []
            for range in scan.ranges {
                var entries = 0
                try store.scanKeys(range, isReversed: false, skipping: 0) {
                    (_, place) throws(QueryError) in
                    entries += 1
                    if common?.contains(place) ?? true { found.insert(place) }
                    return true
                }
                tally.entries += entries
            }
            common = found
        }
        guard let last = accesses.last else { return }
        try run(last, filter: filter) { (row, place) throws(QueryError) in
            guard common?.contains(place) ?? true else { return true }
            return try body(row, place)
        }
    }
}

/// Reads what the entries of an index say of their documents.
struct EntryReader {
    private let fields: [IndexDescription.Field]
    private let prefixLength: Int

    init(_ index: IndexDescription) {
        fields = index.fields
        prefixLength = index.keyPrefix.count
    }

    /// The fields of the index and the id, as an object that has nothing else.
    func object(of key: UnsafeRawBufferPointer) throws(QueryError) -> Object {
        let rest = UnsafeRawBufferPointer(rebasing: key.dropFirst(prefixLength))
        let values = try onDocument { () throws(Malformed) in
            try SortKeyReader.read(
                rest, descending: fields.map(\.isDescending) + [false])
        }
        guard values.count == fields.count + 1 else {
            throw QueryError(.damaged, "an entry of an index has \(values.count) values")
        }
        var object = Object()
        for (field, value) in zip(fields, values) {
            guard let value else { continue }
            Self.set(value, at: field.path[...], in: &object)
        }
        object[Row.idName] = values[fields.count]
        return object
    }

    private static func set(_ value: Value, at path: ArraySlice<String>, in object: inout Object) {
        guard let first = path.first else { return }
        guard path.count > 1 else {
            object[first] = value
            return
        }
        var inner = Object()
        if case .object(let known)? = object[first] { inner = known }
        set(value, at: path.dropFirst(), in: &inner)
        object[first] = .object(inner)
    }
}
