import SheafBytes
import SheafSync
import Testing

/// Tests of the division of ranges in a reconciliation, and of answers that are refused.
struct RangeAnswerTests {
    private func document(_ id: [UInt8], _ version: UInt64 = 1) -> DocumentVersion {
        DocumentVersion(id: id, version: version)
    }

    /// Documents whose versions are their numbers.
    private static let many = (0..<20_000).map { (number: Int) -> DocumentVersion in
        let id: [UInt8] = [0x40, UInt8(number >> 8), UInt8(number & 0xFF)]
        return DocumentVersion(id: id, version: UInt64(number))
    }

    private func list(_ count: Int) -> VersionList {
        VersionList(sorted: Array(Self.many.prefix(count)))
    }

    /// Returns a part with subranges between these bounds, and their sums.
    private func children(_ bounds: [[UInt8]], _ sums: [UInt64]) throws -> RangeAnswer.Part {
        var writer = ByteWriter()
        writer.writeVarint(1)
        writer.writeVarint(UInt64(sums.count) << 2)
        for (index, sum) in sums.enumerated() {
            if index < bounds.count {
                // No prefix is shared.
                writer.write(UInt8(0))
                writer.write(UInt8(bounds[index].count))
                writer.write(bounds[index])
            }
            writer.write(sum)
        }
        let answer = try writer.bytes.withUnsafeBytes { try RangeAnswer(decoding: $0) }
        return try #require(answer.parts.first)
    }

    /// Returns the number of subranges in each part of an answer; nil for documents or a sketch.
    private func counts(_ answer: RangeAnswer) -> [Int?] {
        answer.parts.map { part in
            if case .children(let children) = part { children.count } else { nil }
        }
    }

    // MARK: The sender

    @Test func `ranges are divided by the number of their documents, and of the ranges`() throws {
        for (count, expected) in [(0, 1), (6, 1), (7, 2), (12, 2), (13, 3), (90, 15), (97, 16)] {
            var responder = RangeResponder(list(count))
            let answer = try responder.answer(RangeQuestion([]))
            #expect(counts(answer) == [expected])
        }
        // The first ranges have 1,250 documents each.
        var responder = RangeResponder(list(20_000))
        let first = try responder.answer(RangeQuestion([]))
        #expect(counts(first) == [16])
        for (ranges, expected) in [([3], 192), ([0, 15], 96), ([1, 2, 3, 4, 5], 38)] {
            var other = responder
            let answer = try other.answer(RangeQuestion(ranges))
            #expect(counts(answer) == [Int?](repeating: expected, count: ranges.count))
        }
        let second = try responder.answer(RangeQuestion(Array(0..<16)))
        #expect(counts(second) == [Int?](repeating: 12, count: 16))
        // Many ranges are divided into eight each.
        let third = try responder.answer(RangeQuestion(Array(0..<192)))
        #expect(counts(third) == [Int?](repeating: 8, count: 192))
    }

