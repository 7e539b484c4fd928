import SheafBytes
import SheafDocument
import SheafDocumentModel
import SheafEngine
import SheafStorage
import SheafTestSupport

/// A random history of stores that exchange their writes, compared with the model.
package struct DocumentSimulations {
    /// The numbers of checks in a run.
    package struct Report: Sendable {
        package var steps = 0
        /// Older commits whose states and later changes were compared with the model.
        package var pasts = 0
    }

    /// A difference between a store and its model.
    package struct Violation: Error, CustomStringConvertible {
        package let description: String
    }

    /// A document large enough to be written as deltas.
    private static let large = Object([
        ("filler", .string(String(repeating: "x", count: 1_200))),
        ("m", .object(Object((0..<40).map { ("key\($0)", .integer(Int64($0))) }))),
    ])

    private var peers: [DocumentSimulation]
    private var random: SeededRandom
    private var writes: RandomWrite
    /// The last commit of the first peer that the second received, for each pair of peers.
    private var cursors: [[CommitID]]

    /// Runs the history of a seed; throws the first difference.
    package static func run(seed: UInt64, steps: Int) throws -> Report {
        var report = Report()
        var simulations = try DocumentSimulations(seed: seed, peers: 2 + Int(seed % 2))
        for step in 0..<steps {
            for peer in try simulations.step() {
                try simulations.peers[peer].flush()
                try simulations.check(simulations.peers[peer], "seed \(seed), step \(step)")
            }
            report.steps += 1
        }
        for peer in simulations.peers {
            try simulations.checkPast(of: peer, "seed \(seed)", &report)
        }
        return report
    }

    private init(seed: UInt64, peers count: Int) throws {
        let clock = FakeClock()
        peers = try (0..<count).map {
            try DocumentSimulation(seed: seed * 10 + UInt64($0), clock: clock)
        }
        random = SeededRandom(seed: seed, "lives")
        writes = RandomWrite(seed: seed)
        cursors = Array(repeating: Array(repeating: 0, count: count), count: count)
    }

    /// Performs a random step; returns the peers that it changed.
    private mutating func step() throws -> [Int] {
        let number = random.below(peers.count)
        let peer = peers[number]
        peer.clock.advance(milliseconds: UInt64(random.below(3)))
        switch random.below(20) {
        case 0:
            try peer.flush()
            try peer.compact()
        case 1: try peer.reopen(seed: random.next())
        case 2...6: return try exchange()
        case 7:
            try peer.apply(.insert(Self.large), to: name())
        default:
            let name = name()
            let exists = peer.models[name]?.value != nil
            try peer.apply(writes.write(isPresent: exists), to: name)
            if random.chance(2, in: 3) { try peer.flush() }
        }
        return [number]
    }

    private mutating func name() -> DocumentSimulation.Name {
        DocumentSimulation.names[random.below(DocumentSimulation.names.count)]
    }

    /// Sends the changes of one peer since the last exchange to another peer.
    private mutating func exchange() throws -> [Int] {
        let from = random.below(peers.count)
        let into = (from + 1 + random.below(peers.count - 1)) % peers.count
        let (source, target) = (peers[from], peers[into])
        try source.flush()
        let snapshot = source.engine.snapshot()
        for name in DocumentSimulation.names {
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
        return [from, into]
    }

    private func check(_ peer: DocumentSimulation, _ title: String) throws {
        for name in DocumentSimulation.names {
            try Self.expect(
                try peer.dump(try peer.bytes(name)), peer.models[name]?.dump ?? [],
                "\(title), \(name)")
        }
        try checkCounts(of: peer, title)
    }

    /// Checks document counts, computed from key ranges, against the model.
    private func checkCounts(of peer: DocumentSimulation, _ title: String) throws {
        let snapshot = peer.engine.snapshot()
        for (number, collection) in snapshot.catalog.collections.enumerated() {
            let expected = peer.models.count { $0.collection == collection && $1.value != nil }
            let keys = StoreKey.documents(of: UInt16(number))
            let found = snapshot.tombstones(of: collection).map {
                snapshot.count(in: keys) - snapshot.count(in: $0)
            }
            guard found == expected else {
                throw Violation(
                    description: "\(title): \(collection) has \(expected) documents, "
                        + "but the count is \(found.map(String.init) ?? "unknown")")
            }
        }
    }

    /// Checks the states of older commits, and the changes since, against the model.
    private func checkPast(
        of peer: DocumentSimulation, _ title: String, _ report: inout Report
    ) throws {
        try peer.flush()
        let snapshot = peer.engine.snapshot()
        let findings = try DocumentVerifier.verify(snapshot.log)?.findings ?? []
        guard findings.isEmpty else { throw Violation(description: "\(title): \(findings)") }
        let first = snapshot.log.compactedThrough
        for name in DocumentSimulation.names {
            guard let key = try snapshot.key(collection: name.collection, id: name.id) else {
                continue
            }
            let now = try peer.dump(try peer.bytes(name))
            for commit in first...peer.lastCommit {
                guard let past = peer.past[commit] else { continue }
                let title = "\(title), commit \(commit), \(name)"
                guard let then = try snapshot.document(key, asOf: commit) else {
                    throw Violation(description: "\(title): the commit is not in the log")
                }
                try Self.expect(try peer.dump(then?.bytes), past[name]?.dump ?? [], title)
                let found = try Self.applied(
                    try snapshot.changes(of: key, since: commit), to: then?.bytes, peer)
                try Self.expect(found, now, "\(title), changes since")
                report.pasts += 1
            }
        }
    }

    /// Returns the contents of an older state with the later changes applied.
    private static func applied(
        _ changes: DocumentSnapshot.ChangesSince, to then: [UInt8]?, _ peer: DocumentSimulation
    ) throws -> [String] {
        switch changes {
        case .nothing: return try peer.dump(then)
        case .removed: return []
        case .state(let bytes): return try peer.dump(bytes)
        case .delta(let bytes):
            let names = peer.engine.snapshot().names
            try bytes.withUnsafeBytes { try EncodedDocument($0).validate(names) }
            guard let then else { throw Violation(description: "a delta without a base document") }
            return try peer.dump(BytesDocument.joined(then, bytes, names))
        }
    }

    private static func expect(_ found: [String], _ expected: [String], _ title: String) throws {
        guard found != expected else { return }
        let (found, expected) = (Set(found), Set(expected))
        throw Violation(
            description: "\(title) has \(found.subtracting(expected).sorted()), "
                + "instead of \(expected.subtracting(found).sorted())")
    }
}
