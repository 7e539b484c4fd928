import SheafDocument
import SheafTestSupport

/// The laws of deltas: joining a delta equals joining the state that it leads to.
///
/// Peers exchange deltas, as stores do, and complete states occasionally.
package struct DeltaLaws {
    /// The change of a peer's document in one step.
    private struct Change {
        /// The vector before the change.
        let base: VersionVector
        let bytes: [UInt8]
        /// The state after the change.
        let state: BytesDocument
    }

    private var model: ModelHistory
    private var documents: [BytesDocument]
    /// The changes of each peer since it last joined a complete state.
    private var changes: [[Change]]
    /// All states of all peers, with their vectors.
    private var states: [(document: BytesDocument, vector: VersionVector)]
    private var random: SeededRandom
    private var tally = LawTally()
    private let title: String
    private let names: NameTable

    package static func check(seed: UInt64, steps: Int) -> LawTally {
        var laws = DeltaLaws(seed: seed)
        laws.run(steps)
        return laws.tally
    }

    private init(seed: UInt64) {
        let peers = 2 + Int(seed % 3)
        let nameCount = BytesHistory.nameCounts[Int(seed / 3 % 3)]
        title = "seed \(seed), \(nameCount) names"
        names = BytesHistory.names(nameCount)
        model = ModelHistory(seed: seed, peers: peers)
        let nothing = BytesDocument(nil, names)
        documents = Array(repeating: nothing, count: peers)
        changes = Array(repeating: [], count: peers)
        states = [(nothing, VersionVector())]
        random = SeededRandom(seed: seed, "deltas")
        tally.histories = 1
    }

    private mutating func run(_ steps: Int) {
        for number in 0..<steps where tally.violation == nil {
            let step = model.next()
            switch step {
            case .write(let write, let peer, let stamp):
                if let change = documents[peer].change(write, stamp: stamp) {
                    take(change, peer)
                }
            case .join(let from, let into): exchange(from, into)
            }
            let document = documents[step.peer]
            states.append((document, document.vector))
            checkDeltas(of: step.peer)
            if number % 4 == 0 {
                tally.samples += 1
                record(document.difference(from: model.documents[step.peer]))
            }
            if let violation = tally.violation {
                tally.violation = "\(title), step \(number): \(violation)"
            }
        }
    }

    private mutating func record(_ violation: String?) {
        tally.record(violation)
    }

    private mutating func take(_ change: [UInt8], _ peer: Int) {
        record(BytesDocument(change, names).mistake.map { "a change is invalid: \($0)" })
        let base = documents[peer].vector
        documents[peer].join(change)
        // A joined complete state touches all parts.
        if !isPartial(change) { changes[peer] = [] }
        changes[peer].append(Change(base: base, bytes: change, state: documents[peer]))
    }

    private func isPartial(_ bytes: [UInt8]) -> Bool {
        BytesDocument(bytes, names).read { $0?.isPartial ?? false }
    }

    // MARK: Exchange

    private mutating func exchange(_ from: Int, _ into: Int) {
        guard documents[from].bytes != nil else { return }
        let expected = documents[into].joined(with: documents[from])
        let seen = documents[into].vector
        let fitting = changes[from].indices.filter { seen.covers(changes[from][$0].base) }
        var sent = documents[from].bytes ?? []
        if !fitting.isEmpty, !random.chance(1, in: 10) {
            let first = fitting[random.below(fitting.count)]
            sent = extract(changes[from][first...], omittingDerivable: random.chance(1, in: 2))
        }
        take(sent, into)
        if documents[into] != expected {
            record(different("a received change", documents[into], expected, from: sent))
        }
    }

    /// Extracts the given changes from the state after the last of them.
    private func extract(
        _ changes: ArraySlice<Change>, omittingDerivable: Bool = false, joined: [UInt8]? = nil
    ) -> [UInt8] {
        guard let first = changes.first, let last = changes.last else { return [] }
        var touched = joined.map { [$0] } ?? changes.map(\.bytes)
        if omittingDerivable {
            touched = changes.filter { !isDerivable($0.bytes, $0.base) }.map(\.bytes)
        }
        return last.state.read { state in
            guard let state else { return [] }
            return try Self.reading(touched[...], []) {
                try Changes.extract(from: state, since: first.base, touched: $0, names)
            }
        }
    }

    private func isDerivable(_ bytes: [UInt8], _ base: VersionVector) -> Bool {
        BytesDocument(bytes, names).read {
            try $0.map { try Changes.isDerivable($0, since: base) } ?? false
        }
    }

    /// Calls `body` with all documents while their bytes are pinned.
    private static func reading<Result>(
        _ bytes: ArraySlice<[UInt8]>, _ read: [EncodedDocument],
        _ body: ([EncodedDocument]) throws -> Result
    ) throws -> Result {
        guard let first = bytes.first else { return try body(read) }
        return try first.withUnsafeBytes {
            try reading(bytes.dropFirst(), read + [try EncodedDocument($0)], body)
        }
    }

    // MARK: Laws

    private mutating func checkDeltas(of peer: Int) {
        let all = changes[peer]
        guard all.count > 0, tally.violation == nil else { return }
        let first = random.below(all.count)
        let count = min(1 + random.below(4), all.count - first)
        let run = all[first..<first + count]
        let deltas = run.map(\.bytes)
        guard let target = run.last?.state else { return }
        tally.deltas += deltas.count
        let extracted = extract(run)
        record(BytesDocument(extracted, names).mistake.map { "an extract is invalid: \($0)" })
        var found = [
            ("an extract", extracted), ("a derived extract", extract(run, omittingDerivable: true)),
        ]
        // Deltas of other peers need not build on local changes, so some cannot be joined.
        if let joined = fold(deltas) {
            record(BytesDocument(joined, names).mistake.map { "a joined delta is invalid: \($0)" })
            checkJoins(deltas, joined)
            let again = extract(run, joined: joined)
            if again != extracted {
                record(different("an extract by a joined delta", again, extracted, from: joined))
            }
            found.append(("a joined delta", joined))
        }
        // All recent states that cover the base are joined, and every eighth older one.
        for (index, (state, seen)) in states.enumerated()
        where seen.covers(run[first].base) && (index + 12 > states.count || index % 8 == 0) {
            let expected = state.joined(with: target)
            var oneByOne = state
            for delta in deltas { oneByOne.join(delta) }
            tally.applications += 1 + found.count
            if oneByOne != expected {
                record(different("deltas on state \(index)", oneByOne, expected, from: deltas[0]))
            }
            for (what, bytes) in found {
                var joined = state
                joined.join(bytes)
                guard joined != expected else { continue }
                record(different("\(what) on state \(index)", joined, expected, from: bytes))
            }
        }
    }

    private mutating func checkJoins(_ deltas: [[UInt8]], _ joined: [UInt8]) {
        tally.joinedDeltas += 1
        for delta in deltas + [joined] {
            for again in [join(joined, delta), join(delta, joined)] {
                guard let again, again != joined else { continue }
                record(different("a delta again", again, joined, from: delta))
            }
        }
        for (left, right) in zip(deltas, deltas.dropFirst()) {
            let (one, other) = (join(left, right), join(right, left))
            if one != other {
                record(different("deltas in the other order", one ?? [], other ?? [], from: left))
            }
        }
        if let folded = foldFromEnd(deltas), folded != joined {
            record(different("deltas from the end", folded, joined))
        }
    }

    private func fold(_ deltas: [[UInt8]]) -> [UInt8]? {
        var folded = deltas[0]
        for delta in deltas.dropFirst() {
            guard let next = join(folded, delta) else { return nil }
            folded = next
        }
        return folded
    }

    private func foldFromEnd(_ deltas: [[UInt8]]) -> [UInt8]? {
        var folded = deltas[deltas.count - 1]
        for delta in deltas.dropLast().reversed() {
            guard let next = join(delta, folded) else { return nil }
            folded = next
        }
        return folded
    }

    /// Joins two deltas; returns nil if one builds on changes that the other does not cover.
    private func join(_ left: [UInt8], _ right: [UInt8]) -> [UInt8]? {
        let isGap = BytesDocument(left, names).read { left in
            BytesDocument(right, names).read { right in
                guard let left, let right else { return false }
                let bases = (
                    left.isPartial ? try left.baseVector() : VersionVector(),
                    right.isPartial ? try right.baseVector() : VersionVector()
                )
                return try !left.vector().covers(bases.1) || !right.vector().covers(bases.0)
            }
        }
        return isGap ? nil : BytesDocument.joined(left, right, names)
    }

    private func different(
        _ what: String, _ found: BytesDocument, _ expected: BytesDocument, from bytes: [UInt8]
    ) -> String {
        different(what, found.bytes ?? [], expected.bytes ?? [], from: bytes)
    }

    private func different(
        _ what: String, _ found: [UInt8], _ expected: [UInt8], from bytes: [UInt8] = []
    ) -> String {
        func dump(_ bytes: [UInt8]) -> String {
            bytes.isEmpty ? "" : BytesDocument(bytes, names).dump.joined(separator: "\n")
        }
        return "\(what) yields\n\(dump(found))\n\ninstead of\n\(dump(expected))\n\nfrom\n"
            + "\(dump(bytes))\n\(found)\n\(expected)\n\(bytes)"
    }
}
