import SheafDocument
import SheafTestSupport

/// Comparison of an implementation with the model, in a history and in joins of its states.
package enum ModelComparison {
    /// Returns the first difference between the document and the model, or nil.
    package static func difference<Document: MergingDocument>(
        of type: Document.Type, seed: UInt64, peers: Int, steps: Int
    ) -> String? {
        var history = ModelHistory(seed: seed, peers: peers)
        var documents = Array(repeating: Document(), count: peers)
        var states = [Document()]
        for index in 0..<steps {
            let step = history.next()
            step.apply(to: &documents)
            states.append(documents[step.peer])
            if let text = difference(documents[step.peer], history.documents[step.peer]) {
                return "seed \(seed), step \(index), \(step): \(text)"
            }
        }
        var random = SeededRandom(seed: seed, "joins")
        for _ in 0..<steps {
            let (left, right) = (random.below(states.count), random.below(states.count))
            let joined = states[left].joined(with: states[right])
            let model = history.states[left].joined(with: history.states[right])
            if let text = difference(joined, model) {
                return "seed \(seed), join of states \(left) and \(right): \(text)"
            }
        }
        return nil
    }

    /// Returns the difference between a document and the model, or nil.
    package static func difference(
        _ document: some MergingDocument, _ model: ModelDocument
    ) -> String? {
        let (found, wanted) = (document.dump, model.dump)
        // Both are sorted.
        if found != wanted {
            let (lines, expected) = (Set(found), Set(wanted))
            return "has \(lines.subtracting(expected).sorted()), "
                + "and not \(expected.subtracting(lines).sorted())"
        }
        if document.latestTime != model.latestTime { return "has seen \(document.latestTime)" }
        if !areSame(document.value, model.value) { return "shows \(text(document.value))" }
        for path in Set(model.dots.keys.map(\.path) + model.overrides.map(\.path)) {
            let names = path.map { String(decoding: $0, as: UTF8.self) }
            for part in Part.allCases {
                let value = document.value(at: names, as: part)
                if !areSame(value, model.value(at: names, as: part)) {
                    return "\(names) as \(part) shows \(text(value))"
                }
            }
        }
        return nil
    }

    /// Compares the keys of values, which distinguish 1 from 1.0, unlike `==`.
    private static func areSame(_ left: Value?, _ right: Value?) -> Bool {
        guard let left, let right else { return left == nil && right == nil }
        return ModelDocument.key(left).hasSameBytes(as: ModelDocument.key(right))
    }

    private static func text(_ value: Value?) -> String { value.map { "\($0)" } ?? "nothing" }
}
