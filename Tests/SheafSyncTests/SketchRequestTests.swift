import SheafBytes
import SheafSync
import SheafTestSupport
import Testing

/// The requests for a sketch by the receiver of a reconciliation.
@Suite struct SketchRequestTests {
    /// Two lists of 2,000 documents, of which every fortieth differs.
    private struct Pair {
        var own: [DocumentVersion] = []
        var other: [DocumentVersion] = []

        init() {
            var random = SeededRandom(seed: 5, "sketch requests")
            for number in 0..<2_000 {
                let id: [UInt8] = [0x40, UInt8(number >> 8), UInt8(number & 0xFF)]
                let document = DocumentVersion(id: id, version: random.next())
                own.append(document)
                let isSame = !number.isMultiple(of: 40)
                other.append(
                    isSame ? document : DocumentVersion(id: id, version: random.next()))
            }
        }

        /// The differing documents of the other list.
        var differing: [DocumentVersion] {
            zip(own, other).compactMap { $0.version == $1.version ? nil : $1 }
        }

        /// Returns the ids of the documents that a difference wants from the other list.
        func wanted(by difference: RangeRequester.Difference) -> Set<[UInt8]> {
            let versions = Set(difference.wantedVersions)
            return Set(difference.wanted).union(
                other.filter { versions.contains($0.version) }.map(\.id))
        }
    }

    /// Reconciles a pair; returns the difference, and which requests were for a sketch.
    private func reconcile(
        _ pair: Pair
    ) throws -> (difference: RangeRequester.Difference, sketches: [Bool]) {
        var responder = RangeResponder(VersionList(sorted: pair.other))
        var requester = RangeRequester(VersionList(sorted: pair.own))
        var question = requester.firstQuestion
        var sketches: [Bool] = []
        while true {
            sketches.append(question.third != nil)
            switch try requester.process(try responder.answer(question)) {
            case .request(let next): question = next
            case .done(let difference): return (difference, sketches)
            }
        }
    }

    @Test func `the third request is for a sketch of the ranges that differ`() throws {
        let pair = Pair()
        let (difference, sketches) = try reconcile(pair)
        #expect(sketches.prefix(3) == [false, false, true])
        #expect(sketches.count { $0 } == 1)
        #expect(pair.wanted(by: difference) == Set(pair.differing.map(\.id)))
        #expect(difference.wantedRanges.isEmpty)
    }

    @Test func `a sender that divides the ranges is not asked for a sketch again`() throws {
        let pair = Pair()
        var responder = RangeResponder(VersionList(sorted: pair.other))
        var requester = RangeRequester(VersionList(sorted: pair.own))
        var question = requester.firstQuestion
        var sketches = 0
        var found: RangeRequester.Difference?
        while found == nil {
            if question.third != nil { sketches += 1 }
            // Without the size of a sketch, the responder divides the ranges.
            let answer = try responder.answer(RangeQuestion(question.ranges))
            switch try requester.process(answer) {
            case .request(let next): question = next
            case .done(let difference): found = difference
            }
        }
        #expect(sketches == 1)
        let difference = try #require(found)
        let ids = pair.differing.map(\.id)
        #expect(difference.wantedVersions.isEmpty)
        #expect(Set(difference.wanted) == Set(ids))
        #expect(difference.wanted.count == ids.count)
    }

    @Test func `a sketch that was not requested is refused`() throws {
        let sketch = RangeAnswer([.sketch(VersionSketch(third: 8))])
        var requester = RangeRequester(VersionList(sorted: Pair().own))
        #expect(throws: WireError.self) { try requester.process(sketch) }
    }
}
