import SheafStorage
import SheafTestSupport
import Synchronization

/// The commits that produce the store in `format-spec/vectors/store`.
///
/// Store identifier, clock and random numbers are fixed, so the bytes are reproducible.
struct FormatVectorStore {
    static let id = StoreID(low: 0x0807_0605_0403_0201, high: 0x100F_0E0D_0C0B_0A09)
    static let checkpoint = "00000000000000000007.checkpoint"

    private let volume = SimulatedVolume()
    private let clock = FakeClock(wallMilliseconds: 1_780_000_000_000)
    private let options: LogStoreOptions

    /// Writes the store and returns its files, as a process crash leaves them.
    static func files() throws -> [String: [UInt8]] {
        let store = FormatVectorStore()
        try store.write()
        var files = store.volume.snapshotFiles()
        files[FileName.syncedName] = nil
        return files
    }

    private init() {
        var options = LogStoreOptions()
        options.segmentLength = 4_096
        options.recordLength = 100
        options.history = HistoryHorizon(commits: 2, bytes: 1 << 30)
        options.clock = clock.clock
        let drawn = Mutex(0)
        options.random = {
            let number = drawn.withLock { drawn in
                defer { drawn += 1 }
                return drawn
            }
            let numbers = [Self.id.low, Self.id.high]
            return number < numbers.count ? numbers[number] : UInt64(number)
        }
        self.options = options
    }

    private func write() throws {
        // These commits are in segment 1.
        let first = try StoreEngine(opening: volume, options: options)
        try commit(first, .put("car:1", "red"), .put("car:2", "blue"))
        try commit(first, .put("car:1", "green"), .put("car:3", "black"))
        try commit(first, .remove("car:2"))
        try first.close()
        // These commits are in segment 2.
        let second = try StoreEngine(opening: volume, options: options)
        try commit(second, .remove("car:3"), .put("car:4", ""))
        try commit(second, .put("car:1", "white"))
        try second.close()
        // These commits are in segment 3; afterwards segments 1 and 2 are compacted.
        var options = options
        options.segmentLength = 480
        let third = try StoreEngine(opening: volume, options: options)
        try commit(third, .weighedPut("car:4", "gray", 0x0807_0605_0403_0201))
        try commit(
            third, .put("car:3", "brown"), .put("car:5", "silver"), .put("car:5", "gold"))
        try third.writeCheckpoint()
        third.compactEverything()
        while try third.compactionStep() {}
        // One commit spans segments 4 to 6, and another one is in segment 6.
        try commit(
            third, .put("big:1", String(repeating: "a", count: 100)),
            .put("big:2", String(repeating: "b", count: 100)), .remove("car:4"))
        try commit(third, .put("car:2", "blue again"), .delta("car:1", "and a roof"))
        // Segment 7 is prepared but unused.
        try third.prepareNextSegment()
    }

    /// One change of a commit.
    private enum Change {
        case put(String, String)
        case weighedPut(String, String, UInt64)
        case remove(String)
        case delta(String, String)
    }

    private func commit(_ engine: StoreEngine, _ changes: Change...) throws {
        clock.advance(milliseconds: 1_000)
        var batch = WriteBatch()
        for change in changes {
            switch change {
            case .put(let key, let payload): try batch.put(Array(key.utf8), Array(payload.utf8))
            case .weighedPut(let key, let payload, let weight):
                try batch.put(Array(key.utf8), Array(payload.utf8))
                batch.weigh(weight)
            case .remove(let key): try batch.remove(Array(key.utf8))
            case .delta(let key, let payload):
                try batch.extend(Array(key.utf8), Array(payload.utf8))
            }
        }
        _ = try engine.append(batch)
        try engine.flush()
    }
}
