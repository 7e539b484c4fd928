import SheafDocument
import SheafTestSupport

/// The laws of the join of states, compared byte by byte.
package enum MergeLaws {
    /// Compares a history with the model after each step, also while names get numbers.
    package static func checkHistory(seed: UInt64, steps: Int) -> LawTally {
        var tally = LawTally()
        tally.histories = 1
        let nameCount = BytesHistory.nameCounts[Int(seed % 3)]
        var history = BytesHistory(seed: seed, nameCount: nameCount)
        for number in 0..<steps {
            // In every fourth history, names get their numbers one by one.
            if seed % 4 == 0 { history.number(number * 8 / steps) }
            let step = history.next()
            tally.samples += 1
            tally.record(
                history.documents[step.peer].difference(from: history.model.documents[step.peer])
                    .map { "\(history.title), step \(number), \(step): \($0)" })
            if tally.violation != nil { break }
        }
        return tally
    }

    /// Checks the laws on triples of states from one history, and every tenth against the model.
    package static func checkTriples(seed: UInt64, steps: Int, count: Int) -> LawTally {
        var tally = LawTally()
        tally.histories = 1
        let nameCount = BytesHistory.nameCounts[Int(seed / 3 % 3)]
        var history = BytesHistory(seed: seed, nameCount: nameCount)
        for _ in 0..<steps { history.next() }
        var random = SeededRandom(seed: seed, "triples")
        for number in 0..<count where tally.violation == nil {
            let indexes = (0..<3).map { _ in random.below(history.states.count) }
            let states = indexes.map { history.states[$0] }
            let (joined, violation) = check(states[0], states[1], states[2])
            tally.triples += 1
            tally.record(violation.map { "\(history.title), states \(indexes): \($0)" })
            guard number % 10 == 0 else { continue }
            tally.samples += 1
            let models = indexes.map { history.model.states[$0] }
            let model = models[0].joined(with: models[1]).joined(with: models[2])
            tally.record(
                joined.difference(from: model).map {
                    "\(history.title), the join of the states \(indexes) \($0)"
                })
        }
        return tally
    }

    /// Returns the join of three states, and the law that it violates, if any.
    private static func check(
        _ a: BytesDocument, _ b: BytesDocument, _ c: BytesDocument
    ) -> (BytesDocument, String?) {
        let ab = a.joined(with: b)
        let joined = ab.joined(with: c)
        func violation(_ text: String, _ documents: BytesDocument...) -> (BytesDocument, String?) {
            let dumps = documents.map { $0.dump.joined(separator: "\n") }
            return (joined, ([text] + dumps).joined(separator: "\n\n"))
        }
        if b.joined(with: a) != ab { return violation("a join is not commutative", a, b) }
        if a.joined(with: a) != a { return violation("a join with itself differs", a) }
        if ab.joined(with: b) != ab { return violation("a repeated join differs", a, b) }
        if joined.joined(with: a) != joined { return violation("a repeated join differs", a, b, c) }
        if a.joined(with: b.joined(with: c)) != joined {
            return violation("the join of three depends on the order", a, b, c)
        }
        return (joined, nil)
    }
}
