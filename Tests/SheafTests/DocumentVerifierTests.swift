import Sheaf
import SheafBytes
import SheafDocument
import SheafEngine
import SheafStorage
import SheafTestSupport
import Testing

/// Violations of `format-spec/commits.md` in records with valid checksums.
@Suite struct DocumentVerifierTests {
    /// An operation that violates the format.
    struct Violation: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let reason: String
        let write: @Sendable (inout WriteBatch) throws -> Void

        init(
            _ description: String, _ reason: String,
            _ write: @escaping @Sendable (inout WriteBatch) throws -> Void
        ) {
            testDescription = description
            self.reason = reason
            self.write = write
        }
    }

    private static let car = StoreKey.document(collection: 0, id: Array("@a\0".utf8)).bytes

    private static let token = StoreKey.unprovenToken(
        attachment: [UInt8](repeating: 3, count: 32), document: [UInt8](repeating: 4, count: 32)
    ).bytes

    private static func state(_ object: Object = ["x": 1], base: VersionVector? = nil) throws
        -> [UInt8]
    {
        let stamp = Stamp(HybridTime(milliseconds: 5), Site(rawValue: 9))
        let bytes = try Insertion.document(object, at: stamp, NameTable())
        return try bytes.withUnsafeBytes { try EncodedDocument($0).settingBase(base) }
    }

    private static func delta() throws -> [UInt8] {
        try state().withUnsafeBytes { bytes in
            let later = Stamp(HybridTime(milliseconds: 6), Site(rawValue: 9))
            let editor = try DocumentEditor(EncodedDocument(bytes), at: later, NameTable())
            try editor.apply(.set(path: ["x"], to: 2))
            return try #require(try editor.finish())
        }
    }

    static let breaches = [
        Violation("a key of an unknown kind", "an unknown key at offset 0") {
            try $0.put([11], [])
        },
        Violation("a key that is too short", "an unknown key at offset 0") {
            try $0.put([0x10, 0], [])
        },
        Violation("an unknown collection", "a collection without a name at offset 1") {
            let key = StoreKey.document(collection: 5, id: Array("@a\0".utf8)).bytes
            try $0.put(key, DocumentPayload.encode(state: try state()))
        },
        Violation("an id that is null", "an _id must not be or contain null") {
            let key = StoreKey.document(collection: 0, id: [0x70]).bytes
            try $0.put(key, DocumentPayload.encode(state: try state()))
        },
        Violation("a site whose clock is cut off", "the bytes end inside the value at offset 16") {
            try $0.put(StoreKey.site.bytes, [UInt8](repeating: 1, count: 23))
        },
        Violation("a site that is too long", "the bytes end inside the value at offset 24") {
            try $0.put(StoreKey.site.bytes, [UInt8](repeating: 1, count: 25))
        },
        Violation("a site that is zero", "a zero site at offset 0") {
            try $0.put(StoreKey.site.bytes, [UInt8](repeating: 0, count: 16))
        },
        Violation("no former sites", "no former sites at offset 0") {
            try $0.put(StoreKey.formerSites.bytes, [])
        },
        Violation("a duplicate former site", "a duplicate site at offset 8") {
            try $0.put(StoreKey.formerSites.bytes, [UInt8](repeating: 1, count: 16))
        },
        Violation(
            "a time of the clock that is too long", "bytes after the time of a clock at offset 8"
        ) {
            try $0.put(StoreKey.clock.bytes, [UInt8](repeating: 1, count: 9))
        },
        Violation(
            "a time of the clock with a zero counter",
            "a time of the clock with a zero counter at offset 0"
        ) {
            try $0.put(StoreKey.clock.bytes, [0, 0] + [UInt8](repeating: 1, count: 6))
        },
        Violation("a site without pauses", "a site without pauses at offset 0") {
            try $0.put(StoreKey.pauses(Site(rawValue: 1)).bytes, [])
        },
        Violation("the pauses of a site that is zero", "a zero site at offset 1") {
            let pause = [UInt8](repeating: 0, count: 15) + [1]
            try $0.put(StoreKey.pauses(.initial).bytes, pause)
        },
        Violation(
            "a pause that contains no time",
            "a pause of a site that contains no time at offset 0"
        ) {
            try $0.put(
                StoreKey.pauses(Site(rawValue: 1)).bytes, [UInt8](repeating: 1, count: 16))
        },
        Violation(
            "progress in a shard that is cut off", "the bytes end inside the value at offset 48"
        ) {
            try $0.put(StoreKey.storedShard(0).bytes, [UInt8](repeating: 1, count: 48))
        },
        Violation(
            "progress in a shard with a digest of no entries", "a digest of no entries at offset 16"
        ) {
            let stored = StoredShard(
                log: XXH3.Hash128(low: 1, high: 2),
                position: ShardPosition(entry: 0, digest: 1, authors: []), commit: 0,
                wallMilliseconds: 0)
            try $0.put(StoreKey.storedShard(3).bytes, stored.bytes)
        },
        Violation("an origin that is too short", "the bytes end inside the value at offset 8") {
            try $0.put(StoreKey.origin.bytes, [UInt8](repeating: 1, count: 8))
        },
        Violation("an origin that is not first", "an origin that is not the first operation") {
            let other = StoreKey.document(collection: 0, id: Array("@b\0".utf8)).bytes
            try $0.put(other, DocumentPayload.encode(state: try state()))
            let site = Site(rawValue: 3)
            let origin = CommitOrigin(
                stamp: Stamp(HybridTime(milliseconds: 1), site), peer: site, commit: 1)
            try $0.put(StoreKey.origin.bytes, origin.bytes)
        },
        Violation("a collection with another name", "a changed name at offset 0") {
            try $0.put(StoreKey.collection(0).bytes, Array("boats".utf8))
        },
        Violation("a collection that was removed", "a removed name at offset 0") {
            try $0.remove(StoreKey.collection(0).bytes)
            try $0.put(StoreKey.collection(0).bytes, Array("cars".utf8))
        },
        Violation("an index of an unknown collection", "a collection without a name at offset 1") {
            let index = IndexDefinition(
                collection: 5, number: 0, name: "i", fields: [IndexDefinition.Field(["x"])])
            try $0.put(index.key, index.payload)
        },
        Violation("a delta record of pauses", "a delta record of pauses at offset 0") {
            let key = StoreKey.pauses(Site(rawValue: 1)).bytes
            try $0.put(key, [UInt8](repeating: 1, count: 8) + [UInt8](repeating: 2, count: 8))
            try $0.extend(key, [])
        },
        Violation("a delta record of an import", "a delta record of an import at offset 0") {
            try $0.put(StoreKey.importProgress(1).bytes, [])
            try $0.extend(StoreKey.importProgress(1).bytes, [])
        },
        Violation(
            "a delta record of progress in a shard",
            "progress in a hub log that is not complete at offset 0"
        ) {
            try $0.put(StoreKey.storedShard(1).bytes, [])
            try $0.extend(StoreKey.storedShard(1).bytes, [])
        },
        Violation(
            "a delta record of an unproven token",
            "a delta record of an unproven token at offset 0"
        ) {
            try $0.put(token, [])
            try $0.extend(token, [])
        },
        Violation("a short key of a sender", "an unproven token of 31 bytes at offset 0") {
            try $0.put(token, [UInt8](repeating: 1, count: 31))
        },
        Violation("a long key of a sender", "an unproven token of 33 bytes at offset 0") {
            try $0.put(token, [UInt8](repeating: 1, count: 33))
        },
        Violation("a payload of an unknown kind", "the byte 9 at offset 0 is not allowed here") {
            try $0.put(car, [9, 1, 2])
        },
        Violation("a put of a delta", "the byte 2 at offset 0 is not allowed here") {
            try $0.put(car, DocumentPayload.encode(delta: try delta()))
        },
        Violation("a delta record with a state", "the byte 1 at offset 0 is not allowed here") {
            try $0.extend(car, DocumentPayload.encode(state: try state()))
        },
        Violation("a malformed state", "offset") {
            try $0.put(car, DocumentPayload.encode(state: [0, 1, 2]))
        },
        Violation("a delta on another state", "a base that is not the preceding version vector") {
            try $0.extend(car, DocumentPayload.encode(delta: try delta()))
        },
        Violation("a state with another base", "a base that is not the preceding version vector") {
            var base = VersionVector()
            base.record(Stamp(HybridTime(milliseconds: 4), Site(rawValue: 9)))
            try $0.put(car, DocumentPayload.encode(state: try state(base: base)))
        },
    ]

    private func verified(
        _ write: @Sendable (inout WriteBatch) throws -> Void
    ) throws -> DocumentVerifier {
        var options = LogStoreOptions()
        options.clock = FakeClock().clock
        let store = try StoreEngine(opening: SimulatedVolume(seed: 1), options: options)
        let engine = try DocumentEngine(store)
        let change = DocumentChange("cars", "a", .insert(["x": 1], onConflict: .fail))
        _ = try engine.commit([change]) { batch throws(StorageError) in try store.append(batch) }
        var batch = WriteBatch()
        try write(&batch)
        if batch.count > 0 { _ = try store.append(batch) }
        try store.flush()
        return try #require(try DocumentVerifier.verify(store.snapshot()))
    }

    @Test func `an insertion writes valid operations`() throws {
        let verified = try verified { _ in }
        #expect(verified.findings == [] && verified.documentCount == 1)
        #expect(verified.tombstoneCount == 0)
    }

    @Test(arguments: [0, 32])
    func `an unproven token has no sender, or its key of 32 bytes`(count: Int) throws {
        let verified = try verified { batch in
            try batch.put(Self.token, [UInt8](repeating: 1, count: count))
            // Tokens and pauses may be removed.
            try batch.remove(Self.token)
            try batch.put(Self.token, [UInt8](repeating: 1, count: count))
        }
        #expect(verified.findings == [])
    }

    @Test(arguments: breaches)
    func `each violation is reported with its reason`(_ violation: Violation) throws {
        let verified = try verified(violation.write)
        let finding = try #require(verified.findings.first)
        #expect(verified.findings.count == 1)
        #expect(finding.position.segment == 1)
        let place = "the operation at \(finding.position) violates the format: "
        #expect(finding.reason.hasPrefix(place), "\(finding.reason)")
        #expect(finding.reason.contains(violation.reason), "\(finding.reason)")
    }
}
