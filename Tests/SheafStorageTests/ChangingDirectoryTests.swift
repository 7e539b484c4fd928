import SheafStorage
import SheafTestSupport
import Synchronization
import Testing

/// Readers of a directory and of a mark that a writer changes all the time.
@Suite struct ChangingDirectoryTests {
    /// Returns the files of a store whose process was killed, so that the mark remains.
    private func killed() throws -> SimulatedVolume {
        let volume = SimulatedVolume(seed: 1)
        let engine = try StoreEngine(opening: volume)
        var batch = WriteBatch()
        try batch.put([1], [2])
        _ = try engine.append(batch)
        try engine.flush()
        return volume.processDeath(seed: 1)
    }

    @Test(arguments: [0, 1, 63])
    func `a directory is read again until it has not changed`(changes: Int) throws {
        let volume = WrappedVolume(try killed(), changes: changes)
        #expect(try !Verifier.verify(volume).isDamaged)
        #expect(volume.listings == changes + 1)
    }

    @Test(arguments: [64, 65, 1_000])
    func `a directory that keeps changing is read as it is after 64 attempts`(
        changes: Int
    ) throws {
        let volume = WrappedVolume(try killed(), changes: changes)
        _ = try Verifier.verify(volume)
        #expect(volume.listings == 64)
    }

    @Test func `an invalid mark is read 64 times`() throws {
        let store = try killed()
        let mark = try #require(SyncedMark.current(in: store))
        for count in [0, 1, 62, 63] {
            #expect(SyncedMark.current(in: WrappedVolume(store, tornReads: count)) == mark)
        }
        for count in [64, 65] {
            #expect(SyncedMark.current(in: WrappedVolume(store, tornReads: count)) == nil)
        }
    }
}

/// A volume whose first listings have a file that is gone, and whose first reads are torn.
private final class WrappedVolume: Volume {
    private let base: SimulatedVolume
    private let changes: Int
    private let tornReads: Int
    private let listingCount = Atomic<Int>(0)

    init(_ base: SimulatedVolume, changes: Int = 0, tornReads: Int = 0) {
        (self.base, self.changes, self.tornReads) = (base, changes, tornReads)
    }

    /// The number of listings.
    var listings: Int { listingCount.load(ordering: .relaxed) }

    var path: String { base.path }
    var identity: UInt64 { base.identity }
    var systemIdentity: UInt64 { base.systemIdentity }

    func names() throws(VolumeError) -> [String] {
        let number = listingCount.add(1, ordering: .relaxed).newValue
        let names = try base.names()
        // Each listing has another name.
        return number > changes
            ? names : names + [FileName.name(ofCheckpoint: CommitID(1_000_000 + number))]
    }

    func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile {
        let file = try base.open(name, access)
        return tornReads > 0 ? TornFile(file, count: tornReads) : file
    }

    func rename(_ name: String, to newName: String) throws(VolumeError) {
        try base.rename(name, to: newName)
    }

    func remove(_ name: String) throws(VolumeError) { try base.remove(name) }

    func synchronizeNamesOnce() throws(VolumeError) { try base.synchronizeNamesOnce() }

    func lock() throws(VolumeError) -> LockOutcome { try base.lock() }
}

/// A file whose first reads return a wrong first byte.
private final class TornFile: VolumeFile {
    private let inner: any VolumeFile
    private let count: Int
    private let reads = Atomic<Int>(0)

    init(_ inner: any VolumeFile, count: Int) {
        (self.inner, self.count) = (inner, count)
    }

    var name: String { inner.name }

    func size() throws(VolumeError) -> Int { try inner.size() }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Int {
        let length = try inner.read(into: buffer, at: offset)
        // A short read is continued at another offset.
        if length > 0, offset == 0, reads.add(1, ordering: .relaxed).newValue <= count {
            buffer[0] ^= 1
        }
        return length
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(VolumeError) -> Int {
        try inner.write(bytes, at: offset)
    }

    func synchronizeOnce() throws(VolumeError) { try inner.synchronizeOnce() }

    func truncate(to size: Int) throws(VolumeError) { try inner.truncate(to: size) }

    func map(length: Int, _ mode: MappingMode) throws(VolumeError) -> FileMapping {
        try inner.map(length: length, mode)
    }

    func close() { inner.close() }
}
