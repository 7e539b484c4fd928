#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Memory at a fixed address, so that mappings may point into it.
final class SimulatedBytes: Sendable {
    nonisolated(unsafe) let base: UnsafeMutableRawPointer
    let capacity: Int

    /// Allocates `capacity` zero bytes; untouched pages cost nothing.
    init(capacity: Int) {
        guard let base = calloc(max(capacity, 1), 1) else {
            preconditionFailure("Out of memory allocating \(capacity) bytes.")
        }
        self.base = base
        self.capacity = capacity
    }

    deinit {
        free(base)
    }

    /// The shared bytes of all empty files.
    static let none = SimulatedBytes(capacity: 0)
}

/// The `size` bytes of a file, zero-padded to the capacity of their memory.
struct SimulatedContent: Sendable {
    private(set) var bytes = SimulatedBytes.none
    private(set) var size = 0

    /// Creates empty content.
    init() {}

    /// Creates content with these bytes.
    init(_ array: [UInt8]) {
        bytes = SimulatedBytes(capacity: array.count)
        array.withUnsafeBytes { put($0, at: 0) }
    }

    /// Copies content into new memory.
    init(copying other: SimulatedContent, capacity: Int) {
        bytes = SimulatedBytes(capacity: max(capacity, other.size))
        size = other.size
        bytes.base.copyMemory(from: other.bytes.base, byteCount: size)
    }

    /// A copy of the current bytes.
    var array: [UInt8] {
        [UInt8](UnsafeRawBufferPointer(start: bytes.base, count: size))
    }

    /// Whether no mapping and no other file shares the memory.
    mutating func isUniquelyReferenced() -> Bool {
        isKnownUniquelyReferenced(&bytes)
    }

    /// Ensures that the memory is unshared and holds `capacity` bytes.
    mutating func reserveUniquely(_ capacity: Int) {
        guard !isKnownUniquelyReferenced(&bytes) || bytes.capacity < capacity else { return }
        let growth = bytes.capacity < capacity ? max(capacity, 2 * size) : capacity
        self = SimulatedContent(copying: self, capacity: growth)
    }

    /// Writes within the capacity; a gap between the old end and `offset` stays zero.
    mutating func put(_ source: UnsafeRawBufferPointer, at offset: Int) {
        guard let start = source.baseAddress, !source.isEmpty else { return }
        precondition(offset + source.count <= bytes.capacity, "The memory was reserved.")
        (bytes.base + offset).copyMemory(from: start, byteCount: source.count)
        size = max(size, offset + source.count)
    }

    /// Truncates the bytes, or extends them with zeros within the capacity.
    mutating func resize(to newSize: Int) {
        precondition(newSize <= bytes.capacity, "The memory was reserved.")
        if newSize < size { memset(bytes.base + newSize, 0, size - newSize) }
        size = newSize
    }

    /// Extends the bytes within the capacity with random bytes, as stale disk blocks would.
    mutating func extendWithGarbage(to newSize: Int, _ random: inout SeededRandom) {
        precondition(newSize <= bytes.capacity, "The memory was reserved.")
        while size < newSize {
            var word = random.next()
            let count = min(8, newSize - size)
            (bytes.base + size).copyMemory(from: &word, byteCount: count)
            size += count
        }
    }
}
