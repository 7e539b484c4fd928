package import SheafBytes
import SheafDocument

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
        for path in [scan(condition)] + candidates(for: condition) where path.isExact {
            switch path.access {
            case .documents(let ranges, isReversed: false) where ranges.count == 1:
                return OrderedRange(keys: ranges[0], isOfIndex: false)
            case .index(let scan)
            where scan.ranges.count == 1 && !scan.isReversed && scan.fixesAllFields:
                return OrderedRange(keys: scan.ranges[0], isOfIndex: true)
            default: continue
            }
        }
        return nil
    }
}

extension IndexScan {
    /// Whether the only range has one value of each field, which the id follows.
    ///
    /// An index that has `_id` as a field may be in the order of the ids without that.
    fileprivate var fixesAllFields: Bool {
        let range = ranges[0]
        guard range == KeyRange.prefix(range.lower), range.lower.starts(with: index.keyPrefix)
        else { return false }
        let components = Array(range.lower.dropFirst(index.keyPrefix.count))
        let (values, length) = components.span.withUnsafeBytes {
            SortKeyReader.readBeginning($0, descending: index.fields.map(\.isDescending))
        }
        return values.count == index.fields.count && length == components.count
    }
}
