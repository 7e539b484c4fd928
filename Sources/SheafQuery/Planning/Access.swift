package import SheafBytes
package import SheafDocument

/// The access path of a plan to the documents of a source.
package indirect enum Access: Sendable {
    /// No documents.
    case nothing
    /// Lookups of documents by key.
    case ids([[UInt8]])
    /// Scans of documents in the order of their ids.
    case documents([KeyRange], isReversed: Bool)
    case index(IndexScan)
    /// The union of several paths, without duplicates.
    case union([Access])
    /// The documents that occur in all scans.
    case intersection([Access])
    /// The rows of a system collection.
    case virtual(String, RowBounds)
    /// Rows computed before the run.
    case rows([Object])

    /// Whether rows are produced from index entries alone, without reading documents.
    var isCovering: Bool {
        if case .index(let scan) = self { return scan.isCovering }
        return false
    }
}

/// A scan of an index.
package struct IndexScan: Sendable {
    package let index: IndexDescription
    /// Disjoint ranges in ascending order.
    package let ranges: [KeyRange]
    package var isReversed = false
    /// Whether the entries contain all fields that the statement reads.
    package var isCovering = false

    init(_ index: IndexDescription, _ ranges: [KeyRange]) {
        self.index = index
        self.ranges = ranges
    }
}

/// A candidate access path to the documents that satisfy a condition.
struct AccessPath {
    var access: Access
    /// Number of documents or index entries visited.
    var count: Int
    /// Whether all visited documents satisfy the condition.
    var isExact: Bool
    /// Whether the documents arrive in the requested order.
    var isOrdered = false
    /// Number of leading ORDER BY terms in whose order the documents arrive; 0 if `isOrdered`.
    var presortedTerms = 0
    /// Whether the path is a skip scan, whose ranges depend on the documents.
    var isSkipScan = false
    /// Number of index entries compared by an intersection.
    var comparedCount = 0

    static let nothing = AccessPath(access: .nothing, count: 0, isExact: true, isOrdered: true)
}
