import SheafStorage
import SheafTestSupport
import Synchronization
import Testing

/// Tests of the callbacks of a store without threads, and of its refusals after failures.
@Suite struct StoreCallbackTests {
    private let volume = SimulatedVolume(seed: 11)
    private let calls = CallList()

    /// A list of calls.
    private final class CallList: Sendable {
        private let names = Mutex<[String]>([])

        func add(_ name: String) { names.withLock { $0.append(name) } }

        /// Returns the calls since the last time.
        func take() -> [String] {
            names.withLock { names in
                defer { names = [] }
                return names
            }
        }
    }

    private func open() throws -> StoreEngine {
        try StoreEngine(opening: volume, options: SmallStore.options(seed: 11))
    }

    private func append(_ number: UInt8, to engine: StoreEngine) throws -> CommitID {
        var batch = WriteBatch()
        try batch.put([1, number], [number])
        return try engine.append(batch)
    }

    @Test func `each layer is called once for each flush that publishes a snapshot`() throws {
        let engine = try open()
        engine.onPublishingToDocuments { [calls] in calls.add("documents") }
        engine.onPublishing { [calls] in calls.add("observers") }
        engine.onPublishingToPeers { [calls] in calls.add("peers") }
        try engine.flush()
        #expect(calls.take() == [])
        for number in 1...3 as ClosedRange<UInt8> { _ = try append(number, to: engine) }
        #expect(calls.take() == [])
        try engine.flush()
        #expect(calls.take() == ["documents", "observers", "peers"])
        engine.onPublishing(nil)
        _ = try append(4, to: engine)
        try engine.flush()
        #expect(calls.take() == ["documents", "peers"])
        engine.onPublishingToDocuments(nil)
        engine.onPublishing { [calls] in calls.add("others") }
        engine.onPublishingToPeers(nil)
        _ = try append(5, to: engine)
        try engine.flush()
        #expect(calls.take() == ["others"])
        // A failed flush publishes nothing.
        _ = try append(6, to: engine)
        volume.inject(SimulatedFault(.error(.inputOutput), of: .synchronize))
        #expect(throws: StorageError.self) { try engine.flush() }
        #expect(calls.take() == [])
    }

    @Test func `callbacks see the snapshot and the durable commit of their flush`() throws {
        let engine = try open()
        engine.onPublishing { [calls, unowned engine] in
            calls.add("\(engine.snapshot().commit) \(engine.durableCommit)")
        }
        for number in 1...3 as ClosedRange<UInt8> {
            let commit = try append(number, to: engine)
            engine.whenDurable(commit) { [calls, unowned engine] result in
                calls.add("\(result == .success(commit)) \(engine.snapshot().commit)")
            }
            try engine.flush()
            #expect(calls.take() == ["true \(commit)", "\(commit) \(commit)"])
        }
        engine.onPublishing(nil)
        try engine.close()
    }

