import Sheaf
import SheafStorage
import SheafTestSupport
import Testing

/// Opening a store on a disk that has no room.
struct FullDiskOpeningTests {
    /// A full copy-on-write file system refuses each change, also to overwrite and to delete.
    private static let changes: [VolumeError.Operation] = [
        .create, .write, .truncate, .rename, .remove, .synchronize, .synchronizeNames,
    ]

    /// A store with a document, as a process leaves it that ends without closing it.
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
    func `a store on a full file system says what to do, and can be read until there is room`()
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
        #expect(hint.contains("opened with isReadOnly it can be read without"))
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
