package import SheafBytes
import SheafDocument
import SheafEngine
package import SheafHubLog
package import SheafStatements
import SheafSync
package import SheafSystem

/// A writer of a snapshot of a shard, from one snapshot of the store.
///
/// It needs as much memory as one part, and writes the manifest last.
package struct SnapshotWriter {
    private let source: HubShardSource
    private let queries: QueryEngine
    private let objects: any HubObjects
    private let partLength: Int
    private let stop: EvaluationStop?
    /// Number of documents, those of other shards included, after which `onPart` is called.
    private static let visitedDocuments = 65_536
    private var part: SnapshotPartWriter
    private var parts: [SnapshotManifest.Part] = []
    private var sum = ChecksumSum()

    /// Prepares a snapshot of the documents in `source`.
    ///
    /// - Parameter partLength: Length of the documents of a part, after which the next one begins.
    package init(
        _ source: HubShardSource, _ queries: QueryEngine, to objects: any HubObjects,
        partLength: Int = HubLimits.partLength, until stop: EvaluationStop? = nil
    ) {
        self.source = source
        self.queries = queries
        self.objects = objects
        self.partLength = partLength
        self.stop = stop
        part = SnapshotPartWriter(source.snapshot)
    }

    /// Blocks until all objects are written; returns the manifest and the hash in its name.
    ///
    /// `onPart` gets the length of each part once it is written, and 0 after documents that are in
    /// none, and may wait.
    package mutating func write(
        at wallMilliseconds: UInt64, _ onPart: (Int) throws(SnapshotFailure) -> Void = { _ in }
    ) throws(SnapshotFailure) -> (hash: XXH3.Hash128, manifest: SnapshotManifest) {
        let snapshot = source.snapshot
        let scopes = queries.parameters.values.syncScopes
        for name in snapshot.collections(of: source.shard, in: source.map, scopes) {
            try write(collection: name, onPart)
        }
        if part.documentCount > 0 { try endPart(onPart) }
        let manifest = SnapshotManifest(
            log: source.log, shard: source.shard, position: source.position,
            author: source.author, wallMilliseconds: wallMilliseconds, checksum: sum.hash,
            pauses: pauses, parts: parts)
        let bytes = manifest.bytes
        let hash = bytes.span.withUnsafeBytes { XXH3.hash128($0) }
        try onSnapshotLog { () throws(HubLogError) in
            try objects.put(HubObjectName.snapshot(hash), bytes)
        }
        return (hash, manifest)
    }

    private var pauses: [SitePauses] {
        let all = queries.documents.pauses(since: nil)?.all ?? []
        return Array(all.sorted { $0.site < $1.site }.prefix(HubLimits.pausedSites))
    }

    private mutating func write(
        collection name: String, _ onPart: (Int) throws(SnapshotFailure) -> Void
    ) throws(SnapshotFailure) {
        let snapshot = source.snapshot
        var first: [UInt8] = []
        // A part is written between two visits: those of the tree throw only errors of the store.
        while true {
            var next: [UInt8]?
            var count = 0
            var part = part
            var sum = sum
            try onSnapshotStore { () throws(EngineError) in
                try snapshot.forEachDocument(of: name, from: first) {
                    (key, document) throws(EngineError) in
                    if part.length >= partLength || stop?.isSet == true
                        || count == Self.visitedDocuments
                    {
                        next = key
                        return false
                    }
                    count += 1
                    try add(document, key, of: name, &part, &sum)
                    return true
                }
            }
            (self.part, self.sum) = (part, sum)
            if stop?.isSet == true { throw .stopped }
            guard let next else { return }
            if part.length >= partLength { try endPart(onPart) } else { try onPart(0) }
            first = next
        }
    }

    private func add(
        _ document: StoredDocument, _ key: [UInt8], of name: String,
        _ part: inout SnapshotPartWriter, _ sum: inout ChecksumSum
    ) throws(EngineError) {
        guard !document.isRemnant else { return }
        let snapshot = source.snapshot
        let id = key[StoreKey.documentPrefixLength...]
        let address = DocumentAddress(collection: name, id: Array(id))
        guard source.map.shard(of: address) == source.shard else { return }
        let unproven = try document.read { (bytes) throws(EngineError) in
            try snapshot.unprovenTokens(in: bytes, of: key, queries.documents)
        }
        try onDocument(key) { () throws(Malformed) in
            try document.read { (bytes) throws(Malformed) in
                let encoded = try EncodedDocument(bytes)
                try part.add(address, encoded, unproven: unproven)
                sum.add(ChecksumSum(name, id, try encoded.spelled(snapshot.names)))
            }
        }
    }

    private mutating func endPart(_ onPart: (Int) throws(SnapshotFailure) -> Void)
        throws(SnapshotFailure)
    {
        guard parts.count < HubLimits.snapshotParts else { throw .tooLarge(parts: parts.count + 1) }
        let bytes = part.finish()
        let hash = bytes.span.withUnsafeBytes { XXH3.hash128($0) }
        try onSnapshotLog { () throws(HubLogError) in
            try objects.put(HubObjectName.part(hash), bytes)
        }
        parts.append(
            SnapshotManifest.Part(
                hash: hash, length: UInt64(bytes.count),
                documentCount: UInt64(part.documentCount)))
        part = SnapshotPartWriter(source.snapshot)
        try onPart(bytes.count)
    }
}
