import SheafBytes

/// A document as one side of a reconciliation has it.
package struct DocumentVersion: Equatable, Sendable {
    /// The bytes of its id, in whose order documents stand.
    package let id: [UInt8]
    /// A hash of what the document has seen.
    package let version: UInt64

    package init(id: [UInt8], version: UInt64) {
        self.id = id
        self.version = version
    }
}

/// What a run of documents adds up to: two runs with the same sum are the same documents in the same
/// versions.
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

    /// What is told of a run: its sum, and how many documents it has.
    func fingerprint(count: Int) -> UInt64 {
        withUnsafeBytes(of: (low.littleEndian, high.littleEndian)) {
            XXH3.hash64($0, seed: UInt64(count))
        }
    }
}

/// The documents that match a subscription, in the order of their ids, with the sums of all runs.
package struct VersionList: Sendable {
    package private(set) var documents: [DocumentVersion] = []
    /// Of those before each place.
    private var sums = [VersionSum()]

    /// Makes a list of documents in the order of their ids, each once.
    package init(sorted documents: [DocumentVersion] = []) {
        self.documents.reserveCapacity(documents.count)
        sums.reserveCapacity(documents.count + 1)
        for document in documents { append(document) }
    }

    /// Appends a document whose id comes after all others.
    package mutating func append(_ document: DocumentVersion) {
        sums.append(sum + VersionSum(document))
        documents.append(document)
    }

    /// The sum of all: two peers that agree have the same.
    package var sum: VersionSum { sums[documents.count] }

    /// Lists with the same documents in the same versions have the same fingerprint.
    package var fingerprint: UInt64 { fingerprint(0..<documents.count) }

    func fingerprint(_ range: Range<Int>) -> UInt64 {
        (sums[range.upperBound] - sums[range.lowerBound]).fingerprint(count: range.count)
    }

    /// Where the first document is, from a place on, whose id does not come before a bound; behind all
    /// where there is no bound.
    func place(of bound: [UInt8]?, from start: Int) -> Int {
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
