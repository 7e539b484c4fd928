import SheafBytes

/// The side that has documents for somebody: it tells of the ranges that it is asked for.
///
/// A machine: it remembers what parts its last answer had, since the next question names them.
package struct RangeTeller: Sendable {
    /// A range with more documents is told in so many parts.
    static let fanout = 8
    /// A range with no more than these is told document by document.
    static let leafCount = 6
    /// An answer with more bytes ends, and so does one behind which more ranges could be asked for: an answer
    /// is one frame.
    private static let answerLength = SyncLimits.frameLength / 2
    private static let openRanges = SyncLimits.answeredRanges / 4

    private let list: VersionList
    /// What can be asked for, as places in the list: the parts of the last answer, and what it was asked for
    /// and did not tell; none before the first question.
    private var told: [Range<Int>]?

    package init(_ list: VersionList) {
        self.list = list
    }

    /// Answers a question; the first one is about everything.
    package mutating func answer(_ question: RangeQuestion) throws(WireError) -> RangeAnswer {
        guard let told else {
            guard question.ranges.isEmpty else {
                throw .outOfOrder("a question for ranges that nobody has told of")
            }
            let all = Child(range: list.documents.indices, upper: nil)
            self.told = [all.range]
            return RangeAnswer([
                .children([
                    RangeAnswer.Child(upper: nil, fingerprint: list.fingerprint(all.range))
                ])
            ])
        }
        if let wrong = question.ranges.first(where: { !told.indices.contains($0) }) {
            throw .outOfOrder("a question for the range \(wrong) of \(told.count)")
        }
        var parts: [RangeAnswer.Part] = []
        var next: [Range<Int>] = []
        var length = 0
        for number in question.ranges {
            let rest = question.ranges.count - parts.count
            guard parts.isEmpty || length < Self.answerLength && next.count + rest < Self.openRanges
            else { break }
            let range = told[number]
            let part: RangeAnswer.Part
            if range.count > Self.leafCount {
                let children = children(of: range)
                next += children.map(\.range)
                part = .children(
                    children.map {
                        RangeAnswer.Child(upper: $0.upper, fingerprint: list.fingerprint($0.range))
                    })
            } else {
                part = .documents(Array(list.documents[range]))
            }
            length += part.length
            parts.append(part)
        }
        self.told = next + question.ranges.dropFirst(parts.count).map { told[$0] }
        return RangeAnswer(parts)
    }

    private struct Child {
        let range: Range<Int>
        let upper: [UInt8]?
    }

    /// Parts of about the same length; only where the ids stand counts, so that whoever has nearly the
    /// same documents finds most parts equal.
    private func children(of range: Range<Int>) -> [Child] {
        let count = min(Self.fanout, (range.count + Self.leafCount - 1) / Self.leafCount)
        return (0..<count).map { number in
            let lower = range.lowerBound + range.count * number / count
            let upper = range.lowerBound + range.count * (number + 1) / count
            let bound = number == count - 1 ? nil : separator(before: upper)
            return Child(range: lower..<upper, upper: bound)
        }
    }

    /// The shortest bytes that come behind the id before a place, and not behind the one at it.
    private func separator(before place: Int) -> [UInt8] {
        let (left, right) = (list.documents[place - 1].id, list.documents[place].id)
        var shared = 0
        while shared < left.count, left[shared] == right[shared] { shared += 1 }
        return Array(right[...shared])
    }
}
