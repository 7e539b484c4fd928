import Sheaf
import SheafBytes
import SheafDocument
import SheafSync
import SheafTestSupport
import Testing

/// What the queries of one peer may cost, whatever it subscribes to.
struct EvaluationBudgetTests {
    /// A remote peer that sends what a test wants.
    private final class Caller {
        private let host: SyncHost
        private var session: SyncSession
        private let wire: UInt64
        private(set) var documents = 0
        private(set) var farewell: Farewell?

        init(_ host: SyncHost, _ peer: UInt16, wire: UInt64, rights: PeerRights? = nil) {
            (self.host, self.wire) = (host, wire)
            session = .stranger(peer, at: 1)
            host.connect(wire, rights: rights, at: 1)
            exchange(at: 1)
        }

        func subscribe(_ queries: [String], at now: UInt64) throws {
            let arguments = try Insertion.initial(Object(), NameTable())
            session.subscribe(
                Subscribe(
                    generation: session.askedGeneration + 1,
                    queries.map { SubscribedQuery(text: $0, arguments: arguments) }, at: 0))
            exchange(at: now)
        }

        func exchange(at now: UInt64) {
            var isBusy = true
            while isBusy {
                isBusy = false
                while let effect = session.takeEffect() {
                    isBusy = true
                    switch effect {
                    case .send(let bytes):
                        bytes.withUnsafeBytes { host.receive($0, on: wire, at: now) }
                    case .listOwn: session.compare(with: VersionList(sorted: []))
                    case .apply(let step):
                        documents += step.commits.reduce(0) { $0 + $1.documents.count }
                    default: break
                    }
                }
                for effect in host.takeEffects() {
                    isBusy = true
                    switch effect {
                    case .send(wire, let bytes):
                        bytes.withUnsafeBytes { session.receive($0, at: now) }
                    case .close(wire, let reason): farewell = reason
                    default: break
                    }
                }
            }
        }
    }

    private let second: UInt64 = 1_000_000_000
    private let everything = PeerRights(read: ["cars": "true"], write: [:])

    private func scene() throws -> FileScene {
        let scene = try FileScene(1)
        for number in 0..<40 {
            let car: Object = [
                "_id": .integer(Int64(number)), "n": .integer(Int64(number)),
                "big": .string(String(repeating: "ab", count: 500)),
            ]
            try scene.execute(0, "INSERT INTO cars DOCUMENTS (:car)", ["car": Value.object(car)])
        }
        return scene
    }

    /// 256 queries of 100 terms took 77 s, in which no other connection was served.
    private var attack: [String] {
        (0..<256).map { query in
            let terms = (0..<100).map { "char_length(repeat(big, 800)) = \(query * 100 + $0)" }
            return "SELECT * FROM cars WHERE " + terms.joined(separator: " OR ")
        }
    }

    @Test func `a peer whose queries cost too much is disconnected, and others are served`() throws
    {
        let scene = try scene()
        let host = scene.nodes[0].host
        let honest = Caller(host, 2, wire: 2, rights: everything)
        let hostile = Caller(host, 1, wire: 1, rights: everything)
        try hostile.subscribe(attack, at: 1)
        #expect(hostile.farewell?.code == .limit)
        #expect(hostile.farewell?.text.contains("evaluation budget") == true)
        #expect(hostile.documents == 0)
        try honest.subscribe(["SELECT * FROM cars WHERE n < 10"], at: 2)
        #expect(honest.documents == 10)
        #expect(honest.farewell == nil)
        // A new connection has no new budget, and time fills it up.
        let again = Caller(host, 1, wire: 3, rights: everything)
        try again.subscribe(["SELECT * FROM cars WHERE n < 10"], at: 2)
        #expect(again.farewell?.code == .limit)
        let later = Caller(host, 1, wire: 4, rights: everything)
        try later.subscribe(["SELECT * FROM cars WHERE n < 10"], at: 20 * second)
        #expect(later.farewell == nil)
        #expect(later.documents == 10)
    }

    @Test func `the same query run by a local user costs what it costs`() throws {
        let scene = try scene()
        let hostile = Caller(scene.nodes[0].host, 1, wire: 1, rights: everything)
        try hostile.subscribe(attack, at: 1)
        #expect(hostile.farewell?.code == .limit)
        let query = "SELECT * FROM cars WHERE char_length(repeat(big, 800)) = 800000"
        #expect(try scene.nodes[0].rows(Query(verbatim: query)).count == 40)
    }

    @Test func `documents that a peer may not read cost it nothing`() throws {
        let scene = try scene()
        let rights = PeerRights(read: ["cars": "n = 3"], write: [:])
        let peer = Caller(scene.nodes[0].host, 1, wire: 1, rights: rights)
        // All 40 documents cost more than the budget, and one does not.
        let terms = (0..<20).map { "char_length(repeat(big, 800)) = \($0)" } + ["n >= 0"]
        let query = "SELECT * FROM cars WHERE " + terms.joined(separator: " OR ")
        try peer.subscribe([query], at: 1)
        #expect(peer.farewell == nil)
        #expect(peer.documents == 1)
    }

    @Test func `whatever one peer subscribes to, the next event serves another one`() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        print("hostile subscriptions, seed \(seed)")
        var random = SeededRandom(seed: seed)
        let scene = try scene()
        let host = scene.nodes[0].host
        let makers = [
            "char_length(repeat(big, 900))", "char_length(replace(big, 'a', big))",
            "char_length(lpad(big, 1000000, 'x'))", "char_length(big || big || big)",
            "array_length(split(repeat(big, 500), 'a'))", "n", "char_length(upper(big))",
        ]
        for round in 0..<12 {
            let wire = UInt64(round * 2 + 10)
            let hostile = Caller(host, 1, wire: wire, rights: everything)
            let queries = (0..<(1 + random.below(60))).map { number in
                let terms = (0..<(1 + random.below(40))).map { _ in
                    "\(makers[random.below(makers.count)]) = -\(1 + number)"
                }
                let order = random.chance(1, in: 4) ? " ORDER BY n LIMIT 5" : ""
                return "SELECT * FROM cars WHERE " + terms.joined(separator: " OR ") + order
            }
            let now = UInt64(round + 2) * second
            try hostile.subscribe(queries, at: now)
            if let farewell = hostile.farewell { #expect(farewell.code == .limit, "\(seed)") }
            let honest = Caller(host, UInt16(round + 2), wire: wire + 1, rights: everything)
            try honest.subscribe(["SELECT * FROM cars WHERE n < 10"], at: now)
            #expect(honest.documents == 10, "seed \(seed)")
            host.disconnect(wire)
            host.disconnect(wire + 1)
        }
    }
}
