/// Bytes of a file in memory, until the last reference to the mapping goes.
package final class FileMapping: Sendable {
    /// The first byte; writable only where the mapping copies on write.
    nonisolated(unsafe) package let base: UnsafeMutableRawPointer
    /// How many bytes were asked for.
    package let count: Int
    private let unmap: @Sendable () -> Void

    /// Wraps `count` bytes at `base` that stay valid until `unmap` is called.
    package init(
        base: UnsafeMutableRawPointer, count: Int, unmap: @escaping @Sendable () -> Void
    ) {
        self.base = base
        self.count = count
        self.unmap = unmap
    }

    deinit {
        unmap()
    }

    /// All mapped bytes, for as long as somebody holds the mapping: the buffer does not.
    package var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base, count: count)
    }
}
