import SheafBytes
import SheafTestSupport
import Testing

/// Tests of comparisons of bytes, against those of arrays.
struct EqualBytesTests {
    private func isSame(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        left.withUnsafeBytes { left in right.withUnsafeBytes { left.hasSameBytes(as: $0) } }
    }

    @Test func `regions are equal if each of their bytes is`() {
        for count in 0...40 {
            // The regions lie within other bytes, which differ.
            let left = [1] + [UInt8](repeating: 7, count: count) + [2]
            let right = [3] + [UInt8](repeating: 7, count: count) + [4]
            func areEqual(_ other: [UInt8]) -> Bool {
                left.withUnsafeBytes { left in
                    other.withUnsafeBytes { other in
                        let region = UnsafeRawBufferPointer(rebasing: left[1..<count + 1])
                        return region.hasSameBytes(
                            as: UnsafeRawBufferPointer(rebasing: other[1..<count + 1]))
                    }
                }
            }
            #expect(areEqual(right), "\(count) bytes")
            for index in 1..<count + 1 {
                for bit in [0x01, 0x80] as [UInt8] {
                    var other = right
                    other[index] ^= bit
                    #expect(!areEqual(other), "byte \(index) of \(count)")
                }
            }
        }
    }

    @Test func `regions of different lengths differ, and empty ones are equal`() {
        #expect(isSame([], []))
        for count in 0..<20 {
            let bytes = [UInt8](repeating: 7, count: count)
            #expect(!isSame(bytes, bytes + [7]) && !isSame(bytes + [7], bytes))
        }
        let none = UnsafeRawBufferPointer(start: nil, count: 0)
        #expect(none.hasSameBytes(as: none))
        let array: [UInt8] = [7]
        array.withUnsafeBytes { bytes in
            #expect(!none.hasSameBytes(as: bytes) && !bytes.hasSameBytes(as: none))
            let empty = UnsafeRawBufferPointer(rebasing: bytes[..<0])
            #expect(none.hasSameBytes(as: empty) && empty.hasSameBytes(as: none))
        }
    }

    @Test func `arrays precede others as their elements do`() {
        var random = SeededRandom(seed: 3, "byte order")
        var arrays: [[UInt8]] = [[], [0], [0xFF], [0, 0], [0x7F], [0x80], [0xFF, 0]]
        for _ in 0..<40 {
            arrays.append((0..<random.below(5)).map { _ in [0, 1, 0x80, 0xFF][random.below(4)] })
        }
        for left in arrays {
            for right in arrays {
                // The standard library compares other sequences one by one.
                let expected = left.lazy.map { $0 }.lexicographicallyPrecedes(right.lazy.map { $0 })
                #expect(left.lexicographicallyPrecedes(right) == expected, "\(left), \(right)")
            }
        }
    }

    @Test func `zeros replace all bytes of a region`() {
        var bytes = [UInt8](repeating: 7, count: 9)
        bytes.withUnsafeMutableBytes { bytes in
            UnsafeMutableRawBufferPointer(rebasing: bytes[1..<8]).fillWithZeros()
        }
        #expect(bytes == [7, 0, 0, 0, 0, 0, 0, 0, 7])
        UnsafeMutableRawBufferPointer(start: nil, count: 0).fillWithZeros()
    }
}
