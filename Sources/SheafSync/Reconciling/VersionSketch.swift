import SheafBytes

/// A summary of a set of versions; a difference of two has the versions that only one set has.
///
/// An invertible Bloom lookup table (`format-spec/sync.md`, *Sketches*). Each version is added to
/// three cells, one in each third. Its size depends on the number of differences, not on the sets.
package struct VersionSketch: Equatable, Sendable {
    /// The versions added to a cell.
    struct Cell: Equatable, Sendable {
        var sum: UInt64 = 0
        /// The sum of the check numbers of the versions.
        var check: UInt32 = 0
        /// The number of versions modulo 256.
        var count: UInt8 = 0

        static let length = 13

        var isEmpty: Bool { self == Cell() }

        mutating func add(_ version: UInt64) {
            sum &+= version
            check &+= VersionSketch.check(version)
            count &+= 1
        }

        mutating func subtract(_ version: UInt64) {
            sum &-= version
            check &-= VersionSketch.check(version)
            count &-= 1
        }

        mutating func subtract(_ other: Cell) {
            sum &-= other.sum
            check &-= other.check
            count &-= other.count
        }
    }

    /// The versions that only one of two sets has.
    package struct Difference: Equatable {
        /// The versions of the set of the minuend.
        package var added: [UInt64] = []
        /// The versions of the subtracted set.
        package var missing: [UInt64] = []
    }

    private(set) var cells: [Cell]

    /// Creates an empty sketch of three times `third` cells.
    package init(third: Int) {
        cells = Array(repeating: Cell(), count: 3 * third)
    }

    /// Number of cells in each third, at most.
    static let maximumThird = SyncLimits.sketchCells / 3

    /// Returns the size for an expected number of differences, with a margin against failure.
    static func third(for differences: Int) -> Int {
        // 1.22 cells for each difference are the least; small sketches vary more.
        (differences * 3 / 2 + 24 + 2) / 3
    }

    package mutating func add(_ version: UInt64) {
        let (first, second, third) = indices(of: version)
        cells[first].add(version)
        cells[second].add(version)
        cells[third].add(version)
    }

    package mutating func subtract(_ other: VersionSketch) {
        for index in cells.indices { cells[index].subtract(other.cells[index]) }
    }

    /// Returns the versions in a difference of sketches; nil if they are too many for its size.
    package consuming func decode() -> Difference? {
        var rest = self
        var found = Difference()
        var open = Array(rest.cells.indices)
        // A sketch has fewer versions than cells; a false one must not be decoded in circles.
        var budget = rest.cells.count
        while let index = open.popLast() {
            let cell = rest.cells[index]
            let isAdded = cell.count == 1 && cell.check == Self.check(cell.sum)
            let isMissing =
                cell.count == .max && 0 &- cell.check == Self.check(0 &- cell.sum)
            guard isAdded || isMissing else { continue }
            budget -= 1
            guard budget >= 0 else { return nil }
            let version = isAdded ? cell.sum : 0 &- cell.sum
            if isAdded { found.added.append(version) } else { found.missing.append(version) }
            let (first, second, third) = rest.indices(of: version)
            for index in [first, second, third] {
                if isAdded {
                    rest.cells[index].subtract(version)
                } else {
                    rest.cells[index].add(version)
                }
                open.append(index)
            }
        }
        return rest.cells.allSatisfy(\.isEmpty) ? found : nil
    }

    /// Returns the cells of a version, one in each third.
    private func indices(of version: UInt64) -> (Int, Int, Int) {
        let third = UInt64(cells.count / 3)
        func index(_ part: UInt64) -> Int {
            let window = (version >> (21 * part)) & 0x1F_FFFF
            return Int(part * third + (window * third) >> 21)
        }
        return (index(0), index(1), index(2))
    }

    /// Returns a number that distinguishes a single version from a sum of several.
    static func check(_ version: UInt64) -> UInt32 {
        withUnsafeBytes(of: version.littleEndian) {
            UInt32(truncatingIfNeeded: XXH3.hash64($0))
        }
    }
}

extension VersionSketch {
    func write(to writer: inout ByteWriter) {
        for cell in cells {
            writer.write(cell.sum)
            writer.write(cell.check)
            writer.write(cell.count)
        }
    }

    init(_ reader: inout ByteReader, count: Int) throws(Malformed) {
        guard count > 0, count % 3 == 0, count <= 3 * Self.maximumThird else {
            throw .invalid("a sketch of \(count) cells", at: reader.offset)
        }
        cells = []
        cells.reserveCapacity(count)
        for _ in 0..<count {
            cells.append(
                Cell(
                    sum: try reader.readUInt64(), check: try reader.readUInt32(),
                    count: try reader.readUInt8()))
        }
    }
}
