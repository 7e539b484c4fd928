import SheafStorage
import SheafTestSupport
import Synchronization
import Testing

/// Readers of a directory that a writer changes all the time.
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
        let volume = ChangingVolume(try killed(), changes: changes)
        #expect(try !Verifier.verify(volume).isDamaged)
        #expect(volume.listings == changes + 1)
    }

    @Test(arguments: [64, 65, 1_000])
    func `a directory that keeps changing is read as it is after 64 attempts`(
        changes: Int
    ) throws {
        let volume = ChangingVolume(try killed(), changes: changes)
        _ = try Verifier.verify(volume)
        #expect(volume.listings == 64)
    }
}

/// A volume whose first listings have a file that is gone.
private final class ChangingVolume: ForwardingVolume {
    let inner: SimulatedVolume
    private let changes: Int
    private let listingCount = Atomic<Int>(0)

    init(_ inner: SimulatedVolume, changes: Int) {
        (self.inner, self.changes) = (inner, changes)
    }

    /// The number of listings.
    var listings: Int { listingCount.load(ordering: .relaxed) }

    func names() throws(VolumeError) -> [String] {
        let number = listingCount.add(1, ordering: .relaxed).newValue
        let names = try inner.names()
        // Each listing has another name.
        return number > changes
            ? names : names + [FileName.name(ofCheckpoint: CommitID(1_000_000 + number))]
    }
}
