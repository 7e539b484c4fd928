import SheafBytes
import SheafDocument
import SheafReplication
import SheafStorage
import SheafSync
import Testing

/// The maximum numbers of peers and documents in the tables of a replicator.
struct PeerTableLimitTests {
    private let key: [UInt8] = [1]

    /// Returns an address that counts as `length` bytes.
    private func address(_ number: Int, length: Int = 100) -> DocumentAddress {
        var id = [UInt8](repeating: 0, count: length - 64 - 4)
        for index in 0..<2 { id[index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
        return DocumentAddress(collection: "cars", id: id)
    }

    private func keys(_ range: Range<Int>) -> [[UInt8]] {
        range.map { [UInt8($0 % 256), UInt8($0 / 256)] }
    }

    // MARK: Refused documents

    @Test func `1,024 refused documents of one peer are listed, and further ones are counted`() {
        var table = RefusalTable()
        for number in 0..<1_024 {
            table.add(address(number), [], .document, of: key, milliseconds: 0)
        }
        #expect(table.refusals(of: key).omitted == 0)
        table.add(address(1_024), [], .document, of: key, milliseconds: 0)
        #expect(table.refusals(of: key).omitted == 1)
        #expect(table.addresses(of: key).count == 1_024)
        #expect(table.addresses(of: key).contains(address(1_023)))
    }

    @Test func `8,192 refused documents of all peers are listed, and further ones are counted`() {
        var table = RefusalTable()
        // Sixteen peers with 512 documents each.
        for number in 0..<8_192 {
            table.add(
                address(number), [], .document, of: [UInt8(number / 512)], milliseconds: 0)
        }
        for peer: UInt8 in 0..<16 {
            #expect(table.addresses(of: [peer]).count == 512)
            #expect(table.refusals(of: [peer]).omitted == 0)
        }
        table.add(address(8_192), [5], .document, of: [16], milliseconds: 0)
        #expect(table.addresses(of: [16]).isEmpty)
        #expect(table.refusals(of: [16]).omitted == 1)
        table.remove(address(0), of: [0])
        table.add(address(8_193), [6], .document, of: [16], milliseconds: 0)
        #expect(table.addresses(of: [16]) == [address(8_193)])
        #expect(table.refusals(of: [16]).omitted == 1)
    }

    @Test(arguments: [(0, 0), (1, 1)] as [(Int, UInt64)])
    func `the addresses of listed refused documents have at most four mebibytes`(
        _ excess: Int, _ omitted: UInt64
    ) {
        var table = RefusalTable()
        for number in 0..<64 {
            let address = address(number, length: 65_536 + (number == 63 ? excess : 0))
            table.add(address, [], .document, of: key, milliseconds: 0)
        }
        #expect(table.addresses(of: key).count == 64 - excess)
        #expect(table.refusals(of: key).omitted == omitted)
    }

    @Test func `of more than sixteen refused commits, the first and the newest are listed`() throws
    {
        let address = DocumentAddress(
            collection: "cars", id: try DocumentID.key(of: .string("a")))
        let key = [UInt8](repeating: 1, count: 32)
        var table = RefusalTable()
        table.add(address, Array(1...15), .document, of: key, milliseconds: 0)
        table.add(address, [16], .document, of: key, milliseconds: 0)
        let all = try #require(table.write(address, of: key))
        #expect(all.commitIDs == Array(1...16))
        table.add(address, [17], .document, of: key, milliseconds: 0)
        let write = try #require(table.write(address, of: key))
        #expect(write.commitIDs == [1] + Array(3...17))
        // The omitted commit may concern the document, too.
        #expect(write.concerns(2) && write.concerns(17))
        #expect(!write.concerns(0) && !write.concerns(18))
    }

    // MARK: Documents of limited peers

    @Test func `4,096 received documents of one peer are kept`() {
        var received = ReceivedDocuments()
        for number in 0..<4_096 { received.add(address(number)) }
        #expect(received.contains(address(0)))
        received.add(address(4_096))
        #expect(!received.contains(address(0)))
        #expect(received.contains(address(1)))
    }

    @Test(arguments: [0, 1])
    func `the addresses of received documents have at most one mebibyte`(_ excess: Int) {
        var received = ReceivedDocuments()
        for number in 0..<15 { received.add(address(number, length: 65_536)) }
        received.add(address(15, length: 65_536 + excess))
        #expect(received.contains(address(0, length: 65_536)) == (excess == 0))
        #expect(received.contains(address(1, length: 65_536)))
    }

    @Test func `256 hidden documents of one peer are kept`() {
        var shadows = ShadowTable()
        for number in 0..<256 { shadows.set(address(number), [1]) }
        #expect(shadows.documents.count == 256)
        shadows.set(address(256), [1])
        #expect(shadows.documents.count == 256)
        #expect(shadows.documents[address(0)] == nil)
        #expect(shadows.documents[address(1)] == [1])
    }

    @Test(arguments: [0, 1])
    func `hidden documents and their addresses have at most one mebibyte`(_ excess: Int) {
        var shadows = ShadowTable()
        let half = 1 << 19
        shadows.set(address(0), [UInt8](repeating: 1, count: half - 100))
        shadows.set(address(1), [UInt8](repeating: 1, count: half - 100 + excess))
        #expect(shadows.documents.count == 2 - excess)
        #expect(shadows.documents[address(1)] != nil)
        // A state that does not fit alone leaves the others.
        shadows.set(address(2), [UInt8](repeating: 1, count: 2 * half - 99))
        #expect(shadows.documents.count == 2 - excess)
        shadows.set(address(2), [UInt8](repeating: 1, count: 2 * half - 100))
        #expect(Array(shadows.documents.keys) == [address(2)])
    }

    @Test func `a peer with more than 4,096 read repairs reconciles`() {
        let peer = LimitedPeer()
        for number in 0..<4_096 {
            let isKept = peer.repair(address(number))
            #expect(isKept)
            peer.judgeLater(address(number))
        }
        #expect(peer.repairs.count == 4_096)
        #expect(peer.unjudged.count == 4_096)
        let isKept = peer.repair(address(4_096))
        peer.judgeLater(address(4_096))
        #expect(!isKept)
        #expect(peer.repairs.isEmpty && peer.unjudged.isEmpty)
        #expect(ReadRepairTable.maximumDocuments == 65_536)
    }

    @Test func `a limited peer keeps the maximum of read repairs with which it is remembered`() {
        var peers = RememberedPeers()
        let peer = peers.openLimitedPeer(key, most: 2)
        for number in 0..<2 {
            let isKept = peer.repair(address(number))
            #expect(isKept)
            peer.judgeLater(address(number))
        }
        // A known document counts once.
        let isKnown = peer.repair(address(1))
        peer.judgeLater(address(1))
        #expect(isKnown && peer.repairs.count == 2 && peer.unjudged.count == 2)
        let again = peers.openLimitedPeer(key, most: 3)
        let isKept = again.repair(address(2))
        again.judgeLater(address(2))
        #expect(!isKept && peer.repairs.isEmpty && peer.unjudged.isEmpty)
    }

    // MARK: Peers

    @Test func `4,096 peers are remembered, and those connected at the same time`() {
        var peers = RememberedPeers()
        for (index, key) in keys(0..<4_097).enumerated() {
            #expect(peers.isFull(for: [9, 9, 9], connected: 1) == (index >= 4_096))
            #expect(!peers.isFull(for: [9, 9, 9], connected: 2))
            _ = peers.change(key) { _ in }
        }
        #expect(peers.isFull(for: [9, 9, 9], connected: 2))
        #expect(peers.isFull(for: [9, 9, 9], connected: 0))
    }

    @Test func `four earlier logs of a peer are remembered`() {
        let key = [UInt8](repeating: 1, count: 32)
        func hello(_ log: UInt64) -> Hello {
            Hello(
                database: XXH3.Hash128(low: 0, high: 0), peerKey: key, site: .initial,
                log: XXH3.Hash128(low: log, high: 0), nonce: 0, wallMilliseconds: 0,
                isServer: false, name: "")
        }
        for (count, isContested) in [(5, true), (6, false)] as [(UInt64, Bool)] {
            var openings = PeerOpenings(most: 10)
            for log in 1...count { _ = openings.record(hello(log)) }
            let isFound = openings.record(hello(1))
            #expect(isFound == isContested, "\(count) logs")
        }
    }

    @Test(arguments: [(0, true), (1, false)] as [(Int, Bool)])
    func `the logs of all peers are discarded beyond the maximum number of peers`(
        _ excess: Int, _ isKnown: Bool
    ) {
        var openings = PeerOpenings(most: 10)
        func hello(_ key: [UInt8], _ log: UInt64) -> Hello {
            Hello(
                database: XXH3.Hash128(low: 0, high: 0),
                peerKey: key + [UInt8](repeating: 0, count: 32 - key.count), site: .initial,
                log: XXH3.Hash128(low: log, high: 0), nonce: 0, wallMilliseconds: 0,
                isServer: false, name: "")
        }
        for log: UInt64 in 1...2 { _ = openings.record(hello([0], log)) }
        for key in keys(1..<10 + excess) { _ = openings.record(hello(key, 1)) }
        let isContested = openings.record(hello([0], 1))
        #expect(isContested == isKnown)
    }

    @Test(arguments: [(499_999_999, true), (500_000_000, false)] as [(UInt64, Bool)])
    func `of more than 1,024 rate limiters, those whose interval has ended are discarded`(
        _ now: UInt64, _ isKept: Bool
    ) {
        var limiters = RateLimiters()
        let keys = keys(0..<1_025)
        for key in keys.prefix(1_023) { _ = limiters.recordSubscription(of: key, 0) }
        _ = limiters.recordSubscription(of: keys[1_023], now)
        #expect(limiters.hasSubscribed(keys[0]))
        _ = limiters.recordSubscription(of: keys[1_024], now)
        #expect(limiters.hasSubscribed(keys[0]) == isKept)
        #expect(limiters.hasSubscribed(keys[1_023]) && limiters.hasSubscribed(keys[1_024]))
    }

    @Test func `a subscription waits for half a second per subscription beyond 32`() {
        var limiters = RateLimiters()
        var turns: [UInt64] = []
        for _ in 0..<66 { turns.append(limiters.recordSubscription(of: key, 7)) }
        let delays = turns.map { ($0 - 7) / 1_000_000 }
        #expect(delays.prefix(32).allSatisfy { $0 == 0 })
        // The delay after 32 more is the first that ends a connection; it grows no further.
        let expected: [UInt64] = (1...33).map { 500 * $0 } + [16_500]
        #expect(Array(delays.dropFirst(32)) == expected)
        #expect(SyncLimits.delayedSubscriptions == 32)
    }

    @Test func `the limits of a replicator are the documented ones`() {
        let limits = ReplicatorLimits()
        #expect(limits.limitedChanges == 65_536)
        #expect(limits.limitedChangeBytes == 16_777_216)
        #expect(limits.unwritten == 268_435_456)
        #expect(limits.limitedRepairs == 4_096)
        #expect(limits.wanted == 262_144)
        #expect(limits.evaluated == 1_000_000)
        // A connection of a copied store is replaced at the earliest then.
        #expect(Replicator.turn == 5_000_000_000)
    }
}
