import BenchStores
import SheafDocument

/// Encoded cars, stored consecutively in memory.
struct CarFixture {
    private var bytes: [UInt8] = []
    private var ends: [Int] = [0]

    /// Encodes the first `count` cars.
    init(count: Int) throws {
        bytes.reserveCapacity(count * 192)
        for index in 0..<UInt64(count) {
            bytes += try Cars.document(Array(Cars.text(index).utf8), index)
            ends.append(bytes.count)
        }
    }

    /// The number of cars.
    var count: Int { ends.count - 1 }

    /// Returns the number of cars for which `test` is true.
    func count(where test: FieldFilter) throws -> Int {
        var found = 0
        try bytes.withUnsafeBytes { bytes in
            for index in 0..<count {
                let document = UnsafeRawBufferPointer(
                    rebasing: bytes[ends[index]..<ends[index + 1]])
                if try test.accepts(document) { found += 1 }
            }
        }
        return found
    }

    /// Returns the sum of all 8-byte words; measures how fast the documents are read.
    func sum() -> UInt64 {
        bytes.withUnsafeBytes { bytes in
            var sum: UInt64 = 0
            for offset in stride(from: 0, to: bytes.count & ~7, by: 8) {
                sum &+= bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
            }
            return sum
        }
    }
}
