import SheafBytes
import SheafDocument

extension IndexLookup {
    /// Returns the scan of the entries for the preceding rows; nil if none can match.
    ///
    /// `isFound` is whether the compared values of each entry are equal.
    func scan(_ frame: RowContext) throws(StoreError) -> (scan: IndexScan, isFound: Bool)? {
        var writer = SortKeyWriter(behind: index.keyPrefix)
        var isFound = isExact
        for (number, evaluator) in values.enumerated() {
            guard let value = try evaluator(frame), value != .null else { return nil }
            writer.append(value, descending: index.fields[number].isDescending)
            isFound = isFound && value.isFoundByKey
        }
        // Documents with truncated long values may match as well.
        let irregular = index.irregularKeys.map { [$0] } ?? []
        var scan = IndexScan(index, [KeyRange.prefix(writer.components)] + irregular)
        scan.isCovering = isCovering
        return (scan, isFound)
    }
}
