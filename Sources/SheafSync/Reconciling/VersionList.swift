package import SheafBytes

/// A document in a reconciliation, and the hash of its address and version.
package struct DocumentVersion: Equatable, Sendable {
    /// The encoded address; lists are sorted by it.
    package let id: [UInt8]
    /// The hash (`format-spec/sync.md`, *Reconciliation*), which differs between versions and ids.
    package let version: UInt64

    package init(id: [UInt8], version: UInt64) {
        self.id = id
        self.version = version
    }
}

/// The documents of a range: an estimate of their number, and the sum of their versions.
///
/// Ranges with equal sums are taken as equal.
package struct VersionTotal: Equatable, Sendable {
    /// At least the number of documents; zero only if there are none.
    package var count: Int
    package var sum: UInt64

    package init(count: Int = 0, sum: UInt64 = 0) {
        (self.count, self.sum) = (count, sum)
    }

    static func + (left: VersionTotal, right: VersionTotal) -> VersionTotal {
        VersionTotal(count: left.count + right.count, sum: left.sum &+ right.sum)
    }
}

/// Documents in the order of their addresses, with sums over ranges.
package protocol VersionSource: Sendable {
    func total(in range: KeyRange) -> VersionTotal
    /// Calls `body` with the documents of a range, in order.
    func forEach(in range: KeyRange, _ body: (DocumentVersion) -> Void)
    /// Returns the address with `number` addresses of the range before it; nil if there is none.
    ///
    /// The addresses are those that `total` counts.
    func address(_ number: Int, in range: KeyRange) -> [UInt8]?
}

/// The versions of all documents that match a subscription, from one or more sources.
package struct VersionList: Sendable {
    /// A source, and a bound that no address in it precedes and all of the next source follow.
    package typealias Source = (start: [UInt8], versions: any VersionSource)

    /// The sources, whose addresses do not overlap, in order.
    private let sources: [Source]

    /// Creates a list from sources in any order.
    package init(_ sources: [Source] = []) {
        self.sources = sources.sorted { $0.start.lexicographicallyPrecedes($1.start) }
    }

    /// Creates a list from documents in ascending order of address, without duplicates.
    package init(sorted documents: [DocumentVersion]) {
        self.init([([], ListedVersions(documents))])
    }

    /// The number of addresses, and the sum; synchronized peers have the same sum.
    package var total: VersionTotal { total(in: .all) }

    package var isEmpty: Bool { total.count == 0 }

    package func total(in range: KeyRange) -> VersionTotal {
        sources(of: range).reduce(VersionTotal()) { $0 + $1.versions.total(in: range) }
    }

    /// Returns the sources that may have documents of a range, of possibly very many sources.
    private func sources(of range: KeyRange) -> ArraySlice<Source> {
        // The source before the first one that begins after the lower bound may contain it.
        let first = max(index { !range.lower.lexicographicallyPrecedes($0) } - 1, 0)
        let end = range.upper.map { upper in index { $0.lexicographicallyPrecedes(upper) } }
        return sources[first..<max(first, end ?? sources.count)]
    }

    /// Returns the number of the leading sources whose starts satisfy a condition.
    private func index(while isBefore: ([UInt8]) -> Bool) -> Int {
        var (low, high) = (0, sources.count)
        while low < high {
            let middle = (low + high) / 2
            if isBefore(sources[middle].start) { low = middle + 1 } else { high = middle }
        }
        return low
    }

    package func forEach(in range: KeyRange, _ body: (DocumentVersion) -> Void) {
        for source in sources(of: range) { source.versions.forEach(in: range, body) }
    }

    func documents(in range: KeyRange) -> [DocumentVersion] {
        var documents: [DocumentVersion] = []
        forEach(in: range) { documents.append($0) }
        return documents
    }

    package func address(_ number: Int, in range: KeyRange) -> [UInt8]? {
        var number = number
        for source in sources(of: range) {
            let count = source.versions.total(in: range).count
            if number < count { return source.versions.address(number, in: range) }
            number -= count
        }
        return nil
    }
}

/// Documents in memory, with the sums of those before each.
package struct ListedVersions: VersionSource {
    package private(set) var documents: [DocumentVersion] = []
    /// Sums of the documents before each index.
    private var sums: [UInt64] = [0]

    /// Creates a list from documents in ascending order of address, without duplicates.
    package init(_ documents: [DocumentVersion] = []) {
        self.documents.reserveCapacity(documents.count)
        sums.reserveCapacity(documents.count + 1)
        for document in documents { append(document) }
    }

    /// Appends a document with an address greater than all others.
    package mutating func append(_ document: DocumentVersion) {
        sums.append(sums[documents.count] &+ document.version)
        documents.append(document)
    }

    package func total(in range: KeyRange) -> VersionTotal {
        let indices = indices(in: range)
        return VersionTotal(
            count: indices.count, sum: sums[indices.upperBound] &- sums[indices.lowerBound])
    }

    package func forEach(in range: KeyRange, _ body: (DocumentVersion) -> Void) {
        documents[indices(in: range)].forEach(body)
    }

    package func address(_ number: Int, in range: KeyRange) -> [UInt8]? {
        let indices = indices(in: range)
        return number < indices.count ? documents[indices.lowerBound + number].id : nil
    }

    private func indices(in range: KeyRange) -> Range<Int> {
        let lower = range.lower.isEmpty ? 0 : index(of: range.lower)
        let upper = range.upper.map(index(of:)) ?? documents.count
        return lower..<max(lower, upper)
    }

    /// Returns the index of the first document with an address of at least `bound`.
    private func index(of bound: [UInt8]) -> Int {
        var (low, high) = (0, documents.count)
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
