import Synchronization

/// The memory of the buffers for pending records, which large commits enlarge.
extension StoreEngine {
    /// The length of these buffers, except the one that a flush is writing.
    package var bufferLength: Int {
        state.withLock { $0.pending.capacity + ($0.spare?.capacity ?? 0) }
    }

    /// Whether a buffer is larger than small commits need; true during a flush.
    var hasLargeBuffers: Bool {
        state.withLock { $0.pending.isLarge || $0.spare?.isLarge ?? true }
    }

    /// Releases the memory of buffers without records; they grow again when they need it.
    package func releaseBuffers() {
        state.withLock { state in
            state.pending.releaseMemory()
            state.spare?.releaseMemory()
        }
    }
}
