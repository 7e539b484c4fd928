import SheafBytes
import SheafDocument
import SheafHub
import SheafHubLog
import SheafReplication
import Testing

/// Tests of the manifests that a hub reads from its engine, and of what they show of the log.
@Suite struct SnapshotManifestTests {
    /// A store that has one object for each name, or an error.
    private struct SingleObject: HubObjects {
        /// The pieces of the object.
        let result: Result<[[UInt8]], HubLogError>

        init(_ bytes: [UInt8]) {
            result = .success([bytes])
        }

        init(pieces: [[UInt8]]) {
            result = .success(pieces)
        }

        init(_ error: HubLogError) {
            result = .failure(error)
        }

        func get(
            _ name: String, _ body: ([UInt8]) throws(HubLogError) -> Void
        ) throws(HubLogError) {
            for piece in try result.get() { try body(piece) }
        }

        func put(_ name: String, _ bytes: [UInt8]) throws(HubLogError) {}
        func list(_ prefix: String) throws(HubLogError) -> [String] { [] }
        func remove(_ name: String) throws(HubLogError) {}

        func load(
            _ name: String
        ) throws(HubLogError) -> (bytes: [UInt8], revision: UInt64)? { nil }

        func replace(
            _ name: String, with bytes: [UInt8], at revision: UInt64?
        ) throws(HubLogError) -> HubLogReplacement { .changed }
    }

    private func manifest(entry: UInt64) -> SnapshotManifest {
        SnapshotManifest(
            log: HubLogID(low: 1, high: 2), shard: 0,
            position: ShardPosition(entry: entry, digest: 7, authors: []),
            author: HubAuthor(site: Site(rawValue: 1), opening: 2), wallMilliseconds: 3,
            checksum: XXH3.Hash128(low: 5, high: 6), pauses: [],
            parts: [.init(hash: XXH3.Hash128(low: 7, high: 8), length: 9, documentCount: 1)])
    }

    private func hash(_ bytes: [UInt8]) -> XXH3.Hash128 {
        bytes.withUnsafeBytes { XXH3.hash128($0) }
    }

    /// Returns the failure of reading a manifest; nil if there is none.
    private func failure(_ hash: XXH3.Hash128, _ objects: SingleObject) -> SnapshotFailure? {
        do throws(SnapshotFailure) {
            _ = try SnapshotManifest.load(hash, from: objects)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a manifest has the hash in its name`() throws {
        let bytes = manifest(entry: 10).bytes
        let found = try SnapshotManifest.load(hash(bytes), from: SingleObject(bytes))
        #expect(found.bytes == bytes && found.position.entry == 10)
        let other = XXH3.Hash128(low: 1, high: 1)
        #expect(
            failure(other, SingleObject(bytes))
                == .damaged(
                    object: HubObjectName.snapshot(other),
                    reason: "its bytes do not have the hash in its name"))
        let short = hash([1, 2])
        guard case .damaged(let object, let reason)? = failure(short, SingleObject([1, 2])) else {
            Issue.record("bytes without a signature are a manifest")
            return
        }
        #expect(object == HubObjectName.snapshot(short))
        #expect(reason != "its bytes do not have the hash in its name")
    }

    @Test func `a manifest is read up to the length of one with the most parts and authors`() {
        let name = XXH3.Hash128(low: 1, high: 1)
        let object = HubObjectName.snapshot(name)
        // 144 pieces and the rest have 37,850,368 bytes.
        let pieces = Array(repeating: [UInt8](repeating: 0, count: 262_144), count: 144)
        let rest = [UInt8](repeating: 0, count: 101_632)
        #expect(
            failure(name, SingleObject(pieces: pieces + [rest]))
                == .damaged(object: object, reason: "its bytes do not have the hash in its name"))
        #expect(
            failure(name, SingleObject(pieces: pieces + [rest + [0]]))
                == .log(.damaged("\(object), which is longer than 37850368 bytes,")))
    }

    @Test func `a missing or damaged manifest is not usable, and other failures are thrown`() throws
    {
        let bytes = manifest(entry: 10).bytes
        let name = hash(bytes)
        let found = try SnapshotManifest.loadUsable(name, from: SingleObject(bytes))
        #expect(found?.bytes == bytes)
        for objects in [
            SingleObject(.missing("a")), SingleObject(.damaged("a")), SingleObject([1]),
        ] {
            let none = try SnapshotManifest.loadUsable(name, from: objects)
            #expect(none?.bytes == nil)
        }
        for error in [
            HubLogError.disconnected("a"), .timeout("a"), .full("a"), .refused("a"),
        ] {
            #expect(throws: SnapshotFailure.log(error)) {
                _ = try SnapshotManifest.loadUsable(name, from: SingleObject(error))
            }
        }
    }

    @Test(arguments: [(8, true), (9, true), (10, false), (11, false)] as [(UInt64, Bool)])
    func `entries before that of the earlier snapshot may be removed`(
        _ entry: UInt64, _ isTrimmed: Bool
    ) throws {
        let bytes = manifest(entry: 10).bytes
        let objects = SingleObject(bytes)
        let newest = HubConfiguration.Snapshots(newest: hash(bytes))
        let isOnlyTrimmed = try HubPreparation.isTrimmed(entry, newest, objects)
        #expect(!isOnlyTrimmed)
        let both = HubConfiguration.Snapshots(newest: hash([1]), earlier: hash(bytes))
        #expect(try HubPreparation.isTrimmed(entry, both, objects) == isTrimmed)
        #expect(throws: SnapshotFailure.log(.missing("a"))) {
            try HubPreparation.isTrimmed(entry, both, SingleObject(.missing("a")))
        }
    }
}
