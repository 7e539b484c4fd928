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
        _ pair: Pair
    ) throws -> (difference: RangeRequester.Difference, bytes: Int, questions: Int) {
        var responder = RangeResponder(VersionList(sorted: pair.other))
        var requester = RangeRequester(VersionList(sorted: pair.own))
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
            case .done(let difference): return (difference, bytes, questions)
            }
        }
    }

    @Test func `reconciliation finds every difference and nothing else`() throws {
        let seed = UInt64.random(in: 0..<1_000_000_000)
        print("reconciliation, seed \(seed)")
        var random = SeededRandom(seed: seed, "reconciliation")
        for count in [0, 1, 2, 6, 7, 13, 48, 49, 300, 3_000] {
            for share in [0, 1, 30, 500, 1_000] {
                for _ in 0..<4 {
                    let pair = pair(count, differing: share, &random)
                    var found = try reconcile(pair).difference
                    // The responder reports the differences of a leaf in document order.
                    found.wanted.sort { $0.lexicographicallyPrecedes($1) }
                    found.own.sort { $0.lexicographicallyPrecedes($1) }
                    #expect(found == pair.difference)
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
        #expect(same.bytes < 64)
        let pair = pair(100_000, differing: 10, &random)
        let found = try reconcile(pair)
        #expect(found.questions < 8)
        // At 250 bytes each, finding changed documents costs at most twice as much as sending them.
        #expect(found.bytes < pair.changed * 250 * 2)
        print("\(pair.changed) documents of 100,000 were found with \(found.bytes) bytes")
    }

    @Test(arguments: [0, 1, 150_000])
    func `a large difference is found in messages that fit in one frame`(_ ownCount: Int) throws {
        var random = SeededRandom(seed: 7, "much")
        var pair = Pair()
        let ids = Set((0..<150_000).map { id($0) }).sorted { $0.lexicographicallyPrecedes($1) }
        pair.other = ids.map { DocumentVersion(id: $0, version: random.next()) }
        pair.own = ids.suffix(ownCount).map { DocumentVersion(id: $0, version: random.next()) }
        let found = try reconcile(pair)
        #expect(found.difference.wanted.count == ids.count)
        #expect(Set(found.difference.wanted) == Set(ids))
        #expect(found.difference.own.isEmpty)
        #expect(found.bytes < ids.count * 40)
        print("\(ids.count) documents took \(found.questions) requests, \(found.bytes) bytes")
    }

    @Test func `disjoint lists differ completely`() throws {
        var random = SeededRandom(seed: 1, "apart")
        var pair = Pair()
        pair.own = (0..<500).map {
            DocumentVersion(id: [1] + [UInt8($0 / 256), UInt8($0 % 256)], version: random.next())
        }
        pair.other = (0..<500).map {
            DocumentVersion(id: [2] + [UInt8($0 / 256), UInt8($0 % 256)], version: random.next())
        }
        let found = try reconcile(pair).difference
        #expect(found.own == pair.own.map(\.id))
        #expect(found.wanted == pair.other.map(\.id))
    }
}
