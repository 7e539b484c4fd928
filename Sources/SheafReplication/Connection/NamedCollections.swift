import SheafBytes
package import SheafSync

/// Collections that are named to an older peer, in the order of their names.
package struct NamedCollections {
    /// The names, including those beyond the limits of a subscription.
    package let names: Set<[UInt8]>
    package let queries: [SubscribedQuery]
    /// The hash of the queries.
    package let hash: UInt64

    package init(_ names: Set<[UInt8]>) {
        var (queries, length): ([SubscribedQuery], Int) = ([], 0)
        var writer = ByteWriter()
        for name in names.sorted(by: { $0.lexicographicallyPrecedes($1) }) {
            let query = SubscribedQuery(completeCollection: String(decoding: name, as: UTF8.self))
            length += query.length
            guard queries.count < SyncLimits.queries, length <= SyncLimits.subscriptionLength
            else { break }
            queries.append(query)
            writer.writeText(query.text)
        }
        (self.names, self.queries) = (names, queries)
        hash = writer.bytes.span.withUnsafeBytes { XXH3.hash64($0) }
    }
}
