import SheafStorage
import SheafTestSupport
import Synchronization
import Testing

/// Readers whose calls overlap those of a writer.
@Suite struct ReaderRaceTests {
    private let base = SimulatedVolume(seed: 5)

    private func commit(
        _ numbers: ClosedRange<Int>, to engine: StoreEngine, _ content: inout SmallStore.Content
    ) throws {
        for number in numbers { try SmallStore.commit(number, to: engine, &content) }
    }

    private func compact(_ engine: StoreEngine) throws {
        engine.compactEverything()
        while try engine.compactionStep() {}
    }

    @Test func `a mark is read up to 64 times while writes overlap, without a listing`() throws {
        var options = SmallStore.options(seed: 5)
        options.segmentLength = 64 << 10
        let engine = try StoreEngine(opening: base, options: options)
        var content = SmallStore.Content()
        try commit(1...1, to: engine, &content)
        let volume = RacingVolume(base)
        let follower = try LogFollower(try LogReader(volume))
        for (index, torn) in [0, 1, 63, 64].enumerated() {
            try commit(2 + index...2 + index, to: engine, &content)
            let before = volume.listings
            volume.tearReads(torn)
            let advance = try #require(try follower.advance())
            #expect(advance.snapshot.commit == content.lastCommit)
            // Without the mark, the reader takes all files again.
            #expect(volume.listings - before == (torn < 64 ? 0 : 1), "\(torn)")
        }
        try engine.close()
    }

    @Test func `a replaced segment that is removed after the listing needs no other listing`()
        throws
    {
        let (files, content) = try SmallStore.small(seed: 3)
        let name = FileName.name(ofSegment: 1)
        try #require(files[name] == nil, "a base file has replaced the segment")
        let volume = RacingVolume(SimulatedVolume(files: files))
        volume.list([name] + files.keys)
        #expect(try LogReader(volume).snapshot().commit == content.lastCommit)
        #expect(volume.listings == 1)
    }

    @Test func `a base file that is replaced after the listing is found by another listing`()
        throws
    {
        let engine = try StoreEngine(opening: base, options: SmallStore.options(seed: 5))
        var content = SmallStore.Content()
        try commit(1...12, to: engine, &content)
        try compact(engine)
        let stale = try base.names()
        try commit(13...24, to: engine, &content)
        try compact(engine)
        let current = try base.names()
        try #require(stale.contains { $0.hasSuffix(".base") && !current.contains($0) })
        let volume = RacingVolume(base)
        volume.list(stale)
        #expect(try LogReader(volume).snapshot().commit == content.lastCommit)
        #expect(volume.listings == 2)
        try engine.close()
    }
}

/// A volume that a writer changes between the calls of a reader.
private final class RacingVolume: ForwardingVolume {
    private struct State {
        /// The names that the next listing returns, if they are outdated.
        var staleNames: [String]?
        /// The number of the next reads of the mark that overlap a write.
        var tornReads = 0
        var listings = 0
    }

    let inner: SimulatedVolume
    private let state = Mutex(State())

    init(_ inner: SimulatedVolume) {
        self.inner = inner
    }

    /// The number of times that the directory was listed.
    var listings: Int { state.withLock { $0.listings } }

    /// Makes the next listing return these names.
    func list(_ names: [String]) { state.withLock { $0.staleNames = names } }

    /// Makes the next reads of the mark return a mixture of two marks.
    func tearReads(_ count: Int) { state.withLock { $0.tornReads = count } }

    fileprivate func isTorn() -> Bool {
        state.withLock { state in
            guard state.tornReads > 0 else { return false }
            state.tornReads -= 1
            return true
        }
    }

    func names() throws(VolumeError) -> [String] {
        let stale = state.withLock { state -> [String]? in
            defer { state.staleNames = nil }
            state.listings += 1
            return state.staleNames
        }
        if let stale { return stale }
        return try inner.names()
    }

    func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile {
        let file = try inner.open(name, access)
        guard name == FileName.syncedName else { return file }
        return RacingFile(file, of: self)
    }
}

/// The mark of a racing volume.
private final class RacingFile: ForwardingFile {
    let inner: any VolumeFile
    private let volume: RacingVolume

    init(_ inner: any VolumeFile, of volume: RacingVolume) {
        (self.inner, self.volume) = (inner, volume)
    }

    func read(
        into buffer: UnsafeMutableRawBufferPointer, at offset: Int
    ) throws(VolumeError) -> Int {
        let count = try inner.read(into: buffer, at: offset)
        if count > 0, volume.isTorn() { buffer[count - 1] ^= 1 }
        return count
    }
}
