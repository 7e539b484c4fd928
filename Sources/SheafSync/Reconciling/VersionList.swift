import SheafBytes

/// The version of one document in a reconciliation.
package struct DocumentVersion: Equatable, Sendable {
    /// The encoded id; lists are sorted by it.
    package let id: [UInt8]
    /// Hash of the version vector of the document.
    package let version: UInt64

    package init(id: [UInt8], version: UInt64) {
        self.id = id
        self.version = version
    }
}

/// The sum of the hashes of document versions; ranges with equal sums are taken as equal.
package struct VersionSum: Hashable, Sendable {
    package var low: UInt64 = 0
    package var high: UInt64 = 0

    package init() {}

    init(_ document: DocumentVersion) {
        let hash = document.id.span.withUnsafeBytes {
            XXH3.hash128($0, seed: document.version)
        }
        (low, high) = (hash.low, hash.high)
    }

    static func + (left: VersionSum, right: VersionSum) -> VersionSum {
        var sum = VersionSum()
        let (low, carry) = left.low.addingReportingOverflow(right.low)
        sum.low = low
        sum.high = left.high &+ right.high &+ (carry ? 1 : 0)
        return sum
    }

    static func - (left: VersionSum, right: VersionSum) -> VersionSum {
        var sum = VersionSum()
        let (low, borrow) = left.low.subtractingReportingOverflow(right.low)
        sum.low = low
        sum.high = left.high &- right.high &- (borrow ? 1 : 0)
        return sum
    }

    /// Returns the fingerprint sent for a range with this sum and `count` documents.
    func fingerprint(count: Int) -> UInt64 {
        withUnsafeBytes(of: (low.littleEndian, high.littleEndian)) {
            XXH3.hash64($0, seed: UInt64(count))
        }
    }
}

/// The versions of all documents that match a subscription, by id, with prefix sums.
package struct VersionList: Sendable {
    package private(set) var documents: [DocumentVersion] = []
    /// Sums of the documents before each index.
    private var sums = [VersionSum()]

    /// Creates a list from documents in ascending order of id, without duplicates.
    package init(sorted documents: [DocumentVersion] = []) {
        self.documents.reserveCapacity(documents.count)
        sums.reserveCapacity(documents.count + 1)
        for document in documents { append(document) }
    }

    /// Appends a document with an id greater than all others.
    package mutating func append(_ document: DocumentVersion) {
        sums.append(sum + VersionSum(document))
        documents.append(document)
    }

    /// Sum of all documents; synchronized peers have the same sum.
    package var sum: VersionSum { sums[documents.count] }

    func fingerprint(_ range: Range<Int>) -> UInt64 {
        (sums[range.upperBound] - sums[range.lowerBound]).fingerprint(count: range.count)
    }

    /// Returns the index of the first document from `start` on with an id of at least `bound`.
    ///
    /// Without a bound, returns the number of documents.
    func index(of bound: [UInt8]?, from start: Int) -> Int {
        guard let bound else { return documents.count }
        var (low, high) = (start, documents.count)
        while low < high {
            let middle = (low + high) / 2
            if documents[middle].id.lexicographicallyPrecedes(bound) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        return low
    }
}