    @Test func `a failed flush is reported to the commits in it, and as a cause to others`()
        throws
    {
        let engine = try open()
        _ = try append(1, to: engine)
        try engine.flush()
        for number in 2...3 as ClosedRange<UInt8> { _ = try append(number, to: engine) }
        for commit in [2, 3, 4] as [CommitID] {
            engine.whenDurable(commit) { [calls] result in
                guard case .failure(let error) = result else { return calls.add("\(commit)") }
                calls.add("\(commit): \(error.description)")
            }
        }
        volume.inject(SimulatedFault(.error(.inputOutput), of: .synchronize))
        let error = #expect(throws: StorageError.self) { try engine.flush() }
        let failure = try #require(error)
        guard case .io(let cause) = failure else {
            Issue.record("\(failure)")
            return
        }
        #expect(cause.operation == .synchronize && cause.code == .inputOutput)
        let text = failure.description
        let refusal = StorageError.poisoned(cause: text)
        #expect(
            calls.take() == ["2: \(text)", "3: \(text)", "4: \(refusal.description)"])
        // Further commits are refused, and no commit is pending.
        #expect(engine.failure == failure)
        #expect(throws: refusal) { try append(4, to: engine) }
        #expect(engine.pendingLength == 0)
        #expect(try !engine.flush())
        #expect(engine.snapshot().commit == 1 && engine.durableCommit == 1)
        for commit in [1, 2] as [CommitID] {
            engine.whenDurable(commit) { [calls] result in
                calls.add("\(commit) \((try? result.get()) == commit)")
            }
        }
        #expect(calls.take() == ["1 true", "2 false"])
        // Closing writes nothing more, so no mark names the last commit.
        let before = volume.snapshotFiles()
        try engine.close()
        #expect(volume.snapshotFiles() == before)
        let again = try open()
        #expect(again.failure == nil && again.snapshot().commit >= 1)
        try again.close()
    }

    @Test func `a store that refuses commits still makes earlier ones durable`() throws {
        let engine = try open()
        _ = try append(1, to: engine)
        engine.refuseCommits()
        #expect(throws: StorageError.closed) { try append(2, to: engine) }
        #expect(engine.lastCommit == 1)
        #expect(try engine.flush())
        #expect(engine.snapshot().commit == 1)
        try engine.close()
        try engine.close()
        #expect(throws: StorageError.closed) { try append(2, to: engine) }
    }

    @Test func `one layer at a time interprets keys and payloads`() throws {
        let engine = try open()
        #expect(engine.beginInterpretation())
        #expect(!engine.beginInterpretation())
        engine.endInterpretation()
        #expect(engine.beginInterpretation())
        try engine.close()
    }

    @Test func `a store is locked until it is closed, or has failed to open`() throws {
        volume.processIdentifier = 4_242
        let engine = try open()
        #expect(throws: StorageError.locked(path: "simulation", holder: 4_242)) { try open() }
        try engine.close()
        for operation in [VolumeError.Operation.list, .write, .synchronizeNames] {
            volume.inject(SimulatedFault(.error(.inputOutput), of: operation))
            let error = #expect(throws: StorageError.self) { try open() }
            guard case .io(let cause) = error else {
                Issue.record("\(operation): \(String(describing: error))")
                continue
            }
            #expect(cause.operation == operation && cause.code == .inputOutput)
            volume.removeFaults()
        }
        try open().close()
    }

    @Test func `a store on a full disk opens without a mark for readers`() throws {
        volume.quota = 0
        let engine = try open()
        #expect(try volume.names() == [])
        try engine.close()
        // A mark that cannot be written completely is removed.
        let short = SimulatedVolume(seed: 11, files: [FileName.syncedName: [1, 2, 3]])
        short.quota = 3
        let other = try StoreEngine(opening: short, options: SmallStore.options(seed: 11))
        #expect(try short.names() == [])
        try other.close()
    }

    @Test func `the mark for readers follows each flush and each compaction`() throws {
        var options = SmallStore.options(seed: 11)
        options.segmentLength = 1
        options.history = HistoryHorizon(commits: 0, bytes: .max)
        let engine = try StoreEngine(opening: volume, options: options)
        func mark() throws -> SyncedMark? {
            let bytes = try volume.contents(of: FileName.syncedName)
            return bytes.withUnsafeBytes { SyncedMark(decoding: $0) }
        }
        let owner = SyncedMark.Owner(
            store: engine.store, directory: volume.identity, system: volume.systemIdentity)
        #expect(try mark() == SyncedMark(owner: owner, position: .none, commit: 0))
        for number in 1...3 as ClosedRange<UInt8> {
            _ = try append(number, to: engine)
            try engine.flush()
            let expected = SyncedMark(
                owner: owner, position: engine.snapshot().end, commit: CommitID(number))
            #expect(try mark() == expected)
        }
        for replacements in 1...2 as ClosedRange<UInt64> {
            engine.compactEverything()
            while try engine.compactionStep() {}
            let expected = SyncedMark(
                owner: owner, position: engine.snapshot().end, commit: engine.lastCommit,
                replacements: replacements)
            #expect(try mark() == expected)
            _ = try append(4, to: engine)
            try engine.flush()
        }
        try engine.close()
        let again = try StoreEngine(opening: volume, options: options)
        let expected = SyncedMark(owner: owner, position: again.snapshot().end, commit: 5)
        #expect(try mark() == expected)
        try again.close()
    }
}
