import SheafStorage
import SheafTestSupport
import Testing

/// Single changed fields of tree pages: the invariants they violate, and the pages refused.
@Suite struct BTreeDamageTests {
    private typealias Change = BTreeFile.Change

    /// Page 1 has two children with three keys each.
    private let six = BTreeFile((1...6).map { [$0] })
    /// The same tree, in which each key has a value of 8 bytes.
    private let valued = BTreeFile((1...6).map { [$0] }, value: BTreeValue(7))
    private let nine = BTreeFile((1...9).map { [$0] })

    private func expect(
        _ file: BTreeFile, _ changes: Change..., violate expected: String...
    ) throws {
        let found = try file.violations(changes)
        #expect(found == expected, "\(changes)")
    }

    @Test func `unchanged pages violate nothing`() throws {
        for file in [six, valued, nine] {
            try expect(file)
            #expect(try file.refusedPage([]) == nil)
        }
        #expect(six.entryCounts == [2, 3, 3])
        #expect(nine.entryCounts == [3, 3, 3, 3])
    }

    @Test func `wrong headers of pages are found`() throws {
        try expect(
            six, Change(3, 2, 1), violate: "page 3 has level 1 instead of 0",
            "page 1 counts 3 of 0 entries below its entry 1", "3 entries found, but 6 counted")
        try expect(
            six, Change(3, 0, 0), violate: "page 3 is empty",
            "page 1 counts 3 of 0 entries below its entry 1", "3 entries found, but 6 counted")
        try expect(
            six, Change(1, 0, 0), violate: "page 1 is empty", "0 entries found, but 6 counted",
            "of 3 pages, 1 are reachable, 0 idle and 0 dropped")
        #expect(try six.violations([Change(3, 0, 4)]).first == "page 3 has too many entries")
        try expect(six, Change(2, 3, 40))
        try expect(six, Change(2, 3, 41), violate: "page 2 has too long a prefix")
    }

    @Test func `wrong heaps of pages are found`() throws {
        // The arrays of a page with three entries end at 116.
        try expect(six, Change(2, 4, 116, 0, 0xCC, 0x0F))
        try expect(
            six, Change(2, 4, 115, 0, 0xCD, 0x0F),
            violate: "the arrays of page 2 reach into its heap")
        try expect(
            six, Change(2, 6, 1), violate: "page 2 has a wrong count of unused heap bytes")
        // The record of the first entry is the last on the page, at 4,152.
        try expect(valued, Change(2, 104, 0x37), violate: "records of page 2 overlap")
        try expect(
            valued, Change(2, 104, 0x39), violate: "a record of page 2 ends after the page")
    }

    @Test func `wrong weights are found`() throws {
        let none = "BTreeWeights(count: 0, sum: 0)"
        let one = "BTreeWeights(count: 1, sum: 0)"
        try expect(
            six, Change(3, 72, 1),
            violate: "page 1 has the weights \(none) instead of \(one)",
            "page 3 has the weights \(one) instead of \(none)")
        try expect(
            six, Change(1, 64, 5),
            violate: "page 1 has the weights BTreeWeights(count: 0, sum: 5) instead of \(none)")
    }

    @Test func `wrong children are found`() throws {
        try expect(
            six, Change(1, 112, 2), violate: "page 2 is reached twice",
            "page 1 counts 3 of 0 entries below its entry 1", "3 entries found, but 6 counted",
            "of 3 pages, 2 are reachable, 0 idle and 0 dropped")
        try expect(
            six, Change(1, 104, 4), violate: "page 1 counts 4 of 3 entries below its entry 0")
    }

    @Test func `keys in the wrong order are found`() throws {
        try expect(
            six, Change(2, 80, 7), violate: "head 0 of page 2 does not match its key")
        try expect(
            six, Change(2, 87, 9), violate: "keys 0 and 1 of page 2 are not in order",
            "a key of page 2 is not below the separator after the page",
            "a key of page 2 is not above the key before it")
        try expect(
            six, Change(2, 87, 2), violate: "keys 0 and 1 of page 2 are not in order",
            "a key of page 2 is not above the key before it")
        try expect(
            six, Change(2, 103, 4),
            violate: "a key of page 2 is not below the separator after the page",
            "a key of page 3 is not above the key before it")
        try expect(
            six, Change(3, 87, 3), violate: "a key of page 3 is not above the key before it",
            "a key of page 3 is below the separator before the page")
        try expect(
            six, Change(2, 87, 0), Change(2, 106, 0), violate: "page 2 holds a key without bytes")
        let below = "a key of page 3 is below the separator before the page"
        try expect(
            nine, Change(1, 95, 8), violate: "keys 1 and 2 of page 1 are not in order", below,
            below, below)
    }

