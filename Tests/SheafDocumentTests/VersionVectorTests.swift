import SheafDocument
import SheafTestSupport
import Testing

@Suite struct VersionVectorTests {
    private let seed: UInt64 = 17

    /// Returns a random vector and its entries as a dictionary.
    private func draw(_ random: inout SeededRandom) -> (VersionVector, [Site: HybridTime]) {
        var vector = VersionVector()
        var model: [Site: HybridTime] = [:]
        for _ in 0..<random.below(6) {
            let stamp = stamp(&random)
            vector.record(stamp)
            model[stamp.site] = max(model[stamp.site] ?? .initial, stamp.time)
        }
        return (vector, model)
    }

    private func stamp(_ random: inout SeededRandom) -> Stamp {
        Stamp(
            HybridTime(rawValue: UInt64(random.below(5))), Site(rawValue: UInt64(random.below(5))))
    }

    @Test func `a vector covers each recorded stamp and all earlier ones`() {
        var random = SeededRandom(seed: seed, "vectors")
        for _ in 0..<20_000 {
            let (vector, model) = draw(&random)
            #expect(vector.entries.count == model.count)
            #expect(vector.entries.map(\.site) == model.keys.sorted())
            #expect(vector.latest == model.values.max() ?? .initial)
            #expect(VersionVector(sorted: vector.entries) == vector)
            let sought = stamp(&random)
            let isSeen = model[sought.site].map { sought.time <= $0 } ?? false
            #expect(vector.covers(sought) == isSeen)
        }
    }

    @Test func `a join covers both vectors and is commutative, associative and idempotent`() {
        var random = SeededRandom(seed: seed, "joins")
        for _ in 0..<20_000 {
            let ((a, left), (b, right), (c, _)) = (draw(&random), draw(&random), draw(&random))
            let joined = a.joined(with: b)
            #expect(joined == b.joined(with: a) && joined.joined(with: a) == joined)
            #expect(joined.joined(with: c) == a.joined(with: b.joined(with: c)))
            let model = left.merging(right, uniquingKeysWith: max)
            #expect(joined.entries.map(\.site) == model.keys.sorted())
            for entry in joined.entries { #expect(model[entry.site] == entry.time) }
            #expect(joined.covers(a) && joined.covers(b))
            #expect(a.covers(b) == (joined == a))
        }
    }

    @Test func `unsorted or duplicate entries are refused`() {
        let first = VersionVector.Entry(site: Site(rawValue: 1), time: .initial)
        let second = VersionVector.Entry(site: Site(rawValue: 2), time: .initial)
        #expect(VersionVector(sorted: [first, second]) != nil)
        #expect(VersionVector(sorted: [second, first]) == nil)
        #expect(VersionVector(sorted: [first, first]) == nil)
        #expect(VersionVector(sorted: []) == VersionVector())
    }
}
