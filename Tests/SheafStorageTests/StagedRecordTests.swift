import SheafBytes
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// Records that are written to files before their commit.
@Suite struct StagedRecordTests {
    private typealias Put = (key: [UInt8], payload: [UInt8])

    private static func options(maximumInMemory: Int = 1, sorts: Bool = false) -> LogStoreOptions {
        var options = LogStoreOptions()
        options.segmentLength = 4_000
        options.recordLength = 500
        options.stagingThreshold = maximumInMemory
        options.minimumEntriesForSorting = sorts ? 0 : .max
        options.history = HistoryHorizon(commits: .max, bytes: .max)
        return options
    }

    private static func put(_ number: Int, _ random: inout SeededRandom) -> Put {
        (Array("key \(number)".utf8), random.bytes(1 + random.below(300)))
    }

    /// Adds puts to blocks, which are written to files if they are long.
    private static func encode(
        _ puts: [Put], in engine: StoreEngine
    ) throws -> (puts: EncodedPuts, locations: [EncodedPuts.Location]) {
        var encoded = EncodedPuts(firstLength: 256)
        var locations: [EncodedPuts.Location] = []
        for (key, payload) in puts {
            try encoded.stageIfNeeded(in: engine, after: engine.snapshot())
            try key.span.withUnsafeBytes { key in
                try payload.span.withUnsafeBytes { payload in
                    locations.append(
                        try encoded.append(
                            key, payload[0], UnsafeRawBufferPointer(rebasing: payload[1...])))
                }
            }
        }
        return (encoded, locations)
    }

    /// Returns a batch of puts with weights and index entries; `encoded` has some of them in files.
    private static func batch(
        _ puts: [Put], _ encoded: EncodedPuts? = nil
    ) throws -> WriteBatch {
        var batch = try WriteBatch(encoded?.staged)
        batch.keepsIndexProgress = true
        for (number, (key, payload)) in puts.enumerated() {
            if number < encoded?.stagedCount ?? 0 {
                batch.select(staged: number)
            } else {
                try batch.put(key, payload)
            }
            if payload[0] % 2 == 0 { batch.weigh(payload.span.withUnsafeBytes { XXH3.hash64($0) }) }
            try batch.addIndexEntries([0xFF] + payload.prefix(20) + key)
        }
        return batch
    }

    /// Returns the histories of all keys, the index entries, and the weights.
    private static func contents(_ engine: StoreEngine, _ count: Int) throws -> [String] {
        let snapshot = engine.snapshot()
        var found: [String] = []
        for number in 0..<count {
            var history = Array("key \(number)".utf8).span.withUnsafeBytes {
                snapshot.history(of: $0)
            }
            while let logged = try history.next() {
                let payload = XXH3.hash64(logged.operation.payload)
                found.append("\(number): \(logged.commit) \(logged.operation.kind) \(payload)")
            }
        }
        var targets: [(key: [UInt8], pointer: RecordPointer, weight: UInt64?)] = []
        snapshot.tree.forEach { key, value in
            if let pointer = RecordPointer(value) {
                targets.append((Array(key), pointer, value.weight))
            }
            return true
        }
        for (key, pointer, weight) in targets {
            // The key of an index entry may have been changed since.
            let target = try? snapshot.operations(at: pointer).first?.operation
            found.append(
                "\(key) → \(target.map { Array($0.key) } ?? []), weight \(weight ?? 0)")
        }
        return found
    }

    private static func temporaryFiles(_ volume: any Volume) throws -> [String] {
        try volume.names().filter { FileName($0) == .temporary }
    }

