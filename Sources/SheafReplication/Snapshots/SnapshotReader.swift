import SheafBytes
package import SheafDocument
package import SheafHubLog
package import SheafSync
package import SheafSystem

/// A reader of the parts of a snapshot, in the order of their documents.
///
/// Each part is checked against the manifest; the states of documents are not decoded.
package struct SnapshotReader {
    /// The documents of a part, and the names that they refer to by number.
    package struct Part {
        package let documents: [ShippedDocument]
        package let names: NameTable
        /// Length of the object.
        package let length: Int
    }

    package let manifest: SnapshotManifest
    private let map: ShardMap
    private let objects: any HubObjects
    private var index = 0
    private var last: DocumentAddress?

    package init(_ manifest: SnapshotManifest, _ map: ShardMap, from objects: any HubObjects) {
        self.manifest = manifest
        self.map = map
        self.objects = objects
    }

    /// Blocks, and returns the next part; nil after the last one.
    package mutating func next() throws(SnapshotFailure) -> Part? {
        guard index < manifest.parts.count else { return nil }
        let expected = manifest.parts[index]
        let name = HubObjectName.part(expected.hash)
        let bytes = try onSnapshotLog { () throws(HubLogError) in
            try objects.object(name, limit: Int(clamping: expected.length))
        }
        let hash = bytes.span.withUnsafeBytes { XXH3.hash128($0) }
        guard UInt64(bytes.count) == expected.length, hash == expected.hash else {
            throw .damaged(object: name, reason: "its bytes do not have the hash in its name")
        }
        do throws(Malformed) {
            let part = try decode(bytes, count: expected.documentCount)
            index += 1
            return part
        } catch {
            throw .damaged(object: name, reason: "\(error)")
        }
    }

    private mutating func decode(_ bytes: [UInt8], count: UInt64) throws(Malformed) -> Part {
        var reader = HubGroupReader(
            commit: SnapshotPartWriter.commit, shard: manifest.shard, in: map)
        let documents = try reader.read(bytes, isLast: true)
        guard reader.stamp == nil, reader.pauses.isEmpty else {
            throw .invalid("a part with a stamp, or with pauses", at: 0)
        }
        guard UInt64(documents.count) == count, let first = documents.first else {
            throw .invalid("\(documents.count) documents in place of \(count)", at: 0)
        }
        guard last.map({ $0 < first.address }) ?? true else {
            throw .invalid("documents whose addresses do not ascend over all parts", at: 0)
        }
        last = documents.last?.address
        return Part(documents: documents, names: reader.names, length: bytes.count)
    }
}

extension SnapshotReader {
    /// Blocks while it reads all parts, and compares them with the manifest.
    ///
    /// `onPart` gets the length of each part once it is read, and may wait.
    package static func verify(
        _ manifest: SnapshotManifest, _ map: ShardMap, from objects: any HubObjects,
        until stop: EvaluationStop? = nil,
        _ onPart: (Int) throws(SnapshotFailure) -> Void = { _ in }
    ) throws(SnapshotFailure) {
        var reader = SnapshotReader(manifest, map, from: objects)
        var sum = ChecksumSum()
        while let part = try reader.next() {
            if stop?.isSet == true { throw .stopped }
            for document in part.documents {
                let state: [UInt8]
                do throws(Malformed) {
                    state = try document.bytes.span.withUnsafeBytes { (bytes) throws(Malformed) in
                        let encoded = try EncodedDocument(bytes)
                        try encoded.validate(part.names)
                        return try encoded.spelled(part.names)
                    }
                } catch {
                    throw .damaged(object: "a document of the snapshot", reason: "\(error)")
                }
                sum.add(ChecksumSum(document.collection, document.id[...], state))
            }
            try onPart(part.length)
        }
        guard sum.hash == manifest.checksum else {
            throw .damaged(
                object: "the snapshot of shard \(manifest.shard)",
                reason: "its documents do not have the checksum of the manifest")
        }
    }
}

extension ShippedDocument {
    /// The address of the document.
    var address: DocumentAddress { DocumentAddress(collection: collection, id: id) }
}
