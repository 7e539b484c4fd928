package import SheafDocument

/// What tests ask of a document, be it the model or what is checked against it.
package protocol MergingDocument: Sendable {
    /// A document of which nobody has heard.
    init()

    mutating func apply(_ edits: [Edit], stamp: Stamp)
    mutating func delete(stamp: Stamp)
    mutating func insert(_ object: Object, stamp: Stamp)
    mutating func insertDifferences(_ object: Object, stamp: Stamp)
    mutating func insertInitial(_ object: Object)
    func joined(with other: Self) -> Self

    /// What is seen of it; nil where there is no document.
    var value: Value? { get }
    /// What is seen of a part; nil where that is not there.
    func value(at path: [String], as part: Part) -> Value?
    /// The latest time that it has seen.
    var latestTime: HybridTime { get }
    /// All of it, in the lines that `ModelDocument.dump` describes.
    var dump: [String] { get }
}

extension ModelDocument: MergingDocument {}

/// One operation on a document, as a statement does it.
package enum ModelWrite: Sendable {
    case edit([Edit])
    case delete
    case insert(Object)
    case insertDifferences(Object)
    case insertInitial(Object)
}

extension MergingDocument {
    /// Does it, with this stamp unless it is INITIAL.
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
