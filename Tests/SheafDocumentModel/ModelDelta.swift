package import SheafDocument

/// The changes that the writes of one store made to a document between two states.
package struct ModelDelta: Sendable {
    /// The vector of the first state.
    package let base: [Site: HybridTime]
    /// The second state, of which the delta contains the named parts, the vector and the deletion.
    package let state: ModelDocument
    /// The parts touched between the states; for a map, its marks but not its fields.
    package let names: Set<ModelDocument.PartKey>

    /// Creates the delta between the first and the last of some consecutive states.
    ///
    /// Intermediate states are needed to find parts that were set and removed again.
    package init(_ first: ModelDocument, _ following: [ModelDocument]) {
        base = first.vector
        state = following.last ?? first
        var names: Set<ModelDocument.PartKey> = []
        for (before, after) in zip([first] + following, following) {
            for dot in Set(before.dots.keys).union(after.dots.keys)
            where before.dots[dot] != after.dots[dot] { names.insert(dot.part) }
            names.formUnion(after.overrides.subtracting(before.overrides))
        }
        self.names = names
    }

    /// Returns the document with the delta applied, or nil if the document does not cover the base.
    ///
    /// A vector does not record seeds, so the caller must ensure that they were seen.
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
    fileprivate func with(dots: [DotIdentity: Content]) -> ModelDocument {
        var document = self
        document.dots = dots
        document.normalize()
        return document
    }
}

extension ModelDocument.DotIdentity {
    fileprivate var part: ModelDocument.PartKey {
        ModelDocument.PartKey(path: path, part: kind.part)
    }
}
