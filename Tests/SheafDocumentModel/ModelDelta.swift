package import SheafDocument

/// What one store changed of a document between two states of it, by writes of its own.
package struct ModelDelta: Sendable {
    /// What had been seen in the first state.
    package let base: [Site: HybridTime]
    /// The second state; of it a delta has the parts that it names, and what has no place.
    package let state: ModelDocument
    /// The parts that were touched between; of a map its marks, and not what is below it.
    package let names: Set<ModelDocument.PartPlace>

    /// What was done from the first of these states, which follow one another, to the last.
    ///
    /// All between are needed: what was set and removed again was touched.
    package init(_ first: ModelDocument, _ following: [ModelDocument]) {
        base = first.vector
        state = following.last ?? first
        var names: Set<ModelDocument.PartPlace> = []
        for (before, after) in zip([first] + following, following) {
            for place in Set(before.dots.keys).union(after.dots.keys)
            where before.dots[place] != after.dots[place] { names.insert(place.part) }
            names.formUnion(after.overrides.subtracting(before.overrides))
        }
        self.names = names
    }

    /// The document with what was changed; nil if it has not seen all that this builds on.
    ///
    /// Of seeds a vector does not tell whether they were seen: the caller has to know.
    package func applied(to document: ModelDocument) -> ModelDocument? {
        guard base.allSatisfy({ document.covers(Stamp($0.value, $0.key)) }) else { return nil }
        let named = state.with(dots: state.dots.filter { names.contains($0.key.part) })
        let known = document.with(dots: document.dots.filter { names.contains($0.key.part) })
        let untouched = document.dots.filter { !names.contains($0.key.part) }
        let joined = known.joined(with: named)
        return joined.with(dots: joined.dots.merging(untouched) { first, _ in first })
    }
}

extension ModelDocument {
    fileprivate func with(dots: [Place: Content]) -> ModelDocument {
        var document = self
        document.dots = dots
        document.normalize()
        return document
    }
}

extension ModelDocument.Place {
    fileprivate var part: ModelDocument.PartPlace {
        ModelDocument.PartPlace(path: path, part: kind.part)
    }
}
