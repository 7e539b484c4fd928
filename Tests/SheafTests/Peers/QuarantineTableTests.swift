import SheafDocument
import SheafReplication
import Testing

/// The times and the limits of the table of quarantined documents.
struct QuarantineTableTests {
    private static let second: UInt64 = 1_000_000_000
    /// A time that the table accepts from the wall time of 700,000 ms on.
    private static let late = HybridTime(milliseconds: 1_000_000)
    private let key: [UInt8] = [1]
    private let address = DocumentAddress(collection: "cars", id: [1])

    /// Returns an address that counts as `length` bytes.
    private func address(_ number: Int, length: Int = 100) -> DocumentAddress {
        var id = [UInt8](repeating: 0, count: length - 64 - 4)
        for index in 0..<2 { id[index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
        return DocumentAddress(collection: "cars", id: id)
    }

    private func quarantined(_ addresses: [DocumentAddress]) -> QuarantineTable {
        var table = QuarantineTable()
        for address in addresses { table.add(address, Self.late, of: key, at: 0) }
        return table
    }

    @Test func `documents are checked at once, and then every thirty seconds`() {
        var table = QuarantineTable()
        table.scheduleCheck(at: 5)
        #expect(table.checkAt == nil)
        table.add(address, Self.late, of: key, at: 7)
        #expect(table.checkAt == 7)
        table.scheduleCheck(after: nil, wall: 0, at: 7)
        #expect(table.checkAt == 7 + 30 * Self.second)
        table.remove(address, of: key)
        #expect(table.checkAt == nil)
    }

    @Test(
        arguments: [
            (0, 30_000), (1, 1), (2, 2), (29_999, 29_999), (30_000, 30_000), (30_001, 30_000),
            (1 << 60, 30_000),
        ] as [(UInt64, UInt64)])
    func `a check is due when a document becomes acceptable, but within thirty seconds`(
        _ wait: UInt64, _ expected: UInt64
    ) {
        var table = quarantined([address])
        table.scheduleCheck(after: 50 + wait, wall: 50, at: 7)
        #expect(table.checkAt == 7 + expected * 1_000_000)
    }

    @Test func `a document is acceptable up to five minutes ahead of the clock`() {
        let table = quarantined([address])
        for (wall, isAccepted) in [(699_999, false), (700_000, true)] as [(UInt64, Bool)] {
            let clock = QuarantineClock(wall: wall, now: 0)
            #expect(table.retriable(of: key, clock).addresses == (isAccepted ? [address] : []))
            #expect(table.earliest(clock) == (isAccepted ? nil : 700_000))
        }
    }

    @Test func `a document that another peer has sent is retried ever later, at most hourly`() {
        var table = quarantined([address])
        table.add(address, Self.late, of: [2], at: 0)
        table.removeWritten(address, of: [2], at: 0)
        #expect(table[[2]]?.count == nil)
        var now: UInt64 = 0
        for seconds: UInt64 in [30, 30, 60, 120, 240, 480, 960, 1_920, 3_600, 3_600] {
            now += seconds * Self.second
            let early = table.retriable(of: key, QuarantineClock(wall: 0, now: now - 1))
            #expect(early.addresses.isEmpty, "before \(seconds) s")
            let due = table.retriable(of: key, QuarantineClock(wall: 0, now: now))
            #expect(due.addresses == [address], "after \(seconds) s")
            // The retry fails.
            table.add(address, Self.late, of: key, at: now)
        }
    }

    @Test func `omitted documents are reconciled after a minute, once they are acceptable`() {
        var table = QuarantineTable()
        table.omit(2, Self.late, of: key, at: 3)
        let minute = 3 + 60 * Self.second
        let cases: [(wall: UInt64, now: UInt64, isCompared: Bool)] = [
            (700_000, minute - 1, false), (699_999, minute, false), (700_000, minute, true),
        ]
        for (wall, now, isCompared) in cases {
            let clock = QuarantineClock(wall: wall, now: now)
            #expect(table.retriable(of: key, clock).comparesAll == isCompared, "\(wall), \(now)")
        }
    }

    @Test func `4,096 documents of all peers are listed, and further ones are counted`() {
        var table = QuarantineTable()
        // Sixteen peers with 256 documents each.
        for number in 0..<4_096 {
            table.add(address(number), Self.late, of: [UInt8(number / 256)], at: 0)
        }
        let listed = (0..<16).map { table[[UInt8($0)]] }
        #expect(listed.allSatisfy { $0?.count == 256 && $0?.omitted?.count == nil })
        table.add(address(4_096), Self.late, of: key, at: 0)
        #expect(table[key]?.count == 257)
        #expect(table[key]?.omitted?.count == 1)
        // A removed document makes room.
        table.remove(address(0), of: [0])
        table.add(address(4_097), Self.late, of: key, at: 0)
        #expect(table[key]?.count == 258)
        #expect(table[key]?.omitted?.count == 1)
    }

    @Test(arguments: [(0, nil), (1, 1)] as [(Int, Int?)])
    func `the addresses of listed documents have at most one mebibyte`(
        _ excess: Int, _ omitted: Int?
    ) {
        let addresses = (0..<16).map { address($0, length: 65_536 + ($0 == 15 ? excess : 0)) }
        #expect(addresses[0].memoryLength == 65_536)
        let table = quarantined(addresses)
        #expect(table[key]?.count == 16)
        #expect(table[key]?.omitted?.count == omitted)
    }

    @Test func `a request names at most 512 documents, and 131,072 bytes of addresses`() {
        let clock = QuarantineClock(wall: 700_000, now: 0)
        let many = quarantined((0..<513).map { address($0) })
        #expect(many.retriable(of: key, clock).addresses.count == 512)
        for (excess, count) in [(0, 2), (1, 1)] {
            let long = quarantined([
                address(0, length: 65_536), address(1, length: 65_536 + excess),
            ])
            #expect(long.retriable(of: key, clock).addresses.count == count)
        }
    }

    @Test func `a document that is quarantined again is accepted at its newest time`() {
        var table = quarantined([address])
        table.add(address, HybridTime(milliseconds: 1_100_000), of: key, at: 1)
        #expect(table[key]?.count == 1)
        for (wall, isAccepted) in [(799_999, false), (800_000, true)] as [(UInt64, Bool)] {
            let clock = QuarantineClock(wall: wall, now: 0)
            #expect(table.retriable(of: key, clock).addresses.isEmpty == !isAccepted)
        }
    }

    @Test func `the earliest omitted document decides when the peers reconcile`() {
        var table = QuarantineTable()
        table.omit(0, Self.late, of: key, at: 3)
        #expect(table.isEmpty && table.checkAt == nil)
        for milliseconds: UInt64 in [1_000_000, 900_000, 950_000] {
            table.omit(2, HybridTime(milliseconds: milliseconds), of: key, at: milliseconds)
        }
        #expect(table.checkAt == 900_000 && table[key]?.count == 6)
        #expect(table[key]?.omitted?.count == 6)
        #expect(table[key]?.omitted?.earliest == HybridTime(milliseconds: 900_000))
        #expect(table.earliest(QuarantineClock(wall: 599_999, now: 0)) == 600_000)
        #expect(table.earliest(QuarantineClock(wall: 600_000, now: 0)) == nil)
        // A minute begins anew with each of them.
        let minute = 950_000 + 60 * Self.second
        for (now, isCompared) in [(minute - 1, false), (minute, true)] as [(UInt64, Bool)] {
            let clock = QuarantineClock(wall: 600_000, now: now)
            #expect(table.retriable(of: key, clock).comparesAll == isCompared)
        }
    }

    @Test func `the next document that becomes acceptable is that of any peer`() {
        var table = quarantined([address(1)])
        table.add(address(2), HybridTime(milliseconds: 1_000_500), of: key, at: 0)
        table.add(address(3), HybridTime(milliseconds: 1_000_200), of: [2], at: 0)
        let times = [699_999, 700_000, 700_200, 700_500].map { (wall: UInt64) in
            table.earliest(QuarantineClock(wall: wall, now: 0))
        }
        #expect(times == [700_000, 700_200, 700_500, nil])
        let clock = QuarantineClock(wall: 800_000, now: 0)
        #expect(table.retriable(of: key, clock).addresses == [address(1), address(2)])
        let unknown = table.retriable(of: [3], clock)
        #expect(unknown.addresses.isEmpty && !unknown.comparesAll)
    }

    @Test func `all documents of a peer are removed, and those of others are not`() {
        var table = quarantined([address(1), address(2)])
        table.omit(4, Self.late, of: key, at: 0)
        table.add(address(1), Self.late, of: [2], at: 0)
        table.remove(address(3), of: key)
        #expect(table[key]?.count == 6)
        table.remove(peer: key)
        #expect(table[key] == nil && table[[2]]?.count == 1)
        #expect(!table.isEmpty && table.checkAt == 0)
        table.remove(peer: [2])
        #expect(table.isEmpty && table.checkAt == nil)
    }

    @Test func `a document that was written is retried at the other peers that had sent it`() {
        var table = quarantined([address(1), address(2)])
        table.add(address(1), Self.late, of: [2], at: 0)
        table.removeWritten(address(1), of: [2], at: 5)
        let due = 5 + 30 * Self.second
        let cases: [(now: UInt64, addresses: [DocumentAddress])] = [
            (due - 1, []), (due, [address(1)]),
        ]
        for (now, addresses) in cases {
            let clock = QuarantineClock(wall: 0, now: now)
            #expect(table.retriable(of: key, clock).addresses == addresses)
        }
    }
}
