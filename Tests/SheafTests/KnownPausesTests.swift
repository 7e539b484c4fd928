import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// The pauses of the sites of other stores, and the sites derived from them.
@Suite struct KnownPausesTests {
    private func pause(_ after: UInt64, _ before: UInt64) throws -> WritePause {
        try #require(
            WritePause(
                after: HybridTime(rawValue: after), before: HybridTime(rawValue: before)))
    }

    /// Adds a pause of a site; returns whether it is one of the kept ones.
    private func add(
        _ site: UInt64, _ after: UInt64, _ before: UInt64, to known: inout KnownPauses
    ) throws -> Bool {
        let pauses = [try pause(after, before)]
        return known.add(SitePauses(site: Site(rawValue: site), pauses: pauses)) != nil
    }

    /// Whether the pause of a site is known.
    private func isKnown(
        _ site: UInt64, _ after: UInt64, _ before: UInt64, in known: KnownPauses
    ) throws -> Bool {
        let site = Site(rawValue: site)
        let derived = site.derivedSite(in: try pause(after, before))
        return known.origin(of: derived)?.site == site
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func `each site has its longest 16 pauses, and a report returns what it adds`(
        seed: UInt64
    ) throws {
        var random = SeededRandom(seed: seed, "pauses")
        var known = KnownPauses()
        var model: [UInt64: [WritePause]] = [:]
        #expect(known.isEmpty)
        for _ in 0..<150 {
            let site = UInt64(1 + random.below(3))
            let reported = try (0...random.below(2)).map { _ in
                let after = UInt64(random.below(10))
                return try pause(after, after + 2 + UInt64(random.below(9)))
            }
            let before = model[site] ?? []
            var all = before
            for pause in reported where !all.contains(pause) {
                all.append(pause)
                guard all.count == 17 else { continue }
                // The shortest pause is dropped, the earliest of equally long ones.
                let order = all.sorted {
                    let lengths = [$0, $1].map { $0.before.rawValue - $0.after.rawValue }
                    return lengths[0] == lengths[1] ? $0.after < $1.after : lengths[0] < lengths[1]
                }
                all.removeAll { $0 == order[0] }
            }
            model[site] = all
            let added = known.add(SitePauses(site: Site(rawValue: site), pauses: reported))
            let expected = SitePauses(site: Site(rawValue: site), pauses: all)
            #expect(added == (all == before ? nil : expected), "seed \(seed)")
        }
        #expect(!known.isEmpty)
        for site in 1...3 as ClosedRange<UInt64> {
            for after in 0..<10 as Range<UInt64> {
                for length in 2...10 as ClosedRange<UInt64> {
                    let pause = try pause(after, after + length)
                    let isExpected = model[site]?.contains(pause) == true
                    let isFound = try isKnown(site, after, after + length, in: known)
                    #expect(isFound == isExpected, "seed \(seed)")
                }
            }
        }
    }

    /// The time of the last lost write, and what the other document has: the newest time of the
    /// site, and the writes of a derived site.
    @Test func `lost writes belong to the first pause that has ended`() throws {
        let pauses = try [pause(10, 20), pause(10, 30), pause(5, 12)]
        let site = Site(rawValue: 7)
        var known = KnownPauses()
        _ = known.add(SitePauses(site: site, pauses: pauses))
        for (latest, newest, derived, expected) in [
            (11, 11, nil, nil), (11, 12, nil, 2), (11, 20, nil, 2), (11, 30, nil, 2),
            (5, 30, nil, nil), (6, 12, nil, 2), (10, 30, nil, 2), (12, 20, nil, 0),
            (15, 19, nil, nil), (15, 20, nil, 0), (15, 30, nil, 0), (19, 30, nil, 0),
            (20, 20, nil, nil), (20, 30, nil, 1), (29, 30, nil, 1), (30, 40, nil, nil),
            (25, 0, 1, 1), (25, 29, 0, nil), (15, 0, 1, 1), (15, 20, 1, 0), (11, 0, 0, 0),
        ] as [(UInt64, UInt64, Int?, Int?)] {
            var entries: [VersionVector.Entry] = []
            if newest > 0 {
                entries.append(
                    VersionVector.Entry(site: site, time: HybridTime(rawValue: newest)))
            }
            if let derived {
                entries.append(
                    VersionVector.Entry(
                        site: site.derivedSite(in: pauses[derived]), time: HybridTime(rawValue: 1)))
            }
            let vector = try #require(
                VersionVector(sorted: entries.sorted { $0.site < $1.site }))
            let entry = VersionVector.Entry(site: site, time: HybridTime(rawValue: latest))
            let found = known.derivedSite(entry, endedIn: vector)
            let origin = expected.flatMap { known.origin(of: site.derivedSite(in: pauses[$0])) }
            #expect((found == nil) == (expected == nil), "\(latest), \(newest)")
            #expect("\(found as Any)" == "\(origin as Any)", "\(latest), \(newest)")
            let other = VersionVector.Entry(
                site: Site(rawValue: 8), time: HybridTime(rawValue: latest))
            #expect(known.derivedSite(other, endedIn: vector) == nil)
        }
    }

    @Test func `the 256 sites whose pauses ended last are kept and logged`() throws {
        let store = try StoreEngine(opening: SimulatedVolume(seed: 1))
        var known = KnownPauses()
        for site in 1...256 as ClosedRange<UInt64> {
            #expect(try add(site, 1, 100 + site, to: &known) == true)
        }
        // The pause of another site ended before all of these.
        #expect(try add(300, 1, 50, to: &known) == false)
        #expect(try !isKnown(300, 1, 50, in: known))
        #expect(try isKnown(1, 1, 101, in: known))
        #expect(try add(301, 1, 1_000, to: &known) == true)
        #expect(try !isKnown(1, 1, 101, in: known))
        // Of two pauses that ended at the same time, that of the lower site is dropped.
        #expect(try add(302, 1, 102, to: &known) == true)
        #expect(try !isKnown(2, 1, 102, in: known))
        #expect(try isKnown(302, 1, 102, in: known))

        func write(_ known: KnownPauses) throws -> Int {
            var batch = WriteBatch()
            try known.write(into: &batch)
            let count = batch.count
            if count > 0 { _ = try store.append(batch) }
            try store.flush()
            return count
        }
        #expect(try write(known) == 256)
        var again = try KnownPauses(store.snapshot())
        for (site, before, isKept) in [
            (1, 101, false), (2, 102, false), (3, 103, true), (256, 356, true), (300, 50, false),
            (301, 1_000, true), (302, 102, true),
        ] as [(UInt64, UInt64, Bool)] {
            #expect(try isKnown(site, 1, before, in: again) == isKept, "\(site)")
        }
        #expect(try write(again) == 0)
        // A site that is in the log is removed from it.
        #expect(try add(303, 1, 2_000, to: &again) == true)
        #expect(try !isKnown(302, 1, 102, in: again))
        #expect(try write(again) == 2)
        let last = try KnownPauses(store.snapshot())
        #expect(try !isKnown(302, 1, 102, in: last))
        #expect(try isKnown(303, 1, 2_000, in: last))
        #expect(try isKnown(3, 1, 103, in: last))
        try store.close()
    }
}
