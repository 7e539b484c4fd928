import SheafBytes
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

    @Test func `a long vector has the newest time of each site`() {
        var random = SeededRandom(seed: seed, "long vectors")
        for _ in 0..<40 {
            var vectors: [VersionVector] = []
            var models: [[Site: HybridTime]] = []
            for _ in 0..<2 {
                var vector = VersionVector()
                var model: [Site: HybridTime] = [:]
                for _ in 0..<random.below(40) {
                    let site = Site(rawValue: UInt64(2 * random.below(20)))
                    let time = HybridTime(rawValue: UInt64(random.below(9)))
                    vector.record(Stamp(time, site))
                    model[site] = max(model[site] ?? .initial, time)
                }
                vectors.append(vector)
                models.append(model)
            }
            let joined = vectors[0].joined(with: vectors[1])
            let union = models[0].merging(models[1], uniquingKeysWith: max)
            for (vector, model) in zip(vectors + [joined], models + [union]) {
                #expect(vector.entries.map(\.site) == model.keys.sorted())
                #expect(VersionVector(sorted: vector.entries) == vector)
                // The odd sites are in no vector.
                for number: UInt64 in 0..<41 {
                    let site = Site(rawValue: number)
                    #expect(vector.time(of: site) == model[site] ?? .initial)
                    for time: UInt64 in 0..<10 {
                        let stamp = Stamp(HybridTime(rawValue: time), site)
                        let isSeen = model[site].map { stamp.time <= $0 } ?? false
                        if vector.covers(stamp) != isSeen {
                            Issue.record("\(vector.entries) at \(stamp)")
                        }
                    }
                }
            }
            let isCovered = models[1].allSatisfy { site, time in
                models[0][site].map { time <= $0 } ?? false
            }
            #expect(vectors[0].covers(vectors[1]) == isCovered)
            #expect(joined.covers(vectors[0]) && joined.covers(vectors[1]))
        }
    }

    @Test func `a vector of one write has that write`() {
        let stamp = Stamp(HybridTime(rawValue: 7), Site(rawValue: 3))
        let vector = VersionVector(stamp)
        #expect(vector.entries == [VersionVector.Entry(site: stamp.site, time: stamp.time)])
        #expect(vector.latest == stamp.time && VersionVector().latest == .initial)
        // The hash is that of the bytes of site and time.
        let bytes: [UInt8] = [3, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]
        #expect(vector.hash == bytes.withUnsafeBytes { XXH3.hash64($0) })
    }
}
