import SheafDocument

/// Encoded cars one behind the other in memory, as an engine has documents.
struct CarLot {
    private var bytes: [UInt8] = []
    private var ends: [Int] = [0]

    /// The first `count` cars.
    init(count: Int) throws {
        bytes.reserveCapacity(count * 192)
        for index in 0..<UInt64(count) {
            bytes += try Cars.document(Array(Cars.text(index).utf8), index)
            ends.append(bytes.count)
        }
    }

    /// How many cars there are.
    var count: Int { ends.count - 1 }

    /// Of how many of them a test is true.
    func count(where test: FieldFilter) throws -> Int {
        var found = 0
        try bytes.withUnsafeBytes { bytes in
            for index in 0..<count {
                let document = UnsafeRawBufferPointer(
                    rebasing: bytes[ends[index]..<ends[index + 1]])
                if try test.holds(document) { found += 1 }
            }
        }
        return found
    }

    /// The sum of all words, for which all bytes must come from memory.
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
