import Sheaf
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// Opening a store on a full disk.
struct FullDiskOpeningTests {
    /// The operations that a full copy-on-write file system refuses, even overwriting and removing.
    private static let changes: [VolumeError.Operation] = [
        .create, .write, .truncate, .rename, .remove, .synchronize, .synchronizeNames,
    ]

    /// Returns the disk of a store with one document, whose process died without closing it.
    private func left() async throws -> SimulatedVolume {
        let volume = SimulatedVolume()
        let store = try await Store.open(on: volume)
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
        let left = volume.processDeath()
        try await store.close()
        return left
    }

    private func cars(_ store: Store) async throws -> [String] {
        try await store.execute("SELECT * FROM cars ORDER BY _id").items.map { try $0.jsonString }
    }

    private func openingError(_ volume: SimulatedVolume) async throws -> StoreError {
        do {
            try await Store.open(on: volume).close()
        } catch let error as StoreError {
            return error
        }
        throw OpenedWithoutRoom()
    }

    private struct OpenedWithoutRoom: Error {}

    @Test
    func `a store on a full file system fails to open with advice, and can be read`()
        async throws
    {
        let volume = try await left()
        for change in Self.changes {
            volume.inject(SimulatedFault(.error(.noSpace), of: change, forEver: true))
        }
        let error = try await openingError(volume)
        #expect(error.reason == .full)
        #expect(error.message.contains(volume.path) && error.message.contains("the disk is full"))
        let hint = try #require(error.hint)
        #expect(hint.contains("with isReadOnly it can be read without"))
        #expect(hint.contains("On a full copy-on-write file system (btrfs, ZFS, bcachefs)"))
        #expect(hint.contains("truncate a large file"))
        #expect(hint.hasSuffix("delete a snapshot, or add a device"))
        let reader = try await Store.open(on: volume, options: StoreOptions(isReadOnly: true))
        #expect(try await cars(reader) == [#"{"_id":"a"}"#])
        try await reader.close()
        volume.removeFaults()
        let store = try await Store.open(on: volume)
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'b'})")
        #expect(try await cars(store) == [#"{"_id":"a"}"#, #"{"_id":"b"}"#])
        try await store.close()
    }
}