    @Test(arguments: [false, true])
    func `staged puts have the same effect as others, with weights and index entries`(
        sorts: Bool
    ) throws {
        for seed in 0..<6 as Range<UInt64> {
            var random = SeededRandom(seed: seed, "staged puts")
            let volumes = [SimulatedVolume(seed: seed), SimulatedVolume(seed: seed + 100)]
            let limit = [1, 300, 2_000][Int(seed % 3)]
            let (staging, plain) = (
                try StoreEngine(
                    opening: volumes[0],
                    options: Self.options(maximumInMemory: limit, sorts: sorts)),
                try StoreEngine(opening: volumes[1], options: Self.options(sorts: sorts))
            )
            for round in 0..<8 {
                let numbers = (0..<200).filter { _ in random.chance(1, in: 4) }
                let puts = numbers.map { Self.put($0, &random) }
                if round == 4 { try staging.prepareNextSegment() }
                let (encoded, locations) = try Self.encode(puts, in: staging)
                #expect(encoded.stagedCount > 0, "seed \(seed)")
                for (location, put) in zip(locations, puts) {
                    let found = encoded.put(location)
                    #expect([found.firstByte] + Array(found.rest) == put.payload, "seed \(seed)")
                }
                _ = try staging.append(try Self.batch(puts, encoded))
                _ = try plain.append(try Self.batch(puts))
                if random.chance(1, in: 2) {
                    var removal = WriteBatch()
                    removal.keepsIndexProgress = true
                    try removal.remove(Array("key \(random.below(200))".utf8))
                    _ = try staging.append(removal)
                    _ = try plain.append(removal)
                }
                try staging.flush()
                try plain.flush()
                #expect(
                    try Self.contents(staging, 200) == Self.contents(plain, 200), "seed \(seed)")
                #expect(staging.checkLiveBytes() == [], "seed \(seed)")
                #expect(try Self.temporaryFiles(volumes[0]) == [], "seed \(seed)")
            }
            try staging.close()
            #expect(
                try Verifier.verify(volumes[0]).findings.filter { $0.severity != .note } == [],
                "seed \(seed)")
        }
    }

    @Test
    func `puts below the threshold stay in memory, and removing staged puts removes their files`()
        throws
    {
        let volume = SimulatedVolume(seed: 1)
        let engine = try StoreEngine(
            opening: volume, options: Self.options(maximumInMemory: 2_000))
        // A put takes 20 bytes beside its key and payload.
        let puts = (0..<20).map { ([UInt8(1 + $0)], [UInt8](repeating: 5, count: 79)) }
        #expect(try Self.encode(puts, in: engine).puts.stagedCount == 0)
        var (encoded, locations) = try Self.encode(puts + [([99], [1])], in: engine)
        #expect(encoded.stagedCount > 0)
        #expect(try Self.temporaryFiles(volume) != [])
        encoded.remove(from: locations[3])
        locations.removeSubrange(3...)
        #expect(encoded.stagedCount <= 3)
        for (location, put) in zip(locations, puts) {
            #expect(Array(encoded.put(location).key) == put.0)
        }
        encoded.remove(from: locations[0])
        #expect(encoded.stagedCount == 0)
        #expect(try Self.temporaryFiles(volume) == [])
    }

    @Test func `a commit contains no rolled-back records`() throws {
        let volume = SimulatedVolume(seed: 5)
        let engine = try StoreEngine(opening: volume, options: Self.options())
        var random = SeededRandom(seed: 5, "removed puts")
        let puts = (0..<8).map { Self.put($0, &random) }
        var (encoded, locations) = try Self.encode(puts, in: engine)
        #expect(encoded.stagedCount == 7)
        encoded.remove(from: locations[3])
        _ = try engine.append(try Self.batch(Array(puts[..<3]), encoded))
        try engine.flush()
        let expected = try Self.contents(engine, 8).prefix { !$0.contains("→") }
        #expect(expected.count == 3)
        let next = try StoreEngine(opening: volume.powerCut(seed: 5), options: Self.options())
        #expect(try Self.contents(next, 8).prefix { !$0.contains("→") } == expected)
        try engine.close()
        #expect(
            try Verifier.verify(volume).findings.filter { $0.severity != .note } == [])
    }

    @Test func `changes before a failed write of staged records can be committed`() throws {
        // The writes extend a file or are the first ones of another.
        for call in 1...60 {
            let volume = SimulatedVolume(seed: UInt64(call))
            let engine = try StoreEngine(opening: volume, options: Self.options())
            var random = SeededRandom(seed: UInt64(call), "failed puts")
            _ = try engine.append(try Self.batch([([1], [2])]))
            try engine.flush()
            let puts = (0..<60).map { Self.put($0, &random) }
            var encoded = EncodedPuts(firstLength: 256)
            var count = 0
            if call % 2 == 0 {
                volume.inject(
                    SimulatedFault(
                        .error(.noSpace), atCall: call / 2, of: .write, forEver: true))
            } else {
                // The last call writes a part.
                let used = volume.snapshotFiles().values.reduce(0) { $0 + $1.count }
                volume.quota = used + 150 * call + 100
            }
            for (key, payload) in puts {
                do throws(StorageError) {
                    try encoded.stageIfNeeded(in: engine, after: engine.snapshot())
                } catch {
                    #expect("\(error)".contains("full"), "call \(call)")
                    break
                }
                try key.span.withUnsafeBytes { key in
                    try payload.span.withUnsafeBytes { payload in
                        _ = try encoded.append(
                            key, payload[0], UnsafeRawBufferPointer(rebasing: payload[1...]))
                    }
                }
                count += 1
            }
            #expect(0 < count && count < puts.count, "call \(call)")
            volume.removeFaults()
            volume.quota = nil
            _ = try engine.append(try Self.batch(Array(puts[..<count]), encoded))
            try engine.flush()
            _ = try engine.append(try Self.batch([([2], [3])]))
            try engine.flush()
            let next = try StoreEngine(opening: volume.powerCut(seed: 1), options: Self.options())
            #expect(next.snapshot().commit == 3, "call \(call)")
            #expect(
                try Self.contents(next, 60).prefix { !$0.contains("→") }.count == count,
                "call \(call)")
        }
    }

    @Test func `a staged file that is damaged after its batch was made is not sealed`() throws {
        let volume = SimulatedVolume(seed: 7)
        let engine = try StoreEngine(opening: volume, options: Self.options())
        var random = SeededRandom(seed: 7, "damaged puts")
        let puts = (0..<50).map { Self.put($0, &random) }
        let (encoded, _) = try Self.encode(puts, in: engine)
        let batch = try Self.batch(puts, encoded)
        let name = try #require(try Self.temporaryFiles(volume).last)
        let file = try volume.open(name, .write)
        let offset = try file.size() - 16
        let byte = try file.readFully(1, at: offset)[0]
        try file.writeFully([byte ^ 1], at: offset)
        _ = try engine.append(batch)
        #expect(throws: StorageError.self) { try engine.flush() }
        #expect(engine.snapshot().commit == 0)
    }

    @Test func `a rollback leaves no record without operations`() throws {
        let volume = SimulatedVolume(seed: 6)
        let engine = try StoreEngine(opening: volume, options: Self.options())
        let puts = [([UInt8(1)], [UInt8(1)]), ([2], [2]), ([3], [3])]
        var (encoded, locations) = try Self.encode(puts, in: engine)
        encoded.remove(from: locations[2])
        let long = [UInt8](repeating: 4, count: 5_000)
        try [UInt8(4)].span.withUnsafeBytes { key in
            try long.span.withUnsafeBytes { _ = try encoded.append(key, 4, $0) }
        }
        try encoded.stageIfNeeded(in: engine, after: engine.snapshot())
        #expect(encoded.stagedCount == 3)
        let committed = Array(puts[..<2]) + [([4], [4] + long)]
        _ = try engine.append(try Self.batch(committed, encoded))
        try engine.flush()
        try engine.close()
        #expect(try Verifier.verify(volume).recordCount == 3)
    }

    @Test func `a transaction that ends without a commit leaves no file`() throws {
        let volume = SimulatedVolume(seed: 2)
        let engine = try StoreEngine(opening: volume, options: Self.options())
        var random = SeededRandom(seed: 2, "abandoned puts")
        do {
            let puts = (0..<50).map { Self.put($0, &random) }
            let encoded = try Self.encode(puts, in: engine)
            #expect(try Self.temporaryFiles(volume).count > 1)
            withExtendedLifetime(encoded) {}
        }
        #expect(try Self.temporaryFiles(volume) == [])
    }

    @Test func `a damaged staged file fails its commit, and later commits succeed`() throws {
        let volume = SimulatedVolume(seed: 3)
        let engine = try StoreEngine(opening: volume, options: Self.options())
        var random = SeededRandom(seed: 3, "changed puts")
        let puts = (0..<50).map { Self.put($0, &random) }
        let (encoded, _) = try Self.encode(puts, in: engine)
        let name = try #require(try Self.temporaryFiles(volume).last)
        let file = try volume.open(name, .write)
        let offset = 128 + 64 + 30
        let byte = try file.readFully(1, at: offset)[0]
        try file.writeFully([byte ^ 1], at: offset)
        let error = #expect(throws: StorageError.self) { try WriteBatch(encoded.staged) }
        #expect(error?.description.contains("the store is damaged: \(name):") == true)
        #expect(error?.description.contains("the record's hash does not match") == true)
        _ = try engine.append(try Self.batch([([1], [2])]))
        try engine.flush()
        #expect(engine.snapshot().commit == 1)
    }
}

