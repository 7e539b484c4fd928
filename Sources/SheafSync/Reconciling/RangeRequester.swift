/// The receiver of a reconciliation, which finds the documents that differ.
///
/// A machine: it compares responses with its own version list, and returns the next request. Each
/// request covers all ranges that differ, so the number of round trips is about the depth of the
/// range tree.
package struct RangeRequester: Sendable {
    /// The ids of differing documents.
    package struct Difference: Equatable, Sendable {
        /// Ids of documents that only the sender has, or has in a different version.
        package var wanted: [[UInt8]] = []
        /// Ids of documents that only the receiver has.
        package var own: [[UInt8]] = []

        package init() {}
    }

    package enum Step: Equatable, Sendable {
        case request(RangeQuestion)
        case done(Difference)
    }

    /// A requested range: its upper bound, and its indices in the version list.
    private struct Open {
        let upper: [UInt8]?
        let range: Range<Int>
    }

    private var list: VersionList
    /// The ranges of the last request, in order.
    private var requested: [Open] = []
    private var isFirst = true
    /// The differences found so far.
    package private(set) var difference = Difference()

    /// Releases the version list after the comparison.
    package mutating func endComparing() {
        list = VersionList()
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

    package init(_ list: VersionList) {
        self.list = list
        requested = [Open(upper: nil, range: list.documents.indices)]
    }

    /// The initial range request, which names no range.
    package var firstQuestion: RangeQuestion { RangeQuestion([]) }

    /// Processes a response; returns the next step.
    package mutating func process(_ answer: RangeAnswer) throws(WireError) -> Step {
        guard !answer.parts.isEmpty, answer.parts.count <= requested.count else {
            throw .outOfOrder(
                "an answer of \(answer.parts.count) parts for \(requested.count) ranges")
        }
        var next: [Open] = []
        var question: [Int] = []
        var number = 0
        for (open, part) in zip(requested, answer.parts) {
            switch part {
            case .documents(let documents):
                guard !isFirst else { throw .outOfOrder("documents in the first answer") }
                try compare(documents, open)
            case .children(let children):
                guard children.count == 1 ? isFirst : !isFirst else {
                    throw .outOfOrder("a range with \(children.count) subranges")
                }
                var lower = open.range.lowerBound
                for child in children {
                    let upper = child.upper ?? open.upper
                    if let bound = open.upper, let upper, bound.lexicographicallyPrecedes(upper) {
                        throw .outOfOrder("a subrange beyond its range")
                    }
                    let end = min(list.index(of: upper, from: lower), open.range.upperBound)
                    let range = lower..<max(lower, end)
                    lower = range.upperBound
                    if list.fingerprint(range) != child.fingerprint {
                        next.append(Open(upper: upper, range: range))
                        question.append(number)
                    }
                    number += 1
                }
            }
        }
        // Ranges that the response omitted are requested again.
        for open in requested.dropFirst(answer.parts.count) {
            next.append(open)
            question.append(number)
            number += 1
        }
        isFirst = false
        guard number <= SyncLimits.answeredRanges else {
            throw .outOfOrder("\(number) open ranges")
        }
        requested = next
        return next.isEmpty ? .done(difference) : .request(RangeQuestion(question))
    }

    /// Compares a range that was sent document by document.
    private mutating func compare(
        _ documents: [DocumentVersion], _ open: Open
    ) throws(WireError) {
        if let last = documents.last, let upper = open.upper,
            !last.id.lexicographicallyPrecedes(upper)
        {
            throw .outOfOrder("a document beyond its range")
        }
        var own = list.documents[open.range]
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
