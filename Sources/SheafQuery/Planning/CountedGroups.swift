import SheafBytes
import SheafDocument

/// The groups of a COUNT(*) by the leading fields of an index, counted by the tree.
struct CountedGroups {
    let index: IndexDescription
    /// For each key of a group, the number of its field in the index.
    let fields: [Int]

    /// Number of groups up to which counting is always cheaper than visiting the entries.
    private static let fewGroups = 16
    /// Number of entries that are visited in the time of a search for the next group.
    private static let entriesPerSearch = 8

    /// Returns the keys and the sizes of all groups; nil if the entries must be visited.
    func sizes(in store: any QueryStore) throws(StoreError) -> [(keys: [Value?], size: Int)]? {
        let all = KeyRange.prefix(index.keyPrefix)
        let maximumCount = max(Self.fewGroups, store.count(in: all) / Self.entriesPerSearch)
        let directions = index.fields.map(\.isDescending) + [false]
        var groups: [(keys: [Value?], size: Int)] = []
        var rest = all
        while let key = try store.firstKey(in: rest) {
            guard groups.count < maximumCount else { return nil }
            let (values, length) = try read(key, directions)
            let keys = fields.map { values[$0] }
            guard keys.allSatisfy(\.hasOneForm) else { return nil }
            let group = KeyRange.prefix(Array(key.prefix(index.keyPrefix.count + length)))
            groups.append((keys, store.count(in: group)))
            guard let end = group.upper else { break }
            rest = KeyRange(from: end, to: all.upper)
        }
        return groups
    }

    /// Returns the values of an entry, and the length of those that are keys.
    private func read(
        _ key: [UInt8], _ directions: [Bool]
    ) throws(StoreError) -> (values: [Value?], length: Int) {
        try onDocument(at: 0) { () throws(Malformed) in
            try key.span.withUnsafeBytes { (key) throws(Malformed) in
                let entry = UnsafeRawBufferPointer(
                    rebasing: key.dropFirst(index.keyPrefix.count))
                let values = try SortKeyReader.read(entry, descending: directions)
                return (
                    values,
                    try SortKeyReader.length(entry, descending: directions.prefix(fields.count))
                )
            }
        }
    }
}

extension Value? {
    /// Whether equal values are identical, unlike 1 and 1.0.
    fileprivate var hasOneForm: Bool {
        switch self {
        case nil, .null?, .bool?, .integer?, .string?, .bytes?: true
        case .float(let float)?: float != float.rounded()
        case .array?, .object?: false
        }
    }
}

extension QueryStore {
    /// Returns the first key in a range; nil if there is none.
    func firstKey(in range: KeyRange) throws(StoreError) -> [UInt8]? {
        var found: [UInt8]?
        try scanKeys(range, isReversed: false, skipping: 0) { (key, _) throws(StoreError) in
            found = Array(key)
            return false
        }
        return found
    }
}
