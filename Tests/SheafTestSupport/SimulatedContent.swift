#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Memory that never moves, so that mappings may point into it.
final class SimulatedBytes: Sendable {
    nonisolated(unsafe) let base: UnsafeMutableRawPointer
    let capacity: Int

    /// Takes `capacity` zero bytes; large runs cost nothing before they are touched.
    init(capacity: Int) {
        guard let base = calloc(max(capacity, 1), 1) else {
            preconditionFailure("A test has memory for \(capacity) bytes.")
        }
        self.base = base
        self.capacity = capacity
    }

    deinit {
        free(base)
    }

    /// What all empty files share.
    static let none = SimulatedBytes(capacity: 0)
}

/// The bytes of a file: `size` of them, and zeros up to the capacity of their memory.
struct SimulatedContent: Sendable {
    private(set) var bytes = SimulatedBytes.none
    private(set) var size = 0

    /// No bytes.
    init() {}

    /// These bytes.
    init(_ array: [UInt8]) {
        bytes = SimulatedBytes(capacity: array.count)
        array.withUnsafeBytes { put($0, at: 0) }
    }

    /// The same bytes in memory of their own.
    init(copying other: SimulatedContent, capacity: Int) {
        bytes = SimulatedBytes(capacity: max(capacity, other.size))
        size = other.size
        bytes.base.copyMemory(from: other.bytes.base, byteCount: size)
    }

    /// The bytes as they are now.
    var array: [UInt8] {
        [UInt8](UnsafeRawBufferPointer(start: bytes.base, count: size))
    }

    /// Whether no mapping and no other file shows the same memory.
    mutating func isUniquelyReferenced() -> Bool {
        isKnownUniquelyReferenced(&bytes)
    }

    /// Makes sure that the memory is ours alone and holds `capacity` bytes.
    mutating func reserveUniquely(_ capacity: Int) {
        guard !isKnownUniquelyReferenced(&bytes) || bytes.capacity < capacity else { return }
        let growth = bytes.capacity < capacity ? max(capacity, 2 * size) : capacity
        self = SimulatedContent(copying: self, capacity: growth)
    }

    /// Writes inside the capacity; a gap between the old end and the new bytes stays zero.
    mutating func put(_ source: UnsafeRawBufferPointer, at offset: Int) {
        guard let start = source.baseAddress, !source.isEmpty else { return }
        precondition(offset + source.count <= bytes.capacity, "The memory was reserved.")
        (bytes.base + offset).copyMemory(from: start, byteCount: source.count)
        size = max(size, offset + source.count)
    }

    /// Cuts the bytes, or extends them with zeros inside the capacity.
    mutating func resize(to newSize: Int) {
        precondition(newSize <= bytes.capacity, "The memory was reserved.")
        if newSize < size { memset(bytes.base + newSize, 0, size - newSize) }
        size = newSize
    }

    /// Extends the bytes inside the capacity with whatever lay on the disk before.
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
