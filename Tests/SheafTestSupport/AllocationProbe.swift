/// A check that code releases the blocks of memory that it allocates.
///
/// The allocator keeps released blocks of a thread and returns the last one first. So the same
/// blocks are returned before and after code that releases what it allocates.
package enum AllocationProbe {
    /// Lengths of blocks.
    ///
    /// Shorter ones are too common, and longer ones are merged when released.
    private static let lengths = (16...64).map { $0 * 16 }
    /// Number of blocks of each length; the code must use fewer of a length at a time.
    private static let blockCount = 6

    /// Whether released blocks are returned immediately; the sanitizers keep them for a while.
    package static let isPossible = lostBlocks({}) == 0

    /// Returns the number of blocks of 256 to 1,024 bytes that `body` does not release.
    ///
    /// A block that is not released is missing after each call. The allocator may exchange some
    /// for its own reasons, so the least of several calls counts.
    package static func lostBlocks(_ body: () -> Void) -> Int {
        var least = Int.max
        for _ in 0..<5 where least > 0 { least = min(least, lostBlocksOnce(body)) }
        return least
    }

    private static func lostBlocksOnce(_ body: () -> Void) -> Int {
        let count = lengths.count * blockCount
        let before = UnsafeMutablePointer<UnsafeMutableRawPointer>.allocate(capacity: count)
        let after = UnsafeMutablePointer<UnsafeMutableRawPointer>.allocate(capacity: count)
        defer {
            before.deallocate()
            after.deallocate()
        }
        // The first call may initialize globals, whose memory is kept.
        body()
        // The first round may take blocks that the allocator does not keep for the thread.
        for _ in 0..<2 { takeAndReleaseBlocks(before) }
        body()
        takeAndReleaseBlocks(after)
        let known = Set(UnsafeBufferPointer(start: before, count: count))
        return UnsafeBufferPointer(start: after, count: count).count { !known.contains($0) }
    }

    /// Allocates all blocks, stores their addresses, and releases them; allocates nothing else.
    private static func takeAndReleaseBlocks(
        _ addresses: UnsafeMutablePointer<UnsafeMutableRawPointer>
    ) {
        var index = 0
        for length in lengths {
            for _ in 0..<blockCount {
                (addresses + index).initialize(
                    to: UnsafeMutableRawPointer.allocate(byteCount: length, alignment: 8))
                index += 1
            }
        }
        for released in 0..<index { addresses[released].deallocate() }
    }
}
