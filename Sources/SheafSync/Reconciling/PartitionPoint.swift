extension Array {
    /// Returns the number of the leading elements that satisfy a condition, by binary search.
    ///
    /// No later element may satisfy it.
    package func partitionPoint(where isBefore: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(self[middle]) { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
