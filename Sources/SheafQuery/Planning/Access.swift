package import SheafBytes
package import SheafDocument

/// How a plan comes to the documents of a source.
package indirect enum Access: Sendable {
    /// There are none.
    case nothing
    /// The keys of documents.
    case ids([[UInt8]])
    /// Runs of documents in the order of their ids.
    case documents([KeyRange], isReversed: Bool)
    case index(IndexScan)
    /// The documents of all of these, each once.
    case union([Access])
    /// The documents that all of these have.
    case intersection([Access])
    /// The rows of a virtual collection.
    case virtual(String)
    /// Rows that are there already.
    case rows([Object])

    /// Whether rows are made of what keys say, and documents are not read.
    var isCovering: Bool {
        if case .index(let scan) = self { return scan.isCovering }
        return false
    }
}

/// Runs of entries of an index.
package struct IndexScan: Sendable {
    package let index: IndexDescription
    /// In order, and apart from each other.
    package let ranges: [KeyRange]
    package var isReversed = false
    /// Whether the entries tell all that the statement asks for.
    package var isCovering = false

    init(_ index: IndexDescription, _ ranges: [KeyRange]) {
        self.index = index
        self.ranges = ranges
    }
}

/// A way to the documents for which a condition holds.
struct AccessPath {
    var access: Access
    /// How many documents it comes to.
    var count: Int
    /// Whether the condition holds for all of them.
    var isExact: Bool
    /// Whether they come in the order that is wanted.
    var isOrdered = false
    /// How many entries are compared with each other to find out which documents those are.
    var comparedCount = 0

    static let nothing = AccessPath(access: .nothing, count: 0, isExact: true, isOrdered: true)
}
