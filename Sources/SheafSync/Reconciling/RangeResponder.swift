import SheafBytes

/// The sender of a reconciliation, which answers range requests.
///
/// A machine: it remembers the ranges of its last response, since the next request refers to them
/// by index.
package struct RangeResponder: Sendable {
    /// Maximum number of subranges of a range.
    static let fanout = 8
    /// Maximum number of documents of a range that is sent document by document.
    static let leafCount = 6
    /// Limits of a response: its length in bytes, and its number of open ranges.
    private static let answerLength = SyncLimits.frameLength / 2
    private static let openRanges = SyncLimits.answeredRanges / 4

    private let list: VersionList
    /// The ranges that may be requested, as indices in the list; nil before the first request.
    ///
    /// These are the subranges of the last response, then the requested ranges that it omitted.
    private var lastRanges: [Range<Int>]?

    package init(_ list: VersionList) {
        self.list = list
    }

    /// Returns the response to a range request; the first one covers all documents.
    package mutating func answer(_ question: RangeQuestion) throws(WireError) -> RangeAnswer {
        guard let lastRanges else {
            guard question.ranges.isEmpty else {
                throw .outOfOrder("a first range request with indices")
            }
            let all = Child(range: list.documents.indices, upper: nil)
            self.lastRanges = [all.range]
            return RangeAnswer([
                .children([
                    RangeAnswer.Child(upper: nil, fingerprint: list.fingerprint(all.range))
                ])
            ])
        }
        if let wrong = question.ranges.first(where: { !lastRanges.indices.contains($0) }) {
            throw .outOfOrder("a request for range \(wrong) of \(lastRanges.count)")
        }
        var parts: [RangeAnswer.Part] = []
        var next: [Range<Int>] = []
        var length = 0
        for number in question.ranges {
            let rest = question.ranges.count - parts.count
            guard parts.isEmpty || length < Self.answerLength && next.count + rest < Self.openRanges
            else { break }
            let range = lastRanges[number]
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
        self.lastRanges = next + question.ranges.dropFirst(parts.count).map { lastRanges[$0] }
        return RangeAnswer(parts)
    }

    private struct Child {
        let range: Range<Int>
        let upper: [UInt8]?
    }

    /// Divides a range into subranges of about equal count.
    ///
    /// The bounds are ids, not indices, so peers with nearly the same documents find most subranges
    /// equal.
    private func children(of range: Range<Int>) -> [Child] {
        let count = min(Self.fanout, (range.count + Self.leafCount - 1) / Self.leafCount)
        return (0..<count).map { number in
            let lower = range.lowerBound + range.count * number / count
            let upper = range.lowerBound + range.count * (number + 1) / count
            let bound = number == count - 1 ? nil : separator(before: upper)
            return Child(range: lower..<upper, upper: bound)
        }
    }

    /// Returns the shortest bound above the id before `index` and not above the id at `index`.
    private func separator(before index: Int) -> [UInt8] {
        let (left, right) = (list.documents[index - 1].id, list.documents[index].id)
        var shared = 0
        while shared < left.count, left[shared] == right[shared] { shared += 1 }
        return Array(right[...shared])
    }
}