extension StagedRecordTests {
    /// A volume whose first sync of a temporary file fails.
    private final class FailingVolume: ForwardingVolume {
        struct State: Sendable {
            var hasBegun = false
            /// Whether the sync that has begun may end.
            var mayEnd = false
        }

        let inner: SimulatedVolume
        let state = Monitor(State())

        init(_ inner: SimulatedVolume) { self.inner = inner }

        func open(_ name: String, _ access: FileAccess) throws(VolumeError) -> any VolumeFile {
            let file = try inner.open(name, access)
            return FileName(name) == .temporary ? FailingFile(file, state) : file
        }
    }

    private final class FailingFile: ForwardingFile {
        let inner: any VolumeFile
        private let state: Monitor<FailingVolume.State>

        init(_ inner: any VolumeFile, _ state: Monitor<FailingVolume.State>) {
            (self.inner, self.state) = (inner, state)
        }

        func synchronizeOnce() throws(VolumeError) {
            let isFirst = state.withLock { state in
                defer { state.hasBegun = true }
                return !state.hasBegun
            }
            if isFirst {
                state.broadcast()
                state.wait(while: { !$0.mayEnd }, then: { _ in })
                throw VolumeError(.synchronize, name, .inputOutput)
            }
            try inner.synchronizeOnce()
        }
    }

