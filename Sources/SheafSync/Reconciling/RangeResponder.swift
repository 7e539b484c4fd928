import SheafBytes

/// The sender of a reconciliation, which answers range requests.
///
/// A machine: it remembers the ranges of its last response, since the next request refers to them
/// by index.
package struct RangeResponder: Sendable {
    /// Number of subranges in the first response, and about that in each following one.
    static let firstChildren = 16
    static let children = 192
    /// Least number of subranges of a range.
    static let fanout = 8
    /// Maximum number of documents of a range that is sent document by document.
    static let leafCount = 6
    /// Limits of a response: its length in bytes, and its number of open ranges.
    private static let answerLength = SyncLimits.frameLength / 2
    private static let openRanges = SyncLimits.answeredRanges / 4
    /// Maximum number of documents in the sketches of a reconciliation, each of which is visited.
    package static let sketchedCount = 1 << 20

    private let list: VersionList
    /// The ranges that may be requested; nil before the first request.
    ///
    /// These are the subranges of the last response, then the requested ranges that it omitted.
    private var lastRanges: [KeyRange]?
    /// The ranges of the last sketch.
    private var sketched: [KeyRange] = []
    /// Number of documents that sketches may still have.
    private var sketchable = sketchedCount

    package init(_ list: VersionList) {
        self.list = list
    }

    /// Returns the number of documents in a range.
    func count(in range: KeyRange) -> Int { list.total(in: range).count }

    /// Returns the response to a range request; the first one covers all documents.
    package mutating func answer(_ question: RangeQuestion) throws(WireError) -> RangeAnswer {
        guard let lastRanges else {
            guard question.ranges.isEmpty else {
                throw .outOfOrder("a first range request with indices")
            }
            let children = children(of: .all, most: Self.firstChildren)
            self.lastRanges = children.map(\.range)
            return RangeAnswer([.children(children.map(\.answer))])
        }
        if let wrong = question.ranges.first(where: { !lastRanges.indices.contains($0) }) {
            throw .outOfOrder("a request for range \(wrong) of \(lastRanges.count)")
        }
        let ranges = question.ranges.map { lastRanges[$0] }
        if let third = question.third {
            let count = ranges.reduce(0) { $0 + list.total(in: $1).count }
            if count <= sketchable {
                sketchable -= count
                return sketch(ranges, third)
            }
        }
        let most = max(Self.fanout, Self.children / max(ranges.count, 1))
        var parts: [RangeAnswer.Part] = []
        var next: [KeyRange] = []
        var length = 0
        for range in ranges {
            let rest = ranges.count - parts.count
            guard parts.isEmpty || length < Self.answerLength && next.count + rest < Self.openRanges
            else { break }
            let part: RangeAnswer.Part
            if list.total(in: range).count > Self.leafCount {
                let children = children(of: range, most: most)
                next += children.map(\.range)
                part = .children(children.map(\.answer))
            } else {
                part = .documents(list.documents(in: range))
            }
            length += part.length
            parts.append(part)
        }
        self.lastRanges = next + ranges.dropFirst(parts.count)
        return RangeAnswer(parts)
    }

    private mutating func sketch(_ ranges: [KeyRange], _ third: Int) -> RangeAnswer {
        var sketch = VersionSketch(third: third)
        for range in ranges { list.forEach(in: range) { sketch.add($0.version) } }
        (lastRanges, sketched) = (ranges, ranges)
        return RangeAnswer([.sketch(sketch)])
    }

    /// Returns the addresses of documents in the last sketch, once.
    package mutating func addresses(of versions: Set<UInt64>) throws(WireError) -> [[UInt8]] {
        guard !sketched.isEmpty else { throw .outOfOrder("versions without a sketch") }
        defer { sketched = [] }
        var found: [[UInt8]] = []
        for range in sketched {
            list.forEach(in: range) { if versions.contains($0.version) { found.append($0.id) } }
        }
        return found
    }

    private struct Child {
        let range: KeyRange
        let answer: RangeAnswer.Child
    }

    /// Divides a range into subranges of about equal count; only the last one has no bound.
    ///
    /// The bounds are addresses, not indices, so peers with nearly the same documents find most
    /// subranges equal.
    private func children(of range: KeyRange, most: Int) -> [Child] {
        let total = list.total(in: range).count
        let wanted = min(most, (total + Self.leafCount - 1) / Self.leafCount)
        var bounds: [[UInt8]] = []
        for number in 1..<max(wanted, 1) {
            guard let bound = separator(before: total * number / wanted, in: range) else { break }
            bounds.append(bound)
        }
        var lower = range.lower
        var children: [Child] = []
        for bound in bounds {
            children.append(child(KeyRange(from: lower, to: bound), upper: bound))
            lower = bound
        }
        children.append(child(KeyRange(from: lower, to: range.upper), upper: nil))
        return children
    }

    private func child(_ range: KeyRange, upper: [UInt8]?) -> Child {
        Child(
            range: range,
            answer: RangeAnswer.Child(upper: upper, sum: list.total(in: range).sum))
    }

    /// Returns the shortest bound above the address before `number` and not above that address.
    private func separator(before number: Int, in range: KeyRange) -> [UInt8]? {
        guard number > 0, let left = list.address(number - 1, in: range),
            let right = list.address(number, in: range)
        else { return nil }
        var shared = 0
        while shared < left.count, left[shared] == right[shared] { shared += 1 }
        return Array(right[...shared])
    }
}
