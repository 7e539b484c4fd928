import Synchronization

/// The memory behind a tree and its snapshots, which lives as long as the last of them.
///
/// The writer adds memory and asks which versions were given up; readers only give up versions.
final class BTreeArena: Sendable {
    private struct Block: Sendable {
        // Nobody reads or writes through it here: it is kept only to be freed.
        nonisolated(unsafe) let base: UnsafeMutableRawPointer
    }

    private struct State {
        var blocks: [Block] = []
        var releasedVersions: [UInt64] = []
    }

    private let state = Mutex(State())
    private let mapping: FileMapping?

    /// An arena without memory, which keeps `mapping` alive if there is one.
    init(mapping: FileMapping? = nil) {
        self.mapping = mapping
    }

    deinit {
        state.withLock { state in
            for block in state.blocks { block.base.deallocate() }
        }
    }

    /// Memory that is freed when the arena is; its contents are arbitrary.
    func allocate(byteCount: Int) -> UnsafeMutableRawPointer {
        // A page begins at the beginning of a cache line if its chunk does.
        let block = Block(base: .allocate(byteCount: byteCount, alignment: 64))
        state.withLock { $0.blocks.append(block) }
        return block.base
    }

    /// Notes that no snapshot of `version` is left.
    func release(version: UInt64) {
        state.withLock { $0.releasedVersions.append(version) }
    }

    /// Adds the versions that were released since the last call to `versions`, which is empty.
    func takeReleasedVersions(into versions: inout [UInt64]) {
        state.withLock { state in
            // Swapping keeps the room of both arrays, so that nothing is allocated over and over.
            if !state.releasedVersions.isEmpty { swap(&state.releasedVersions, &versions) }
        }
    }
}
