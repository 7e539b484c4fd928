/// A mapped range of a file, valid while the object is retained.
package final class FileMapping: Sendable {
    /// The address of the first byte; writable only for copy-on-write mappings.
    nonisolated(unsafe) package let base: UnsafeMutableRawPointer
    /// The number of mapped bytes.
    package let count: Int
    private let unmap: @Sendable () -> Void

    /// Wraps `count` bytes at `base`, valid until `unmap` is called.
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

    /// The mapped bytes; the buffer does not retain the mapping.
    package var bytes: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: base, count: count)
    }
}
