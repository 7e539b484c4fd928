/// The side that wants documents: it finds out which of them are others than its own.
///
/// A machine: it compares what it is told with its own list, and says what to ask next. Each question is
/// about all ranges that differ, so that there are as few questions as the tree of ranges is deep.
package struct RangeAsker: Sendable {
    /// What was found out.
    package struct Difference: Equatable, Sendable {
        /// The ids of documents that the other side has in another version, or that it alone has.
        package var wanted: [[UInt8]] = []
        /// The ids of documents that only this side has.
        package var own: [[UInt8]] = []

        package init() {}
    }

    package enum Step: Equatable, Sendable {
        case ask(RangeQuestion)
        case done(Difference)
    }

    /// A range that was asked for: bounds, and where it lies in the list.
    private struct Open {
        let upper: [UInt8]?
        let range: Range<Int>
    }

    private var list: VersionList
    /// The ranges of the last question, in its order.
    private var asked: [Open] = []
    private var isFirst = true
    /// What was found out by now.
    package private(set) var difference = Difference()

    /// Releases the list of this side: there is nothing left to compare.
    package mutating func endComparing() {
        list = VersionList()
    }

    /// Removes up to `most` wanted documents from `difference`, and returns them.
    package mutating func takeWanted(most: Int) -> [[UInt8]] {
        let taken = Array(difference.wanted.prefix(most))
        difference.wanted.removeFirst(taken.count)
        return taken
    }

    /// Removes up to `most` differing documents, and returns them: wanted ones first, then those only this side has.
    package mutating func takeDiffering(most: Int) -> [[UInt8]] {
        let wanted = takeWanted(most: most)
        let own = Array(difference.own.prefix(most - wanted.count))
        difference.own.removeFirst(own.count)
        return wanted + own
    }

    package init(_ list: VersionList) {
        self.list = list
        asked = [Open(upper: nil, range: list.documents.indices)]
    }

    /// What to ask at first.
    package var firstQuestion: RangeQuestion { RangeQuestion([]) }

    /// Compares an answer; returns what comes next.
    package mutating func take(_ answer: RangeAnswer) throws(WireError) -> Step {
        guard !answer.parts.isEmpty, answer.parts.count <= asked.count else {
            throw .outOfOrder("an answer of \(answer.parts.count) for \(asked.count) ranges")
        }
        var next: [Open] = []
        var question: [Int] = []
        var number = 0
        for (open, part) in zip(asked, answer.parts) {
            switch part {
            case .documents(let documents):
                guard !isFirst else { throw .outOfOrder("documents before their ranges") }
                try compare(documents, open)
            case .children(let children):
                guard children.count == 1 ? isFirst : !isFirst else {
                    throw .outOfOrder("a range in \(children.count) parts")
                }
                var lower = open.range.lowerBound
                for child in children {
                    let upper = child.upper ?? open.upper
                    if let bound = open.upper, let upper, bound.lexicographicallyPrecedes(upper) {
                        throw .outOfOrder("a part behind the end of its range")
                    }
                    let end = min(list.place(of: upper, from: lower), open.range.upperBound)
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
        // What there was no room for is asked for again.
        for open in asked.dropFirst(answer.parts.count) {
            next.append(open)
            question.append(number)
            number += 1
        }
        isFirst = false
        guard number <= SyncLimits.answeredRanges else {
            throw .outOfOrder("\(number) ranges that could be asked for")
        }
        asked = next
        return next.isEmpty ? .done(difference) : .ask(RangeQuestion(question))
    }

    /// Notes what is different in a range that is told document by document.
    private mutating func compare(
        _ documents: [DocumentVersion], _ open: Open
    ) throws(WireError) {
        if let last = documents.last, let upper = open.upper,
            !last.id.lexicographicallyPrecedes(upper)
        {
            throw .outOfOrder("a document behind the end of its range")
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
