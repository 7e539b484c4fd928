import SheafBytes
import SheafSync
import SheafTestSupport
import Testing

struct ReconciliationTests {
    /// Two version lists and their expected difference.
    private struct Pair {
        var own: [DocumentVersion] = []
        var other: [DocumentVersion] = []
        var difference = RangeRequester.Difference()
        /// The number of documents that differ.
        var changed = 0
    }

    private func id(_ number: Int) -> [UInt8] {
        [0x40] + Array("car-\(number &* 7_919 % 1_000_003)".utf8) + [0]
    }

    /// Generates lists of `count` documents, `share` per thousand of which differ.
    private func pair(_ count: Int, differing share: Int, _ random: inout SeededRandom) -> Pair {
        var pair = Pair()
        let ids = Set((0..<count).map { id($0) }).sorted { $0.lexicographicallyPrecedes($1) }
        for id in ids {
            let document = DocumentVersion(id: id, version: random.next())
            guard random.below(1_000) < share else {
                pair.own.append(document)
                pair.other.append(document)
                continue
            }
            pair.changed += 1
            switch random.below(3) {
            case 0:
                pair.own.append(document)
                pair.other.append(DocumentVersion(id: id, version: random.next()))
                pair.difference.wanted.append(id)
            case 1:
                pair.own.append(document)
                pair.difference.own.append(id)
            default:
                pair.other.append(document)
                pair.difference.wanted.append(id)
            }
        }
        return pair
    }

    private struct TooLong: Error {
        let question: Int
        let answer: Int
    }

    /// Reconciles through encoded messages; returns the difference, bytes sent and request count.
    private func reconcile(
        _ pair: Pair, usesShortcuts: Bool = true
    ) throws -> (difference: RangeRequester.Difference, bytes: Int, questions: Int) {
        var responder = RangeResponder(VersionList(sorted: pair.other))
        var requester = RangeRequester(
            VersionList(sorted: pair.own), usesSketches: usesShortcuts,
            usesRanges: usesShortcuts)
        var (question, bytes, questions) = (requester.firstQuestion, 0, 0)
        while true {
            let requested = question.bytes
            let answer = try responder.answer(
                requested.span.withUnsafeBytes { bytes throws in try RangeQuestion(decoding: bytes)
                })
            let responseBytes = answer.bytes
            // Each message must fit in one frame.
            guard max(requested.count, responseBytes.count) < SyncLimits.frameLength - 64 else {
                throw TooLong(question: requested.count, answer: responseBytes.count)
            }
            bytes += requested.count + responseBytes.count
            questions += 1
            let read = try responseBytes.span.withUnsafeBytes { bytes throws in
                try RangeAnswer(decoding: bytes)
            }
            #expect(read == answer)
            switch try requester.process(read) {
            case .request(let next): question = next
            case .done(let difference):
                try checkRanges(of: &requester, difference)
                return (difference, bytes, questions)
            }
        }
    }

