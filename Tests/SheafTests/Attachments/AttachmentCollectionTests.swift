import Sheaf
import SheafAttachments
import SheafStorage
import SheafTestSupport
import Testing

/// The collection of files that no document references.
@Suite struct AttachmentCollectionTests {
    private let clock = FakeClock()
    private let volume = SimulatedVolume()

    private func store(_ volume: SimulatedVolume) -> AttachmentStore {
        let clock = clock
        return AttachmentStore(volume) { $0.clock = clock.clock }
    }

    /// Runs a collection at a given time; returns the number of remaining files.
    private func collect(
        _ store: AttachmentStore, named: [AttachmentID] = [], at milliseconds: UInt64
    ) throws -> Int {
        clock.setWall(milliseconds: 1_000_000 + milliseconds)
        _ = try store.collect(graceMilliseconds: 600) { $0.intersection(named) }
        return try store.ids.count
    }

    @Test func `a file that was unreferenced for the grace period is removed`() throws {
        let store = store(volume)
        let id = try store.add([1])
        #expect(try collect(store, at: 0) == 1)
        #expect(try collect(store, at: 599) == 1)
        #expect(try collect(store, named: [id], at: 600) == 1)
        #expect(try collect(store, at: 700) == 1)
        #expect(try collect(store, at: 1_299) == 1)
        #expect(try collect(store, at: 1_300) == 0)
        #expect(volume.snapshotFiles().isEmpty)
        for cut in UInt64(0)..<8 { #expect(volume.powerCut(seed: cut).snapshotFiles().isEmpty) }
    }

    @Test func `the mark of an unreferenced file survives reopening`() throws {
        let id = try store(volume).add([1])
        #expect(try collect(store(volume), at: 0) == 1)
        #expect(try collect(store(volume), at: 599) == 1)
        #expect(try collect(store(volume), at: 600) == 0)
        _ = try store(volume).add([1])
        #expect(try collect(store(volume), at: 700) == 1)
        #expect(try collect(store(volume), named: [id], at: 1_200) == 1)
        #expect(try collect(store(volume), at: 1_400) == 1)
        #expect(try collect(store(volume), at: 2_000) == 0)
    }

    @Test func `a request for a file restarts its grace period`() throws {
        let sample = SampleFile.all[2]
        for variant in 0..<4 {
            let volume = SimulatedVolume()
            var store = store(volume)
            if variant == 3 {
                _ = try store.begin(sample)
            } else {
                _ = try store.add(sample.bytes)
            }
            #expect(try collect(store, at: 0) == 1)
            clock.setWall(milliseconds: 1_000_500)
            switch variant {
            case 0: store.touch(sample.id)
            case 1: _ = try store.beginFetch(sample.id)
            case 2: _ = try store.add(sample.bytes)
            default: _ = try store.begin(sample)
            }
            // `touch` changes memory only, because a commit that references the file follows.
            if variant > 0 { store = self.store(volume) }
            #expect(try collect(store, at: 700) == 1, "\(variant)")
            #expect(try collect(store, at: 1_299) == 1, "\(variant)")
            #expect(try collect(store, at: 1_300) == 0, "\(variant)")
        }
    }

    @Test func `a clock that is set back restarts the grace period`() throws {
        let store = store(volume)
        _ = try store.add([1])
        #expect(try collect(store, at: 1_000_000) == 1)
        // After the clock is set back, the grace period begins at the new time.
        #expect(try collect(store, at: 0) == 1)
        #expect(try collect(store, at: 599) == 1)
        #expect(try collect(store, at: 600) == 0)
    }

    @Test func `a damaged mark is ignored`() throws {
        let id = try store(volume).add([1])
        #expect(try collect(store(volume), at: 0) == 1)
        volume.corrupt("\(id).whole", .flipBit(at: 57, bit: 0))
        #expect(try collect(store(volume), at: 10_000) == 1)
        #expect(try collect(store(volume), at: 10_600) == 0)
    }

    @Test func `a file whose removal fails stays readable and is removed later`() throws {
        let store = store(volume)
        let id = try store.add([1])
        #expect(try collect(store, at: 0) == 1)
        volume.inject(SimulatedFault(.error(.inputOutput), of: .remove))
        #expect(throws: AttachmentError.self) { try collect(store, at: 600) }
        #expect(try store.bytes(of: id) == [1])
        #expect(try collect(store, at: 601) == 0)
    }

    @Test func `an open file stays readable after its removal`() throws {
        let store = store(volume)
        let sample = SampleFile.all[4]
        let file = try #require(try store.file(try store.add(sample.bytes)))
        #expect(try collect(store, at: 0) == 1)
        #expect(try collect(store, at: 600) == 0)
        #expect(try store.file(sample.id) == nil)
        #expect(try file.read(1) == sample.chunk(1))
        let incoming = try #require(try store.begin(sample))
        #expect(try collect(store, at: 700) == 1)
        #expect(try collect(store, at: 1_300) == 0)
        #expect(throws: AttachmentError.missing(sample.id)) {
            try incoming.put(sample.chunk(0), at: 0)
        }
    }
}
