import Sheaf
import SheafBytes
import SheafDocument
import SheafDocumentModel
import SheafStorage
import SheafTestSupport
import Testing

/// Random lives of stores that exchange what they wrote, against the model.
@Suite struct DocumentHistoryTests {
    private let firstSeed: UInt64 = 7_000

    /// A document that is large enough for deltas.
    private static let large = Object([
        ("filler", .string(String(repeating: "x", count: 1_200))),
        ("m", .object(Object((0..<40).map { ("key\($0)", .integer(Int64($0))) }))),
    ])

    private struct Life {
        var peers: [DocumentLife]
        var random: SeededRandom
        var writes: RandomWrite
        /// Of each pair of peers, up to which commit the second has what the first wrote.
        var cursors: [[CommitID]]

        init(seed: UInt64, peers count: Int) throws {
            let clock = FakeClock()
            peers = try (0..<count).map {
                try DocumentLife(seed: seed * 10 + UInt64($0), clock: clock)
            }
            random = SeededRandom(seed: seed, "lives")
            writes = RandomWrite(seed: seed)
            cursors = Array(repeating: Array(repeating: 0, count: count), count: count)
        }

        mutating func step() throws {
            let peer = peers[random.below(peers.count)]
            peer.clock.advance(milliseconds: UInt64(random.below(3)))
            switch random.below(20) {
            case 0:
                try peer.flush()
                try peer.compact()
            case 1: try peer.reopen(seed: random.next())
            case 2...6: try exchange()
            case 7:
                try peer.apply(.insert(DocumentHistoryTests.large), to: name())
            default:
                let name = name()
                let exists = peer.models[name]?.value != nil
                try peer.apply(writes.write(isThere: exists), to: name)
                if random.chance(2, in: 3) { try peer.flush() }
            }
        }

        private mutating func name() -> DocumentLife.Name {
            DocumentLife.names[random.below(DocumentLife.names.count)]
        }

        /// One peer takes all that another wrote since the last time.
        private mutating func exchange() throws {
            let from = random.below(peers.count)
            let into = (from + 1 + random.below(peers.count - 1)) % peers.count
            let (source, target) = (peers[from], peers[into])
            try source.flush()
            let snapshot = source.engine.snapshot()
            for name in DocumentLife.names {
                guard let key = try snapshot.key(collection: name.collection, id: name.id),
                    let model = source.models[name]
                else { continue }
                switch try snapshot.changes(of: key, since: cursors[from][into]) {
                case .nothing, .removed: break
                case .delta(let bytes), .state(let bytes):
                    let portable = try bytes.withUnsafeBytes {
                        try EncodedDocument($0).renamed(from: snapshot.names, to: NameTable())
                    }
                    try target.join(portable, name, model)
                }
            }
            cursors[from][into] = snapshot.log.commit
            try target.flush()
        }
    }

    @Test func `documents by their chains are those of the model, and so is what changed`() throws {
        for seed in firstSeed..<firstSeed + 8 {
            var life = try Life(seed: seed, peers: 2 + Int(seed % 2))
            for step in 0..<80 {
                try life.step()
                for peer in life.peers {
                    try peer.flush()
                    for name in DocumentLife.names {
                        let expected = peer.models[name]?.dump ?? []
                        let found = try peer.dump(try peer.bytes(name))
                        guard found == expected else {
                            #expect(found == expected, "seed \(seed), step \(step), \(name)")
                            return
                        }
                    }
                }
            }
            for peer in life.peers { try check(peer, seed) }
        }
    }

    /// Holds what a log says of older commits, and of what changed since, against the model.
    private func check(_ peer: DocumentLife, _ seed: UInt64) throws {
        let snapshot = peer.engine.snapshot()
        let first = snapshot.log.foldedThrough
        for name in DocumentLife.names {
            guard let key = try snapshot.key(collection: name.collection, id: name.id) else {
                continue
            }
            for commit in first...peer.lastCommit {
                guard let past = peer.past[commit] else { continue }
                let expected = past[name]?.dump ?? []
                guard let then = try snapshot.document(key, asOf: commit) else {
                    Issue.record("seed \(seed): commit \(commit) is not known")
                    continue
                }
                #expect(try peer.dump(then?.bytes) == expected, "seed \(seed), commit \(commit)")
                let changes = try snapshot.changes(of: key, since: commit)
                try check(changes, since: then?.bytes, peer, name, "seed \(seed), since \(commit)")
            }
        }
    }

    private func check(
        _ changes: DocumentSnapshot.ChangesSince, since then: [UInt8]?, _ peer: DocumentLife,
        _ name: DocumentLife.Name, _ comment: Comment
    ) throws {
        let now = try peer.dump(try peer.bytes(name))
        let names = peer.engine.snapshot().names
        switch changes {
        case .nothing: #expect(try peer.dump(then) == now, comment)
        case .removed: #expect(now == [], comment)
        case .state(let bytes): #expect(try peer.dump(bytes) == now, comment)
        case .delta(let bytes):
            try bytes.withUnsafeBytes { try EncodedDocument($0).validate(names) }
            guard let then else {
                Issue.record("a delta on nothing")
                return
            }
            #expect(try peer.dump(BytesDocument.joined(then, bytes, names)) == now, comment)
        }
    }
}
