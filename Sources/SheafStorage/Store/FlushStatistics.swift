/// The flushes of a store since it was opened.
package struct FlushStatistics: Equatable, Sendable {
    package private(set) var count: UInt64 = 0
    package private(set) var byteCount: UInt64 = 0
    /// Total time in nanoseconds, and that of the last and of the longest flush.
    package private(set) var nanoseconds: UInt64 = 0
    package private(set) var lastNanoseconds: UInt64 = 0
    package private(set) var longestNanoseconds: UInt64 = 0

    mutating func add(_ byteCount: Int, nanoseconds: UInt64) {
        count += 1
        self.byteCount += UInt64(byteCount)
        self.nanoseconds += nanoseconds
        lastNanoseconds = nanoseconds
        longestNanoseconds = max(longestNanoseconds, nanoseconds)
    }
}
