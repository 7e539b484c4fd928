/// A cache of the kept operations of keys with long chains, which are then walked only once.
package struct ChainCache {
    private static let cachedLength = 16
    private static let maximumCount = 1 << 20

    /// The operations to keep, by the newest operation of the key.
    private var chains: [LogPosition: [LogPosition]] = [:]
    private var count = 0

    package init() {}

    /// Returns the cached operations of the key whose newest operation is at `newest`.
    package subscript(newest: LogPosition) -> [LogPosition]? { chains[newest] }

    /// Caches a long chain; short ones are walked again.
    package mutating func cache(_ chain: [LogPosition], of newest: LogPosition) {
        guard chain.count > Self.cachedLength else { return }
        if count > Self.maximumCount { self = ChainCache() }
        chains[newest] = chain
        count += chain.count
    }
}

extension [LogPosition] {
    /// Whether the array, sorted in descending order, contains `position`.
    package func containsDescending(_ position: LogPosition) -> Bool {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle] > position { low = middle + 1 } else { high = middle }
        }
        return low < count && self[low] == position
    }
}
