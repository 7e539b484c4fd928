import SheafBytes
import SheafDocument
import SheafDocumentModel
import SheafTestSupport
import Testing

/// Tombstones that are written from the header of a document, compared with `Insertion.deletion`.
@Suite struct TombstoneEncodingTests {
    private func stamp(_ time: UInt64, _ site: UInt64) -> Stamp {
        Stamp(HybridTime(rawValue: time), Site(rawValue: site))
    }

    @Test(arguments: [UInt64](1...6))
    func `tombstones from the header equal those of deletion`(_ seed: UInt64) throws {
        var random = SeededRandom(seed: seed, "tombstones")
        let names = NameTable(["a", "b"]) ?? NameTable()
        var count = 0
        for round in 0..<300 {
            var document = BytesDocument(
                random.chance(1, in: 6)
                    ? try Insertion.initial(["a": 1], names)
                    : try Insertion.document(
                        ["a": 1], at: stamp(5, 1 + UInt64(random.below(20))), names), names)
            // Up to 20 sites: more than twelve need `deletion`.
            for step in 0..<UInt64(random.below(24)) {
                let edits = [Edit.set(path: ["b"], to: .integer(Int64(step)))]
                document.apply(edits, stamp: stamp(10 + step, 1 + UInt64(random.below(20))))
            }
            let state = try #require(document.bytes)
            let next = stamp(
                UInt64(3 + random.below(60)), UInt64(random.below(22)) * 7 % 22 + 1)
            try state.withUnsafeBytes { state in
                guard let found = try Insertion.deletionFromHeader(of: state, at: next) else {
                    return
                }
                count += 1
                let vector = try EncodedDocument(state).vector()
                let expected = try Insertion.deletion(of: state, at: next, base: vector)
                #expect(found == expected, "seed \(seed), round \(round)")
                // A deleted document is not deleted again.
                let again = try found.withUnsafeBytes { found in
                    try Insertion.deletionFromHeader(of: found, at: stamp(99, 1))
                }
                #expect(again == nil)
            }
        }
        #expect(count > 100, "seed \(seed): \(count) tombstones")
    }

    @Test func `documents with many sites or a later write have no fast path`() throws {
        let names = NameTable()
        for sites in 11...14 as ClosedRange<UInt64> {
            var document = BytesDocument(
                try Insertion.document(["a": 1], at: stamp(5, 1), names), names)
            for site in 2...sites {
                document.apply([.set(path: ["a"], to: 1)], stamp: stamp(10 + site, site))
            }
            let state = try #require(document.bytes)
            let (found, older) = try state.withUnsafeBytes { state in
                (
                    try Insertion.deletionFromHeader(of: state, at: stamp(90, 1)),
                    try Insertion.deletionFromHeader(of: state, at: stamp(12, 2))
                )
            }
            #expect((found != nil) == (sites <= 12) && older == nil)
        }
    }
}
