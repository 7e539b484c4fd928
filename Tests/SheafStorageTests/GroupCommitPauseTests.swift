import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

/// Tests of the pauses between flushes while writers create garbage too fast.
@Suite struct GroupCommitPauseTests {
    private func append(_ number: UInt8, to store: LogStore) throws {
        var batch = WriteBatch()
        try batch.put([1], [number])
        _ = try store.append(batch)
    }

    @Test func `a flush is followed by a pause of its length while writers are delayed`() throws {
        let volume = SlowVolume(SimulatedVolume(seed: 11))
        var options = SmallStore.options(seed: 11)
        // The segment in use alone is far above the allowed size.
        options.segmentLength = 1 << 20
        options.liveShare = 1
        options.freeGarbage = 0
        options.runsMaintenance = false
        let store = try LogStore(volume: volume, options: options)
        try append(1, to: store)
        try store.flush()
        store.engine.updatePressure()
        #expect(store.engine.writerDelay == 1)
        try append(2, to: store)
        try store.flush()
        for number in 3...8 as ClosedRange<UInt8> {
            let count = volume.syncs.count
            try append(number, to: store)
            try store.flush()
            let found = volume.syncs
            try #require(found.count > count)
            let (last, next) = (found[count - 1], found[count])
            let pause = min(last.end - last.start, 10_000_000)
            #expect(next.start >= last.end + pause, "commit \(number)")
        }
        #expect(store.snapshot().commit == 8)
        try store.close()
    }
}

/// A volume whose files take a millisecond to sync.
private final class SlowVolume: ForwardingVolume {
    /// The time of a sync in nanoseconds.
    struct Sync {
        let start: UInt64
        let end: UInt64
    }

    let inner: SimulatedVolume
    private let recorded = Mutex<[Sync]>([])

    init(_ inner: SimulatedVolume) { self.inner = inner }

    var syncs: [Sync] { recorded.withLock { $0 } }

    func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile {
        SlowFile(try inner.open(name, access)) { start, end in
            self.recorded.withLock { $0.append(Sync(start: start, end: end)) }
        }
    }
}

/// A file that reports the start and the end of each sync.
private final class SlowFile: ForwardingFile {
    let inner: any VolumeFile
    private let record: @Sendable (_ start: UInt64, _ end: UInt64) -> Void

    init(
        _ inner: any VolumeFile,
        record: @escaping @Sendable (_ start: UInt64, _ end: UInt64) -> Void
    ) {
        (self.inner, self.record) = (inner, record)
    }

    func synchronizeOnce() throws(VolumeError) {
        let start = Clock.system.monotonicNanoseconds()
        try inner.synchronizeOnce()
        while Clock.system.monotonicNanoseconds() < start + 1_000_000 {}
        record(start, Clock.system.monotonicNanoseconds())
    }
}
