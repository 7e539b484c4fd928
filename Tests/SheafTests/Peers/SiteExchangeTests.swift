import SheafBytes
import SheafDocument
import SheafEngine
import SheafReplication
import SheafStatements
import SheafStorage
import SheafSync
import SheafTestSupport
import Testing

/// Tests of what the two sides of a connection know of sites, collections and hidden documents.
struct SiteExchangeTests {
    private static let peer = Site(rawValue: 8)

    private func pauses(_ site: Site, _ number: UInt64) throws -> SitePauses {
        let pause = WritePause(
            after: HybridTime(milliseconds: number), before: HybridTime(milliseconds: number + 9))
        return SitePauses(site: site, pauses: [try #require(pause)])
    }

    private func hello(_ pauses: [WritePause]) -> Hello {
        Hello(
            database: Hello.DatabaseID(low: 1, high: 2),
            peerKey: [UInt8](repeating: 1, count: 32), site: Self.peer,
            log: XXH3.Hash128(low: 3, high: 4), nonce: 5, wallMilliseconds: 0, pauses: pauses,
            isServer: false, name: "")
    }

    // MARK: Sites

    @Test func `pauses are reported once, unless the peer has reported them`() throws {
        let store = try SceneStore(SimulatedVolume(seed: 1), LogStoreOptions())
        let documents = store.queries.documents
        let (first, second) = (try pauses(Site(rawValue: 5), 10), try pauses(Site(rawValue: 6), 20))
        let own = try pauses(Self.peer, 30)
        var exchange = SiteExchange()
        exchange.open(hello(own.pauses))
        #expect(exchange.peer == Self.peer && exchange.pauses == own.pauses)
        _ = documents.addPauses(first)
        // The peer knows its own pauses.
        _ = documents.addPauses(own)
        var reported = exchange.drainUnreported(of: documents)
        #expect(reported == [first])
        reported = exchange.drainUnreported(of: documents)
        #expect(reported.isEmpty)
        exchange.recordKnown(second)
        _ = documents.addPauses(second)
        reported = exchange.drainUnreported(of: documents)
        #expect(reported.isEmpty)
        // A site with further pauses is reported with all of them.
        let all = try #require(documents.addPauses(try pauses(Site(rawValue: 5), 40)))
        #expect(all.pauses.count == 2)
        reported = exchange.drainUnreported(of: documents)
        #expect(reported == [all])
        // Once the peer has moved, it may not know those of its former site.
        exchange.recordMove()
        #expect(exchange.hasMoved && exchange.pauses.isEmpty)
        reported = exchange.drainUnreported(of: documents)
        #expect(reported == [own])
        reported = exchange.drainUnreported(of: documents)
        #expect(reported.isEmpty)
    }

    @Test func `a peer replaces the pauses of its own site until it moves`() throws {
        var exchange = SiteExchange()
        exchange.open(hello([]))
        let (own, other) = (try pauses(Self.peer, 30), try pauses(Site(rawValue: 5), 10))
        exchange.receive(other)
        #expect(exchange.pauses.isEmpty)
        exchange.receive(own)
        #expect(exchange.pauses == own.pauses)
        exchange.recordMove()
        exchange.receive(own)
        #expect(exchange.pauses.isEmpty)
    }

    // MARK: Collections

    @Test func `collections are named to an older peer in order, as far as there is room`() {
        let few = NamedCollections([Array("b".utf8), Array("a".utf8)])
        #expect(few.names == [Array("a".utf8), Array("b".utf8)])
        #expect(few.queries.map(\.text) == ["SELECT * FROM `a`", "SELECT * FROM `b`"])
        let same = NamedCollections([Array("a".utf8), Array("b".utf8)])
        #expect(same.hash == few.hash)
        #expect(NamedCollections([Array("a".utf8)]).hash != few.hash)
        let numbers = (10_000..<14_097).map { Array("c\($0)".utf8) }
        let many = NamedCollections(Set(numbers))
        #expect(many.names.count == 4_097 && many.queries.count == 4_096)
        #expect(many.queries.last?.text == "SELECT * FROM `c14095`")
        #expect(NamedCollections(Set(numbers.dropLast())).hash == many.hash)
    }

    // MARK: Hidden and quarantined documents

    @Test func `a document is hidden at the position at which the rule was evaluated`() {
        let address = DocumentAddress(collection: "cars", id: [1])
        let positions = (1...2).map { LogPosition(segment: 1, offset: $0) }
        var shadows = ShadowTable()
        shadows.record(address, isHidden: true, at: positions[0])
        shadows.set(address, [1])
        #expect(shadows.isHidden(address, at: positions[0]) == nil)
        for isHidden in [true, false] {
            shadows.record(address, isHidden: isHidden, at: positions[0])
            #expect(shadows.isHidden(address, at: positions[0]) == isHidden)
            #expect(shadows.isHidden(address, at: positions[1]) == nil)
        }
        // Another state of the peer is judged again.
        shadows.set(address, [2])
        #expect(shadows.documents == [address: [2]])
        #expect(shadows.isHidden(address, at: positions[0]) == nil)
        shadows.set(address, nil)
        #expect(shadows.documents.isEmpty)
    }

    @Test func `of more than 4,096 documents ahead of the clock, the earliest time is kept`() {
        var ahead = AheadDocuments()
        #expect(ahead.isEmpty && ahead.omitted == nil)
        for number in 0..<4_096 {
            ahead.add(
                DocumentAddress(collection: "cars", id: [UInt8(number >> 8), UInt8(number & 255)]),
                HybridTime(milliseconds: UInt64(number)))
        }
        #expect(ahead.documents.count == 4_096 && ahead.omitted == nil && !ahead.isEmpty)
        let address = DocumentAddress(collection: "cars", id: [9])
        for (time, count, earliest) in [(50, 1, 50), (40, 2, 40), (45, 3, 40)]
            as [(UInt64, Int, UInt64)]
        {
            ahead.add(address, HybridTime(milliseconds: time))
            #expect(ahead.omitted?.count == count)
            #expect(ahead.omitted?.earliest == HybridTime(milliseconds: earliest))
        }
        var all = AheadDocuments()
        all.add(address, HybridTime(milliseconds: 30))
        all.add(ahead)
        // The last document of the other list has no room.
        #expect(all.documents.count == 4_096 && all.documents.first?.address == address)
        #expect(all.omitted?.count == 4)
        #expect(all.omitted?.earliest == HybridTime(milliseconds: 40))
    }
}