    /// Checks that wanted ranges are named in messages that can be read.
    private func checkRanges(
        of requester: inout RangeRequester, _ difference: RangeRequester.Difference
    ) throws {
        var named: [KeyRange] = []
        for ranges in requester.removeRanges() {
            let bytes = Want(generation: 1, .ranges(ranges)).bytes
            #expect(
                try bytes.withUnsafeBytes { try Want(decoding: $0) }.documents == .ranges(ranges))
            named += ranges
        }
        #expect(named == KeyRange.union(difference.wantedRanges))
    }

    /// Returns the ids of the documents that a difference wants from the sender.
    private func wanted(
        by difference: RangeRequester.Difference, _ pair: Pair
    ) -> Set<[UInt8]> {
        let ids = Dictionary(uniqueKeysWithValues: pair.other.map { ($0.version, $0.id) })
        let inRanges = pair.other.map(\.id).filter { id in
            difference.wantedRanges.contains { $0.contains(id) }
        }
        return Set(
            difference.wanted + difference.wantedVersions.compactMap { ids[$0] } + inRanges)
    }

    private func requested(
        by difference: RangeRequester.Difference, _ pair: Pair
    ) -> Set<[UInt8]> {
        wanted(by: difference, pair).union(difference.own)
    }

    @Test func `reconciliation finds every difference and nothing else`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("reconciliation, seed \(seed)")
        var random = SeededRandom(seed: seed, "reconciliation")
        for count in [0, 1, 2, 6, 7, 13, 48, 49, 300, 3_000] {
            for share in [0, 1, 30, 500, 1_000] {
                for _ in 0..<4 {
                    let pair = pair(count, differing: share, &random)
                    var found = try reconcile(pair, usesShortcuts: false).difference
                    // The responder reports the differences of a leaf in document order.
                    found.wanted.sort { $0.lexicographicallyPrecedes($1) }
                    found.own.sort { $0.lexicographicallyPrecedes($1) }
                    #expect(found == pair.difference)
                    let sketched = try reconcile(pair).difference
                    #expect(requested(by: sketched, pair) == requested(by: found, pair))
                    // A changed document may be named in both ways.
                    let expected = Set(pair.difference.wanted)
                    #expect(expected.isSuperset(of: wanted(by: sketched, pair)))
                }
            }
        }
    }

    @Test func `identical lists cost one request, and a small difference costs few bytes`()
        throws
    {
        var random = SeededRandom(seed: 20_261, "costs")
        let same = try reconcile(pair(100_000, differing: 0, &random))
        #expect(same.questions == 1)
        #expect(same.bytes < 256)
        let pair = pair(100_000, differing: 1, &random)
        let found = try reconcile(pair)
        #expect(found.questions == 3)
        // Each wanted version takes eight bytes, and each address about twelve.
        let named = found.difference.wantedVersions.count * 8 + found.difference.own.count * 12
        #expect(found.difference.wanted.isEmpty)
        #expect(found.bytes + named < pair.changed * 100)
        #expect(requested(by: found.difference, pair).count == pair.changed)
        print("\(pair.changed) of 100,000: \(found.bytes) and \(named) bytes")
    }

    @Test func `a false sketch is not believed, and the ranges are divided instead`() throws {
        var random = SeededRandom(seed: 3, "false sketches")
        let pair = pair(20_000, differing: 2, &random)
        for fault in 0..<5 {
            var responder = RangeResponder(VersionList(sorted: pair.other))
            var requester = RangeRequester(VersionList(sorted: pair.own))
            var question = requester.firstQuestion
            var hasLied = false
            var found: RangeRequester.Difference?
            while found == nil {
                var answer = try responder.answer(question)
                if let third = question.third {
                    #expect(!hasLied)
                    hasLied = true
                    guard case .sketch(let correct)? = answer.parts.first else {
                        Issue.record("no sketch")
                        return
                    }
                    var sketch = VersionSketch(third: third)
                    switch fault {
                    // No version, too many of them, those of the requester, and one that no
                    // document has, among those that differ.
                    case 0: break
                    case 1:
                        for document in pair.other { sketch.add(document.version) }
                        sketch.add(7)
                    case 2: for _ in 0..<50_000 { sketch.add(random.next()) }
                    case 3: for document in pair.own { sketch.add(document.version) }
                    default:
                        sketch = correct
                        sketch.add(7)
                    }
                    answer = RangeAnswer([.sketch(sketch)])
                }
                switch try requester.process(answer) {
                case .request(let next): question = next
                case .done(let difference): found = difference
                }
            }
            #expect(hasLied)
            var difference = try #require(found)
            difference.wanted.sort { $0.lexicographicallyPrecedes($1) }
            difference.own.sort { $0.lexicographicallyPrecedes($1) }
            #expect(difference == pair.difference, "fault \(fault)")
        }
    }

    @Test func `a sketch of too many documents is not made, and its versions are found once`()
        throws
    {
        var random = SeededRandom(seed: 9, "long sketches")
        let many = (0..<1_200_000).map {
            DocumentVersion(id: [0x40] + bytes($0), version: random.next())
        }
        var responder = RangeResponder(VersionList(sorted: many))
        _ = try responder.answer(RangeQuestion([]))
        let all = RangeQuestion(Array(0..<16), sketch: 1)
        guard case .children? = try responder.answer(all).parts.first else {
            Issue.record("a sketch of 1,200,000 documents")
            return
        }
        let half = RangeQuestion(Array(0..<100), sketch: 1)
        let sketched = try responder.answer(half)
        guard case .sketch? = sketched.parts.first else {
            Issue.record("no sketch of 625,000 documents")
            return
        }
        #expect(try responder.addresses(of: [many[3].version, 1]) == [many[3].id])
        #expect(throws: WireError.self) { try responder.addresses(of: [many[3].version]) }
        guard case .children? = try responder.answer(half).parts.first else {
            Issue.record("two sketches of 1,250,000 documents together")
            return
        }
    }

    private func bytes(_ number: Int) -> [UInt8] {
        [UInt8(number >> 16 & 0xFF), UInt8(number >> 8 & 0xFF), UInt8(number & 0xFF)]
    }

    @Test func `a sketch has the versions that only one of two sets has`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("sketches, seed \(seed)")
        var random = SeededRandom(seed: seed, "sketches")
        var failures = 0
        for _ in 0..<1_000 {
            let third = 8 + random.below(100)
            var (left, right) = (VersionSketch(third: third), VersionSketch(third: third))
            for _ in 0..<random.below(2_000) {
                let version = random.next()
                left.add(version)
                right.add(version)
            }
            // This is half of the number for which a requester would choose the size.
            let count = max(0, 3 * third - 24) / 3
            let added = (0..<random.below(count + 1)).map { _ in random.next() }
            let missing = (0..<random.below(count + 1 - added.count)).map { _ in random.next() }
            for version in added { left.add(version) }
            for version in missing { right.add(version) }
            left.subtract(right)
            guard let found = left.decode() else {
                failures += 1
                continue
            }
            #expect(Set(found.added) == Set(added))
            #expect(Set(found.missing) == Set(missing))
        }
        // About one in 200 fails.
        #expect(failures < 25)
    }

    /// Documents whose addresses and versions do not fit in one frame.
    private static let many: [DocumentVersion] = {
        var random = SeededRandom(seed: 6, "many")
        return (1...75_000).map { number in
            let digits = "\(1_000_000 + number * 7)".utf8
            return DocumentVersion(
                id: [0x40] + Array("car-".utf8) + digits + [0], version: random.next())
        }
    }()

    @Test(arguments: [0, 1, many.count])
    func `a large difference is found in messages that fit in one frame`(_ ownCount: Int) throws {
        var random = SeededRandom(seed: 7, "much")
        var pair = Pair()
        pair.other = Self.many
        let ids = pair.other.map(\.id)
        pair.own = ids.suffix(ownCount).map { DocumentVersion(id: $0, version: random.next()) }
        let found = try reconcile(pair, usesShortcuts: false)
        // Their answers are longer than a frame.
        #expect(found.bytes > SyncLimits.frameLength)
        #expect(found.difference.wanted.count == ids.count)
        #expect(Set(found.difference.wanted) == Set(ids))
        #expect(found.difference.own.isEmpty)
        #expect(found.bytes < ids.count * 40)
        let short = try reconcile(pair)
        #expect(requested(by: short.difference, pair) == Set(ids))
        if ownCount < 2 { #expect(short.bytes < 4_000) }
        print("\(ids.count) documents took \(found.questions) requests, \(found.bytes) bytes")
    }

    @Test func `disjoint lists differ completely`() throws {
        var random = SeededRandom(seed: 1, "apart")
        var pair = Pair()
        func documents(_ first: UInt8) -> [DocumentVersion] {
            (0..<500).map { (number: Int) -> DocumentVersion in
                let id: [UInt8] = [first, UInt8(number / 256), UInt8(number % 256)]
                return DocumentVersion(id: id, version: random.next())
            }
        }
        pair.own = documents(1)
        pair.other = documents(2)
        let found = try reconcile(pair).difference
        #expect(found.own == pair.own.map(\.id))
        #expect(wanted(by: found, pair) == Set(pair.other.map(\.id)))
    }
}
