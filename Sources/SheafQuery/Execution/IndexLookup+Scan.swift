import SheafBytes
import SheafDocument

extension IndexLookup {
    /// Returns the ranges of the entries for the preceding rows; nil if none can match.
    ///
    /// `isFound` is whether the compared values of each entry are equal.
    func ranges(_ frame: RowContext) throws(StoreError) -> (ranges: [KeyRange], isFound: Bool)? {
        var writer = SortKeyWriter(behind: index.keyPrefix)
        var isFound = isExact
        for (number, evaluator) in values.enumerated() {
            guard let value = try evaluator(frame), value != .null else { return nil }
            writer.append(value, descending: index.fields[number].isDescending)
            isFound = isFound && value.isFoundByKey
        }
        var ranges = [KeyRange.prefix(writer.components)]
        // Documents with truncated long values may match as well.
        if let irregular = index.irregularKeys { ranges.append(irregular) }
        return (ranges, isFound)
    }
}
