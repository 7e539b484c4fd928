package import SheafDocument

/// A history of peers with encoded documents, and the same history in the model.
package struct BytesHistory {
    /// The history in the model, which draws the steps.
    package private(set) var model: ModelHistory
    /// The document of each peer.
    package private(set) var documents: [BytesDocument]
    /// All states of all peers, in the order of `ModelHistory.states`.
    package private(set) var states: [BytesDocument]
    package let title: String

    /// How many names have numbers: none, some and all; the model does not depend on it.
    package static let nameCounts = [0, 3, 7]
    private static let names = ["b", "x", "q", "a", "", "cafe\u{301}", "y"]

    /// Returns a table with the given number of names.
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

    /// Draws, applies and returns the next step.
    @discardableResult
    package mutating func next() -> ModelHistory.HistoryEvent {
        let step = model.next()
        step.apply(to: &documents)
        states.append(documents[step.peer])
        return step
    }

    /// Sets the number of numbered names; earlier documents still spell the new ones.
    package mutating func number(_ nameCount: Int) {
        for index in documents.indices { documents[index].names = Self.names(nameCount) }
        for index in states.indices { states[index].names = Self.names(nameCount) }
    }
}

extension BytesDocument {
    /// Returns the difference from the model or from the canonical encoding, or nil.
    package func difference(from model: ModelDocument) -> String? {
        if let mistake {
            return "is invalid: \(mistake)\n\(dump.joined(separator: "\n"))\n\(bytes ?? [])"
        }
        return ModelComparison.difference(self, model)
    }
}
