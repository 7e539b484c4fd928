import SheafDocument
import SheafDocumentModel
import SheafTestSupport
import Testing

/// The join of encoded documents, compared with its laws and the model.
///
/// `sheaf-check merges` runs longer, also in `.ci/run`.
@Suite struct JoinTests {
    private let firstSeed: UInt64 = 4_000

    @Test(arguments: MergeRow.table)
    func `concurrent writes merge as the table specifies`(_ row: MergeRow) {
        #expect(row.failures(of: BytesDocument.self) == [])
    }

    @Test func `histories of encoded documents equal the model`() {
        for seed in firstSeed..<firstSeed + 6 {
            #expect(MergeLaws.checkHistory(seed: seed, steps: 60).violation == nil)
        }
    }

    @Test func `the join of three encoded states does not depend on the order`() {
        for seed in firstSeed..<firstSeed + 5 {
            #expect(MergeLaws.checkTriples(seed: seed, steps: 60, count: 60).violation == nil)
        }
    }

    @Test func `joining deltas equals joining the states that they lead to`() {
        var tally = LawTally()
        for seed in firstSeed..<firstSeed + 9 { tally.add(DeltaLaws.check(seed: seed, steps: 40)) }
        #expect(tally.violation == nil)
        #expect(tally.joinedDeltas > 200 && tally.applications > 2_000)
    }

    @Test(arguments: ["fields", "counters", "seeds"])
    func `every short history of three peers equals the model`(_ name: String) throws {
        let writes = try #require(EnumeratedWrites.all[name])
        var enumeration = Enumeration<CheckedDocument>(
            writes, writeLimit: 2, joinLimit: 1, inspect: { $0.difference })
        let report = enumeration.run()
        #expect(report.violation == nil)
        #expect(report.states > 400)
    }

    @Test func `a counter adds floats in the order of their stamps, not of the joins`() {
        let amounts = [0.1, 0.2, 0.5]
        let sum = amounts.reduce(0.0, +)
        #expect(amounts.reversed().reduce(0.0, +) != sum)
        for edit in [Edit.increment, Edit.incrementOlder] {
            let documents = amounts.enumerated().map { number, amount in
                var document = BytesDocument()
                let site = Site(rawValue: UInt64(3 - number))
                let stamp = Stamp(HybridTime(rawValue: UInt64(10 + number)), site)
                document.apply([edit(["a"], .float(amount))], stamp: stamp)
                return document
            }
            let joined = documents[2].joined(with: documents[0]).joined(with: documents[1])
            let expected: Value = ["a": .float(sum)]
            #expect(joined.value == expected)
        }
    }

    @Test func `concurrent values of many sites persist until a write has seen them`() throws {
        let documents = (1...200).map { number in
            var document = BytesDocument()
            let time = HybridTime(rawValue: UInt64(number % 7 + 1))
            document.insert(
                ["x": .integer(Int64(number))], stamp: Stamp(time, Site(rawValue: UInt64(number))))
            return document
        }
        let half = documents[..<120].reduce(BytesDocument()) { $0.joined(with: $1) }
        let other = documents[80...].reversed().reduce(BytesDocument()) { $0.joined(with: $1) }
        var all = half.joined(with: other)
        #expect(all == other.joined(with: half) && all.joined(with: half) == all)
        all.validate()
        #expect(all.dump.count { $0.hasPrefix("/x|value|") } == 200)
        all.apply(
            [.set(path: ["x"], to: 0)], stamp: Stamp(HybridTime(rawValue: 9), Site(rawValue: 7)))
        #expect(all.joined(with: half) == all && half.joined(with: all) == all)
        #expect(all.dump.count { $0.hasPrefix("/x|value|") } == 1)
    }
}
