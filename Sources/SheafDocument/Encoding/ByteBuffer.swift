/// Bytes that are being written, in memory of their own.
///
/// Arrays ask with each byte whether somebody else has them, and that costs more than the byte.
struct ByteBuffer: ~Copyable {
    private var start: UnsafeMutableRawPointer
    private var capacity: Int
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = max(capacity, 64)
        start = .allocate(byteCount: self.capacity, alignment: 1)
    }

    deinit { start.deallocate() }

    /// What was written; to be used before more is.
    @inline(__always)
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    /// Makes room for some bytes more.
    @inline(__always)
    mutating func reserve(_ room: Int) {
        if capacity &- count < room { grow(room) }
    }

    @inline(never)
    private mutating func grow(_ room: Int) {
        let (wanted, doubled) = (count + room, capacity * 2)
        let larger = max(wanted, doubled)
        let moved = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 1)
        moved.copyMemory(from: start, byteCount: count)
        start.deallocate()
        (start, capacity) = (moved, larger)
    }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
        reserve(1)
        start.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
        count &+= 1
    }

    /// Appends an integer, the least significant byte first.
    @inline(__always)
    mutating func append<Integer: FixedWidthInteger & BitwiseCopyable>(_ value: Integer) {
        reserve(MemoryLayout<Integer>.size)
        start.storeBytes(of: value.littleEndian, toByteOffset: count, as: Integer.self)
        count &+= MemoryLayout<Integer>.size
    }

    /// Appends some integers, which `integer` tells by their index.
    @inline(__always)
    mutating func append<Integer: FixedWidthInteger & BitwiseCopyable>(
        _ number: Int, _ integer: (Int) -> Integer
    ) {
        let size = MemoryLayout<Integer>.size
        reserve(number &* size)
        let target = start + count
        for index in 0..<number {
            target.storeBytes(
                of: integer(index).littleEndian, toByteOffset: index &* size, as: Integer.self)
        }
        count &+= number &* size
    }

    @inline(__always)
    mutating func append(_ bytes: UnsafeRawBufferPointer) {
        guard let source = bytes.baseAddress else { return }
        reserve(bytes.count)
        (start + count).copyMemory(from: source, byteCount: bytes.count)
        count &+= bytes.count
    }

    /// Appends bytes that are here already.
    mutating func append(copyOf range: Range<Int>) {
        precondition(range.upperBound <= count, "Only what was written can be copied.")
        reserve(range.count)
        (start + count).copyMemory(from: start + range.lowerBound, byteCount: range.count)
        count += range.count
    }

    /// Moves everything from `lower` on to `offset`, forwards or backwards.
    mutating func move(from lower: Int, to offset: Int) {
        precondition(lower <= count && offset <= count, "Only what was written can be moved.")
        let length = count - lower
        reserve(offset + length - count)
        (start + offset).copyMemory(from: start + lower, byteCount: length)
        count = offset + length
    }

    /// Overwrites bytes that were written before.
    mutating func patch(_ byte: UInt8, at offset: Int) {
        precondition(offset < count, "A patch lies inside what was written.")
        start.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
    }

    /// Forgets what was written behind `count`.
    mutating func truncate(to count: Int) {
        precondition(count <= self.count, "Nothing is written by forgetting.")
        self.count = count
    }
}
