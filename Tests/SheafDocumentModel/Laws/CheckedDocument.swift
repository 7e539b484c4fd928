package import SheafDocument

/// An encoded document and its model, changed by the same operations.
package struct CheckedDocument: MergingDocument, Hashable {
    private var document = BytesDocument()
    private var model = ModelDocument()

    package init() {}

    package func hash(into hasher: inout Hasher) { document.hash(into: &hasher) }

    /// The difference between the encoded document and the model, or nil.
    package var difference: String? { document.difference(from: model) }

    package mutating func apply(_ edits: [Edit], stamp: Stamp) {
        document.apply(edits, stamp: stamp)
        model.apply(edits, stamp: stamp)
    }

    /// Deletes the document if it exists, as statements do.
    package mutating func delete(stamp: Stamp) {
        guard model.isPresent(.map, at: []) else { return }
        document.delete(stamp: stamp)
        model.delete(stamp: stamp)
    }

    package mutating func insert(_ object: Object, stamp: Stamp) {
        document.insert(object, stamp: stamp)
        model.insert(object, stamp: stamp)
    }

    package mutating func insertDifferences(_ object: Object, stamp: Stamp) {
        document.insertDifferences(object, stamp: stamp)
        model.insertDifferences(object, stamp: stamp)
    }

    package mutating func insertInitial(_ object: Object) {
        document.insertInitial(object)
        model.insertInitial(object)
    }

    package func joined(with other: CheckedDocument) -> CheckedDocument {
        var joined = self
        joined.document = document.joined(with: other.document)
        joined.model = model.joined(with: other.model)
        return joined
    }

    package var value: Value? { document.value }
    package func value(at path: [String], as part: Part) -> Value? {
        document.value(at: path, as: part)
    }
    package var latestTime: HybridTime { document.latestTime }
    package var dump: [String] { document.dump }
}
