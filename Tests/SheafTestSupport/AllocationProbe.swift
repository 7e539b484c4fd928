import Glibc

/// A check that code releases the blocks of memory that it allocates.
///
/// The allocator keeps released blocks of a thread and returns the last one first. So the same
/// blocks are returned before and after code that releases what it allocates.
package enum AllocationProbe {
    /// Lengths of the blocks that are compared.
    ///
    /// Shorter ones are too common, and longer ones are merged when released.
    private static let lengths = (16...64).map { $0 * 16 }
    /// Number of blocks of each length; the code must use fewer of a length at a time.
    private static let blockCount = 6
    /// Lengths of which the thread gets kept blocks before the comparison.
    ///
    /// The shorter ones are among them because the allocator may use a longer block where it has
    /// none of a length, and keeps it with those of the longer length afterwards.
    private static let preparedLengths = (4...64).map { $0 * 16 }
    /// Maximum number of blocks of one length that are taken to find enough without spare bytes.
    private static let preparations = 256
    /// Number of calls of the code of which the one that loses the fewest blocks counts.
    private static let calls = 5

    private typealias UsableLength = @convention(c) (UnsafeMutableRawPointer) -> Int

    /// `malloc_usable_size`, whose header is in no module.
    private static let usableLength: UsableLength? = dlsym(nil, "malloc_usable_size").map {
        unsafeBitCast($0, to: UsableLength.self)
    }

    /// Whether released blocks are returned immediately; the sanitizers keep them for a while.
    package static let isPossible = lostBlocks({}) == 0

    /// Returns the number of blocks of 256 to 1,024 bytes that `body` does not release.
    ///
    /// A block that is not released is missing after each call. The allocator may exchange some
    /// for its own reasons, so the least of several calls counts.
    package static func lostBlocks(_ body: () -> Void) -> Int {
        var least = Int.max
        for _ in 0..<calls where least > 0 { least = min(least, lostBlocksOnce(body)) }
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
        prepareBlocks()
        takeAndReleaseBlocks(before)
        body()
        takeAndReleaseBlocks(after)
        let known = Set(UnsafeBufferPointer(start: before, count: count))
        return UnsafeBufferPointer(start: after, count: count).count { !known.contains($0) }
    }

    /// Makes the allocator keep enough blocks of each length for the thread.
    private static func prepareBlocks() {
        let blocks = UnsafeMutablePointer<UnsafeMutableRawPointer>.allocate(capacity: preparations)
        defer { blocks.deallocate() }
        // Blocks that are longer than they must be are kept with the next length.
        for length in preparedLengths.reversed() {
            var (taken, fitting) = (0, 0)
            while taken < preparations, fitting < blockCount {
                let block = UnsafeMutableRawPointer.allocate(byteCount: length, alignment: 8)
                (blocks + taken).initialize(to: block)
                taken += 1
                if isFitting(block, length) { fitting += 1 }
            }
            for index in 0..<taken where !isFitting(blocks[index], length) {
                blocks[index].deallocate()
            }
            for index in 0..<taken where isFitting(blocks[index], length) {
                blocks[index].deallocate()
            }
        }
    }

    /// Returns whether a block has only the 8 bytes more that the allocator has in all blocks.
    private static func isFitting(_ block: UnsafeMutableRawPointer, _ length: Int) -> Bool {
        usableLength?(block) == length + 8
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
