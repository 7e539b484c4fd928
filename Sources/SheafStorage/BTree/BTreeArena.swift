import Synchronization

/// The memory of a tree and its snapshots, freed together with the last of them.
///
/// The writer adds memory and collects the released versions; readers only release versions.
final class BTreeArena: Sendable {
    private struct Block: Sendable {
        // The memory is kept only to be freed; it is never dereferenced here.
        nonisolated(unsafe) let base: UnsafeMutableRawPointer
    }

    private struct State {
        var blocks: [Block] = []
        var releasedVersions: [UInt64] = []
    }

    /// A number that no other arena of the process has.
    let number = BTreeArena.count.add(1, ordering: .relaxed).newValue

    private static let count = Atomic<UInt64>(0)
    private let state = Mutex(State())
    /// The owner of foreign pages.
    private let owner: (any AnyObject & Sendable)?

    /// Creates an arena without memory that keeps the owner of foreign pages.
    init(keeping owner: (any AnyObject & Sendable)? = nil) {
        self.owner = owner
    }

    deinit {
        state.withLock { state in
            for block in state.blocks { block.base.deallocate() }
        }
    }

    /// Allocates uninitialized memory, which is freed with the arena.
    func allocate(byteCount: Int) -> UnsafeMutableRawPointer {
        // Page alignment to cache lines follows from the alignment of the block.
        let block = Block(base: .allocate(byteCount: byteCount, alignment: 64))
        state.withLock { $0.blocks.append(block) }
        return block.base
    }

    /// Records that the last snapshot of `version` was released.
    func release(version: UInt64) {
        state.withLock { $0.releasedVersions.append(version) }
    }

    /// Moves the versions released since the last call to `versions`, which must be empty.
    func takeReleasedVersions(into versions: inout [UInt64]) {
        state.withLock { state in
            // Swapping keeps the capacity of both arrays, which avoids allocations.
            if !state.releasedVersions.isEmpty { swap(&state.releasedVersions, &versions) }
        }
    }
}
