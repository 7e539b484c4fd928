package import SheafBytes

/// The keys of exactly the documents that a condition selects, in the order of their ids.
package struct OrderedRange: Sendable {
    /// The keys of the documents, or of their entries in an index.
    package let keys: KeyRange
    /// Whether the keys are index entries; `keys.lower` then precedes the id in each of them.
    package let isOfIndex: Bool
}

extension AccessPlanner {
    /// Returns the range of keys of exactly the documents that satisfy a condition; nil if there is
    /// none.
    func orderedRange(of condition: Condition) -> OrderedRange? {
        for path in [scan(condition)] + candidates(for: condition)
        where path.isExact && path.isOrdered {
            switch path.access {
            case .documents(let ranges, isReversed: false) where ranges.count == 1:
                return OrderedRange(keys: ranges[0], isOfIndex: false)
            case .index(let scan) where scan.ranges.count == 1 && !scan.isReversed:
                return OrderedRange(keys: scan.ranges[0], isOfIndex: true)
            default: continue
            }
        }
        return nil
    }
}
