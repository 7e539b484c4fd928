package import SheafDocument

/// A history of peers in bytes, beside what the model says of it.
package struct BytesHistory {
    /// The history of the model, which says what happens.
    package private(set) var model: ModelHistory
    /// What each peer has.
    package private(set) var documents: [BytesDocument]
    /// All that peers had, in the order of `ModelHistory.states`.
    package private(set) var states: [BytesDocument]
    package let title: String

    /// Histories with these tables are all alike to the model: no names, some, and all.
    package static let nameCounts = [0, 3, 7]
    private static let names = ["b", "x", "q", "a", "", "cafe\u{301}", "y"]

    /// Names that a store may have numbers for.
    package static func names(_ count: Int) -> NameTable {
        var table = NameTable()
        for name in names.prefix(count) { _ = table.add(Array(name.utf8)) }
        return table
    }

    package init(seed: UInt64, nameCount: Int) {
        let peers = 2 + Int(seed % 3)
        title = "seed \(seed), \(nameCount) names"
        model = ModelHistory(seed: seed, peers: peers)
        let nothing = BytesDocument(nil, Self.names(nameCount))
        documents = Array(repeating: nothing, count: peers)
        states = [nothing]
    }

    /// Takes one more step, and tells which.
    @discardableResult
    package mutating func next() -> ModelHistory.Step {
        let step = model.next()
        step.apply(to: &documents)
        states.append(documents[step.peer])
        return step
    }

    /// From now on so many names have numbers; what was written before spells the new ones.
    package mutating func number(_ nameCount: Int) {
        for index in documents.indices { documents[index].names = Self.names(nameCount) }
        for index in states.indices { states[index].names = Self.names(nameCount) }
    }
}

extension BytesDocument {
    /// How this is not what the model is, or not as it has to be written; nil where all is well.
    package func difference(from model: ModelDocument) -> String? {
        if let mistake {
            return "is not valid: \(mistake)\n\(dump.joined(separator: "\n"))\n\(bytes ?? [])"
        }
        return ModelComparison.difference(self, model)
    }
}
