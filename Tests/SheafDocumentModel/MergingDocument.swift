package import SheafDocument

/// The interface of documents in tests: the model, or an implementation compared with it.
package protocol MergingDocument: Sendable {
    /// Creates a document that was never written.
    init()

    mutating func apply(_ edits: [Edit], stamp: Stamp)
    mutating func delete(stamp: Stamp)
    mutating func insert(_ object: Object, stamp: Stamp)
    mutating func insertDifferences(_ object: Object, stamp: Stamp)
    mutating func insertInitial(_ object: Object)
    func joined(with other: Self) -> Self

    /// The visible value; nil if the document does not exist.
    var value: Value? { get }
    /// Returns the visible value of a part, or nil if the part does not exist.
    func value(at path: [String], as part: Part) -> Value?
    /// The latest time in the vector.
    var latestTime: HybridTime { get }
    /// The complete contents, in the format of `ModelDocument.dump`.
    var dump: [String] { get }
}

extension ModelDocument: MergingDocument {}

/// One operation of a statement on a document.
package enum ModelWrite: Sendable {
    case edit([Edit])
    case delete
    case insert(Object)
    case insertDifferences(Object)
    case insertInitial(Object)
}

extension MergingDocument {
    /// Applies an operation with the given stamp, which INITIAL ignores.
    package mutating func apply(_ write: ModelWrite, stamp: Stamp) {
        switch write {
        case .edit(let edits): apply(edits, stamp: stamp)
        case .delete: delete(stamp: stamp)
        case .insert(let object): insert(object, stamp: stamp)
        case .insertDifferences(let object): insertDifferences(object, stamp: stamp)
        case .insertInitial(let object): insertInitial(object)
        }
    }
}
