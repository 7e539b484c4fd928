/// A growable byte buffer with unique ownership.
///
/// An array checks for unique ownership on each append, which costs more than storing a byte.
struct ByteBuffer: ~Copyable {
    private var start: UnsafeMutableRawPointer
    private var capacity: Int
    private(set) var count = 0

    init(capacity: Int) {
        self.capacity = max(capacity, 64)
        start = .allocate(byteCount: self.capacity, alignment: 1)
    }

    deinit { start.deallocate() }

    /// The bytes written so far; valid until the next write.
    @inline(__always)
    var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: start, count: count) }

    /// Calls `body` with the bytes written so far, to change them.
    mutating func withMutableBytes(_ body: (UnsafeMutableRawBufferPointer) -> Void) {
        body(UnsafeMutableRawBufferPointer(start: start, count: count))
    }

    /// Ensures capacity for `room` further bytes.
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

    /// Appends an integer, little-endian.
    @inline(__always)
    mutating func append<Integer: FixedWidthInteger & BitwiseCopyable>(_ value: Integer) {
        reserve(MemoryLayout<Integer>.size)
        start.storeBytes(of: value.littleEndian, toByteOffset: count, as: Integer.self)
        count &+= MemoryLayout<Integer>.size
    }

    /// Appends `number` integers, computed by `integer` from their index.
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

    /// Appends a copy of bytes within the buffer.
    mutating func append(copyOf range: Range<Int>) {
        precondition(range.upperBound <= count, "The range lies within the bytes written.")
        reserve(range.count)
        (start + count).copyMemory(from: start + range.lowerBound, byteCount: range.count)
        count += range.count
    }

    /// Moves all bytes from `lower` on to `offset`, and adjusts the count.
    mutating func move(from lower: Int, to offset: Int) {
        precondition(lower <= count && offset <= count, "Offsets lie within the bytes written.")
        let length = count - lower
        reserve(offset + length - count)
        (start + offset).copyMemory(from: start + lower, byteCount: length)
        count = offset + length
    }

    /// Overwrites a byte written earlier.
    mutating func patch(_ byte: UInt8, at offset: Int) {
        precondition(offset < count, "A patch lies within the bytes written.")
        start.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
    }

    /// Removes all bytes from `count` on.
    mutating func truncate(to count: Int) {
        precondition(count <= self.count, "Truncation does not extend the buffer.")
        self.count = count
    }
}
