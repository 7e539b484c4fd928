package import SheafBytes

/// The receiver of a reconciliation, which finds the documents that differ.
///
/// A machine: it compares responses with its own version list, and returns the next request. Each
/// request covers all ranges that differ. Once it can estimate how many documents differ, it
/// requests one sketch of these ranges, from which it computes the differences.
package struct RangeRequester: Sendable {
    /// The addresses of differing documents.
    package struct Difference: Equatable, Sendable {
        /// Addresses of documents that only the sender has, or has in a different version.
        package var wanted: [[UInt8]] = []
        /// Documents like these, by their versions; those of the sender.
        package var wantedVersions: [UInt64] = []
        /// Ranges in which only the sender has documents.
        package var wantedRanges: [KeyRange] = []
        /// Addresses of documents that the sender may have in a different version, or not at all.
        package var own: [[UInt8]] = []

        package init() {}

        /// Number of documents named one by one.
        var count: Int { wanted.count + wantedVersions.count + own.count }
    }

    package enum Step: Equatable, Sendable {
        case request(RangeQuestion)
        case done(Difference)
    }

    /// A requested range, and the difference of the sums.
    private struct Open {
        let range: KeyRange
        /// The sum of the sender minus the own one; nil if it is not known.
        var difference: UInt64?
    }

    private var list: VersionList
    /// The ranges of the last request, in order.
    private var requested: [Open] = []
    private var isFirst = true
    /// Whether the last request is for a sketch.
    private var awaitsSketch = false
    /// Whether sketches may be requested.
    private var usesSketches: Bool
    /// Whether documents may be wanted by range.
    private let usesRanges: Bool
    /// The differences found so far.
    package private(set) var difference = Difference()

    /// Releases the version list after the comparison.
    package mutating func endComparing() {
        list = VersionList()
    }

    /// Removes and returns the wanted ranges, by message.
    package mutating func removeRanges() -> [[KeyRange]] {
        // Ranges of later responses may lie between earlier ones.
        let ranges = KeyRange.union(difference.wantedRanges)
        difference.wantedRanges = []
        let most = SyncLimits.wantedRangesInMessage
        return stride(from: 0, to: ranges.count, by: most).map {
            Array(ranges[$0..<min($0 + most, ranges.count)])
        }
    }

    /// Removes and returns the wanted versions.
    package mutating func removeVersions() -> [UInt64] {
        defer { difference.wantedVersions = [] }
        return difference.wantedVersions
    }

    /// Removes and returns up to `most` wanted documents.
    package mutating func removeWanted(most: Int) -> [[UInt8]] {
        let taken = Array(difference.wanted.prefix(most))
        difference.wanted.removeFirst(taken.count)
        return taken
    }

    /// Removes and returns up to `most` differing documents, wanted ones first.
    package mutating func removeDiffering(most: Int) -> [[UInt8]] {
        let wanted = removeWanted(most: most)
        let own = Array(difference.own.prefix(most - wanted.count))
        difference.own.removeFirst(own.count)
        return wanted + own
    }

    /// Creates a requester; without sketches and ranges, it finds the address of each difference.
    package init(_ list: VersionList, usesSketches: Bool = true, usesRanges: Bool = true) {
        self.list = list
        (self.usesSketches, self.usesRanges) = (usesSketches, usesRanges)
        requested = [Open(range: .all)]
    }

    /// The initial range request, which names no range.
    package var firstQuestion: RangeQuestion { RangeQuestion([]) }

    /// Processes a response; returns the next step.
    package mutating func process(_ answer: RangeAnswer) throws(WireError) -> Step {
        guard !answer.parts.isEmpty, answer.parts.count <= requested.count else {
            throw .outOfOrder(
                "an answer of \(answer.parts.count) parts for \(requested.count) ranges")
        }
        if awaitsSketch {
            awaitsSketch = false
            if case .sketch(let sketch)? = answer.parts.first, answer.parts.count == 1 {
                return process(sketch)
            }
            // The sender has too many documents in these ranges, and divides them.
            usesSketches = false
        }
        let children = answer.parts.reduce(0) { count, part in
            if case .children(let children) = part { count + children.count } else { count }
        }
        // Many ranges are small: they are divided together instead of being requested one by one.
        let wantsRanges = usesRanges && children <= Self.rangesByChildren
        var next = NextRequest()
        for (open, part) in zip(requested, answer.parts) {
            switch part {
            case .sketch: throw .outOfOrder("a sketch that was not requested")
            case .documents(let documents):
                guard !isFirst else { throw .outOfOrder("documents in the first answer") }
                try compare(documents, open)
            case .children(let children):
                guard isFirst || children.count > 1 else {
                    throw .outOfOrder("a range with \(children.count) subranges")
                }
                try compare(children, open, wantsRanges: wantsRanges, next: &next)
            }
        }
        // Ranges that the response omitted are requested again.
        let omitted = requested.dropFirst(answer.parts.count)
        for open in omitted { next.append(open) }
        guard next.number <= SyncLimits.answeredRanges else {
            throw .outOfOrder("\(next.number) open ranges")
        }
        let third =
            omitted.isEmpty && !isFirst ? sketchSize(next.ranges, of: next.number) : nil
        (requested, isFirst, awaitsSketch) = (next.ranges, false, third != nil)
        return requested.isEmpty
            ? .done(difference) : .request(RangeQuestion(next.question, sketch: third))
    }

    /// The ranges to request next, collected from a response.
    private struct NextRequest {
        private(set) var ranges: [Open] = []
        /// The numbers of these ranges among all subranges of the response.
        private(set) var question: [Int] = []
        /// Number of subranges so far.
        private(set) var number = 0

        mutating func append(_ open: Open) {
            ranges.append(open)
            question.append(number)
            number += 1
        }

        /// Counts a subrange that is not requested again.
        mutating func skip() { number += 1 }
    }

    /// Compares a range that was sent as sums of subranges.
    private mutating func compare(
        _ children: [RangeAnswer.Child], _ open: Open, wantsRanges: Bool,
        next: inout NextRequest
    ) throws(WireError) {
        var lower = open.range.lower
        for child in children {
            let upper = child.upper ?? open.range.upper
            if let bound = open.range.upper, let upper, bound.lexicographicallyPrecedes(upper) {
                throw .outOfOrder("a subrange beyond its range")
            }
            if let upper, !lower.lexicographicallyPrecedes(upper) {
                throw .outOfOrder("a subrange before its range")
            }
            let range = KeyRange(from: lower, to: upper)
            if let upper { lower = upper }
            let own = list.total(in: range)
            let difference = child.sum &- own.sum
            if difference == 0 {
                next.skip()
            } else if wantsRanges, own.count == 0,
                self.difference.wantedRanges.count < SyncLimits.wantedRanges
            {
                want(range)
                next.skip()
            } else {
                next.append(Open(range: range, difference: difference))
            }
        }
    }

    /// Most subranges in an answer of which those without own documents are requested as ranges.
    private static let rangesByChildren = 2_048

    /// Adds a range without own documents to the wanted ones.
    private mutating func want(_ range: KeyRange) {
        let last = difference.wantedRanges.count - 1
        guard last >= 0, difference.wantedRanges[last].upper == range.lower else {
            return difference.wantedRanges.append(range)
        }
        difference.wantedRanges[last] = KeyRange(
            from: difference.wantedRanges[last].lower, to: range.upper)
    }

    // MARK: Sketches

    /// Most documents in a range of which a sketch is requested: each of them is visited.
    private static let sketchedCount = 1 << 14

    /// Returns the size of a sketch that is shorter than dividing ranges further; nil otherwise.
    ///
    /// `count` is the number of the ranges that were compared.
    private func sketchSize(_ differing: [Open], of count: Int) -> Int? {
        guard usesSketches, !differing.isEmpty, 2 * differing.count <= count else { return nil }
        // The estimated number of documents, if each is in any range with the same probability.
        // log(1 - x) is about -x - x * x / 2 - x * x * x / 3 for the shares up to one half.
        let share = Double(differing.count) / Double(count)
        let estimate = Double(count) * share * (1 + share / 2 + share * share / 3)
        // Each of them may be a version of both peers.
        let third = VersionSketch.third(for: 2 * Int(estimate.rounded(.up)))
        guard third <= VersionSketch.maximumThird else { return nil }
        var documents = 0
        for open in differing {
            let count = list.total(in: open.range).count
            guard count <= Self.sketchedCount else { return nil }
            documents += count
        }
        // Sending all documents of these ranges takes about 16 bytes for each.
        return 3 * third * VersionSketch.Cell.length < 16 * documents ? third : nil
    }

    private mutating func process(_ answer: VersionSketch) -> Step {
        var sketch = answer
        var own = VersionSketch(third: sketch.cells.count / 3)
        for open in requested { list.forEach(in: open.range) { own.add($0.version) } }
        sketch.subtract(own)
        if let found = sketch.decode(), accept(found) {
            requested = []
            return .done(difference)
        }
        // The estimate was wrong, or the sender is: the ranges are divided further.
        usesSketches = false
        return .request(RangeQuestion(Array(requested.indices)))
    }

    /// Adds the differences found in a sketch; returns false if they contradict the sums.
    private mutating func accept(_ found: VersionSketch.Difference) -> Bool {
        let sum = requested.reduce(UInt64(0)) { $0 &+ ($1.difference ?? 0) }
        let decoded =
            found.added.reduce(UInt64(0), &+) &- found.missing.reduce(UInt64(0), &+)
        guard sum == decoded else { return false }
        let missing = Set(found.missing)
        var own: [[UInt8]] = []
        for open in requested {
            list.forEach(in: open.range) {
                if missing.contains($0.version) { own.append($0.id) }
            }
        }
        guard own.count == missing.count else { return false }
        difference.own += own
        difference.wantedVersions += found.added
        return true
    }

    /// Compares a range that was sent document by document.
    private mutating func compare(
        _ documents: [DocumentVersion], _ open: Open
    ) throws(WireError) {
        if let last = documents.last, let upper = open.range.upper,
            !last.id.lexicographicallyPrecedes(upper)
        {
            throw .outOfOrder("a document beyond its range")
        }
        if let first = documents.first, first.id.lexicographicallyPrecedes(open.range.lower) {
            throw .outOfOrder("a document before its range")
        }
        var own = list.documents(in: open.range)[...]
        for document in documents {
            while let first = own.first, first.id.lexicographicallyPrecedes(document.id) {
                difference.own.append(first.id)
                own.removeFirst()
            }
            if let first = own.first, first.id == document.id {
                if first.version != document.version { difference.wanted.append(document.id) }
                own.removeFirst()
            } else {
                difference.wanted.append(document.id)
            }
        }
        difference.own += own.map(\.id)
    }
}