    /// A page, an offset and a byte, and the page that is refused then.
    private static let refusals: [(page: Int, offset: Int, byte: UInt8, refused: Int)] = [
        // The version, the number of the next page, the unused bytes, the prefix, the heap.
        (2, 2, 1, 2), (3, 2, 1, 3), (2, 8, 1, 2), (2, 15, 1, 2), (2, 16, 1, 2), (2, 23, 1, 2),
        (2, 6, 1, 2), (2, 3, 41, 2), (2, 4, 0x3F, 2), (2, 4, 0x41, 2), (2, 5, 0xFF, 2),
        (1, 2, 0, 1), (1, 2, 2, 2),
        // Empty pages, and the number of entries below a child.
        (3, 0, 0, 3), (1, 0, 0, 1), (1, 0, 1, 1), (1, 104, 4, 2), (1, 104, 2, 2),
        (1, 116, 2, 3),
        // The children, and the weights, which are compared from the root on.
        (1, 100, 3, 1), (1, 112, 2, 1), (1, 112, 4, 1), (1, 64, 1, 1), (1, 72, 1, 1),
        (2, 64, 1, 1), (3, 72, 1, 1),
        // The first entry of an inner page has no key.
        (1, 87, 1, 1), (1, 98, 1, 1),
        // The separator between the leaves.
        (1, 95, 3, 3), (1, 95, 5, 3), (3, 87, 3, 3), (2, 103, 4, 3),
        // Keys in order, and the bytes of a head after its key.
        (2, 87, 2, 2), (2, 87, 9, 2), (2, 95, 3, 2), (2, 80, 1, 2), (2, 86, 1, 2),
        // Offsets of records, and lengths of keys and values.
        (2, 104, 0x3F, 2), (2, 106, 0, 2), (2, 107, 8, 2), (1, 97, 0, 1), (1, 99, 8, 1),
    ]

    @Test func `a changed field of a page is refused`() throws {
        for (page, offset, byte, refused) in Self.refusals {
            let found = try six.refusedPage([Change(page, offset, byte)])
            #expect(found == refused, "page \(page), offset \(offset), byte \(byte)")
        }
    }

    @Test func `changes that keep pages consistent are accepted`() throws {
        let accepted: [[Change]] = [
            // A longer prefix, and other keys.
            [Change(2, 3, 40)], [Change(3, 103, 255)], [Change(2, 87, 0)],
            // The second key is the first one with a zero byte after it.
            [Change(2, 87, 2), Change(2, 110, 2)],
            // A key of eight bytes.
            [Change(2, 80, 1), Change(2, 106, 8)],
        ]
        for changes in accepted {
            #expect(try six.refusedPage(changes) == nil, "\(changes)")
        }
        // The longer of two keys with equal heads comes last.
        #expect(try six.refusedPage([Change(2, 87, 2), Change(2, 106, 2)]) == 2)
        // The eighth byte of a head is zero if the key has seven.
        #expect(try six.refusedPage([Change(2, 80, 1), Change(2, 106, 7)]) == 2)
        // Both pages agree about the weight, but the leaf has none.
        #expect(try six.refusedPage([Change(1, 72, 1), Change(3, 72, 1)]) == 3)
        // Both pages agree that a leaf is empty.
        #expect(try six.refusedPage([Change(3, 0, 0), Change(1, 116, 0)]) == 3)
    }

    @Test func `a page may have as many entries as the tree allows`() throws {
        let four = BTreeFile((1...4).map { [$0] }, fanout: 4)
        #expect(four.entryCounts == [4])
        #expect(try four.refusedPage([], fanout: 4) == nil)
        #expect(try four.refusedPage([], fanout: 3) == 1)
    }

    @Test func `the bytes after equal heads decide about the order`() throws {
        let start = [UInt8](repeating: 97, count: 8)
        let file = BTreeFile([start + [98], start + [99]])
        #expect(file.entryCounts == [2])
        // The records of one byte each are the last bytes of the page.
        for (first, second, isRefused) in [
            (98, 99, false), (0, 1, false), (99, 99, true), (100, 99, true), (98, 97, true),
        ] as [(UInt8, UInt8, Bool)] {
            let refused = try file.refusedPage([Change(1, 4_158, second, first)])
            #expect(refused == (isRefused ? 1 : nil), "\(first) before \(second)")
        }
        let longer = BTreeFile([start + [98], start + [98, 0], start + [98, 0, 0]])
        #expect(try longer.refusedPage([]) == nil)
    }

    @Test func `full pages are split where the next keys need the space`() {
        let keys = (0...340).map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        let fanout = BTree.maximumFanout
        #expect(BTreeFile(keys, fanout: fanout).entryCounts == [2, 340, 1])
        #expect(BTreeFile(keys.reversed(), fanout: fanout).entryCounts == [2, 1, 340])
        // 341 entries of 12 bytes need 4,092 bytes; 171 of them have half of these.
        for last in [1, 100, 339] {
            var order = keys
            order.append(order.remove(at: last))
            #expect(BTreeFile(order, fanout: fanout).entryCounts == [2, 171, 170])
        }
    }
}