    @Test func `a range of six documents is sent whole, and a longer one is divided`() throws {
        // Of sixteen ranges only the last one has seven documents.
        var responder = RangeResponder(list(97))
        _ = try responder.answer(RangeQuestion([]))
        let answer = try responder.answer(RangeQuestion([0, 15]))
        #expect(answer.parts.first == .documents(Array(Self.many[..<6])))
        #expect(counts(answer) == [nil, 2])
        #expect(throws: WireError.outOfOrder("a request for range 2 of 2")) {
            try responder.answer(RangeQuestion([1, 2]))
        }
        let rest = try responder.answer(RangeQuestion([0, 1]))
        #expect(
            rest.parts == [
                .documents(Array(Self.many[90..<93])), .documents(Array(Self.many[93..<97])),
            ])
    }

    @Test func `bounds are the shortest ones that divide the documents`() throws {
        let ids: [[UInt8]] = [
            [1, 1], [1, 2], [1, 3], [1, 4], [2, 0, 9], [2, 0, 9, 1], [2, 0, 9, 2], [2, 3],
        ]
        let list = ids.enumerated().map { document($1, UInt64(1) << UInt64($0)) }
        var responder = RangeResponder(VersionList(sorted: list))
        let answer = try responder.answer(RangeQuestion([]))
        let expected = try children([[2]], [15, 240])
        #expect(answer.parts == [expected])
        // The bound is a document that begins like the one before it.
        var later = RangeResponder(VersionList(sorted: Array(list.dropFirst()) + [document([3])]))
        let other = try later.answer(RangeQuestion([]))
        let extended = try children([[2, 0, 9, 1]], [30, 225])
        #expect(other.parts == [extended])
    }

    // MARK: The receiver

    /// A receiver with two documents, which has asked for the ranges before and from 0x20.
    private func requester() throws -> RangeRequester {
        let own = [document([0x10], 1), document([0x30], 2)]
        var requester = RangeRequester(
            VersionList(sorted: own), usesSketches: false, usesRanges: false)
        let step = try requester.process(RangeAnswer([children([[0x20]], [5, 6])]))
        #expect(step == .request(RangeQuestion([0, 1])))
        return requester
    }

    private func refusal(
        _ parts: [RangeAnswer.Part], of asker: RangeRequester
    ) -> WireError? {
        var requester = asker
        do throws(WireError) {
            _ = try requester.process(RangeAnswer(parts))
            return nil
        } catch {
            return error
        }
    }

    @Test func `a first answer has one part, with subranges`() throws {
        let first = RangeRequester(VersionList(sorted: [document([0x10])]))
        let part = try children([], [5])
        #expect(refusal([part], of: first) == nil)
        #expect(refusal([], of: first) == .outOfOrder("an answer of 0 parts for 1 ranges"))
        #expect(
            refusal([part, part], of: first) == .outOfOrder("an answer of 2 parts for 1 ranges"))
        #expect(
            refusal([.documents([])], of: first) == .outOfOrder("documents in the first answer"))
        let sketch = RangeAnswer.Part.sketch(VersionSketch(third: 1))
        #expect(refusal([sketch], of: first) == .outOfOrder("a sketch that was not requested"))
    }

    @Test func `documents and subranges lie in the requested range`() throws {
        let asker = try requester()
        let none = RangeAnswer.Part.documents([])
        func part(_ id: UInt8) -> RangeAnswer.Part { .documents([document([id])]) }
        #expect(refusal([part(0x1F), part(0x20)], of: asker) == nil)
        #expect(
            refusal([part(0x20)], of: asker) == .outOfOrder("a document beyond its range"))
        #expect(
            refusal([none, part(0x1F)], of: asker) == .outOfOrder("a document before its range"))
        #expect(
            refusal([none, none, none], of: asker)
                == .outOfOrder("an answer of 3 parts for 2 ranges"))
        #expect(try refusal([children([[0x1F]], [1, 2])], of: asker) == nil)
        #expect(
            try refusal([children([[0x20]], [1, 2])], of: asker)
                == .outOfOrder("a subrange before its range"))
        #expect(
            try refusal([children([[0x21]], [1, 2])], of: asker)
                == .outOfOrder("a subrange beyond its range"))
        #expect(
            try refusal([none, children([[0x20]], [1, 2])], of: asker)
                == .outOfOrder("a subrange before its range"))
        #expect(try refusal([none, children([[0x20, 0]], [1, 2])], of: asker) == nil)
        #expect(
            try refusal([children([], [1])], of: asker)
                == .outOfOrder("a range with 1 subranges"))
    }

    @Test func `ranges without an answer are requested again, after those that differ`() throws {
        var asker = try requester()
        let step = try asker.process(RangeAnswer([.documents([document([0x15], 9)])]))
        #expect(step == .request(RangeQuestion([0])))
        #expect(asker.difference.own == [[0x10]] && asker.difference.wanted == [[0x15]])
        var other = try requester()
        // Of three subranges the middle one has no documents, like that of the receiver.
        let divided = try children([[0x11], [0x12]], [7, 0, 8])
        let next = try other.process(RangeAnswer([divided]))
        #expect(next == .request(RangeQuestion([0, 2, 3])))
        #expect(other.difference == RangeRequester.Difference())
    }

    @Test func `differing documents are removed in order, wanted ones first`() throws {
        var asker = try requester()
        let found = [[0x05], [0x10], [0x11]] as [[UInt8]]
        let step = try asker.process(
            RangeAnswer([.documents(found.map { document($0, 7) }), .documents([])]))
        guard case .done(let difference) = step else {
            Issue.record("the reconciliation continues")
            return
        }
        #expect(difference.wanted == found && difference.own == [[0x30]])
        let first = asker.removeDiffering(most: 2)
        #expect(first == [[0x05], [0x10]])
        var wanting = asker
        let wanted = wanting.removeWanted(most: 9)
        #expect(wanted == [[0x11]] && wanting.difference.wanted.isEmpty)
        let rest = asker.removeDiffering(most: 2)
        #expect(rest == [[0x11], [0x30]])
        let none = asker.removeDiffering(most: 2)
        #expect(none.isEmpty)
    }

    @Test(arguments: [(1, nil), (20, 30), (96, 136), (97, nil)] as [(Int, Int?)])
    func `the size of a sketch follows from the share of the ranges that differ`(
        _ changed: Int, _ third: Int?
    ) throws {
        let own = Self.many
        var other = own
        // The first of sixteen ranges has 1,250 documents, in 192 subranges.
        for number in 0..<changed {
            let index = number * 1_250 / changed + 3
            other[index] = document(own[index].id, 1 << 40 + UInt64(number))
        }
        var responder = RangeResponder(VersionList(sorted: other))
        var asker = RangeRequester(VersionList(sorted: own))
        let first = try asker.process(try responder.answer(asker.firstQuestion))
        #expect(first == .request(RangeQuestion([0])))
        let second = try asker.process(try responder.answer(RangeQuestion([0])))
        guard case .request(let question) = second else {
            Issue.record("the reconciliation has ended")
            return
        }
        #expect(question.ranges.count == changed && question.third == third)
    }
}