    @Test(arguments: [false, true])
    func `a commit fails if an early sync failed`(isLate: Bool) throws {
        let volume = FailingVolume(SimulatedVolume(seed: 4))
        var options = Self.options()
        options.segmentLength = 32 << 20
        let store = try LogStore(volume: volume, options: options)
        let puts = (0..<10).map { ([UInt8(1 + $0)], [UInt8](repeating: 1, count: 1 << 20)) }
        let (encoded, _) = try Self.encode(puts, in: store.engine)
        // The maintenance thread syncs the file after 8 MiB.
        volume.state.wait(while: { !$0.hasBegun }, then: { _ in })
        func endSync() {
            volume.state.withLock { $0.mayEnd = true }
            volume.state.broadcast()
        }
        if isLate {
            // The batch is made while the sync is running.
            _ = try store.append(try Self.batch(puts, encoded))
            endSync()
            #expect(throws: StorageError.self) { try store.flush() }
            #expect(store.engine.failure != nil)
        } else {
            endSync()
            // The error is known once the sync has returned.
            while (try? WriteBatch(encoded.staged)) != nil {}
            _ = try store.append(try Self.batch([([1], [2])]))
            try store.flush()
            #expect(store.engine.failure == nil)
        }
        #expect(store.engine.snapshot().commit == (isLate ? 0 : 1))
    }
}
