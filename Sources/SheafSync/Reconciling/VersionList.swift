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

    static func - (left: VersionTotal, right: VersionTotal) -> VersionTotal {
        VersionTotal(count: left.count - right.count, sum: left.sum &- right.sum)
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
    /// The totals of the sources before each index, so that ranges of many sources cost little.
    private let totals: [VersionTotal]

    /// Creates a list from sources in any order.
    package init(_ sources: [Source] = []) {
        self.sources = sources.sorted { $0.start.lexicographicallyPrecedes($1.start) }
        var totals = [VersionTotal()]
        for source in self.sources {
            totals.append(totals[totals.count - 1] + source.versions.total(in: .all))
        }
        self.totals = totals
    }

    /// Creates a list from documents in ascending order of address, without duplicates.
    package init(sorted documents: [DocumentVersion]) {
        self.init([([], ListedVersions(documents))])
    }

    /// The number of addresses, and the sum; synchronized peers have the same sum.
    package var total: VersionTotal { total(in: .all) }

    package var isEmpty: Bool { total.count == 0 }

    package func total(in range: KeyRange) -> VersionTotal {
        let found = sources(of: range)
        guard let first = found.first, let last = found.last else { return VersionTotal() }
        let total = first.versions.total(in: range)
        guard found.count > 1 else { return total }
        // The range contains all sources in between.
        return total + last.versions.total(in: range)
            + (totals[found.endIndex - 1] - totals[found.startIndex + 1])
    }

    /// Returns the sources that may have documents of a range, of possibly very many sources.
    private func sources(of range: KeyRange) -> ArraySlice<Source> {
        // The source before the first one that begins after the lower bound may contain it.
        let begun = sources.partitionPoint { !range.lower.lexicographicallyPrecedes($0.start) }
        let first = max(begun - 1, 0)
        let end = range.upper.map { upper in
            sources.partitionPoint { $0.start.lexicographicallyPrecedes(upper) }
        }
        return sources[first..<max(first, end ?? sources.count)]
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
        let found = sources(of: range)
        guard let first = found.first else { return nil }
        let count = first.versions.total(in: range).count
        guard number >= count else { return first.versions.address(number, in: range) }
        // The number among the addresses of all sources.
        let whole = totals[found.startIndex + 1].count + number - count
        let index = totals.partitionPoint { $0.count <= whole } - 1
        guard index < found.endIndex else { return nil }
        return found[index].versions.address(whole - totals[index].count, in: range)
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
        documents.partitionPoint { $0.id.lexicographicallyPrecedes(bound) }
    }
}
