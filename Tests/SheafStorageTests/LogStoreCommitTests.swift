import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

/// Results of commits, and the time at which they are reported.
@Suite struct LogStoreCommitTests {
    private func batch(_ key: String, _ payload: String) throws -> WriteBatch {
        var batch = WriteBatch()
        try batch.put(Array(key.utf8), Array(payload.utf8))
        return batch
    }

    private func payload(_ key: String, in snapshot: LogSnapshot) throws -> String? {
        let key = Array(key.utf8)
        return try key.span.withUnsafeBytes { try snapshot.payload(of: $0) }.map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    private func store(
        _ volume: SimulatedVolume = SimulatedVolume(), _ durability: Durability = .full
    ) throws -> LogStore {
        var options = LogStoreOptions()
        options.durability = durability
        options.segmentLength = 8 << 10
        return try LogStore(volume: volume, options: options)
    }

    /// Appends a batch, and waits as the store's durability demands.
    private func commit(
        _ batch: WriteBatch, to store: LogStore
    ) async throws(StorageError) -> CommitID {
        let commit = try store.append(batch)
        try await store.waitForDurability(of: commit)
        return commit
    }

    @Test func `concurrent tasks each get their own commit ID`() async throws {
        let store = try store()
        let commits = try await withThrowingTaskGroup(of: [CommitID].self) { group in
            for writer in 0..<8 {
                group.addTask {
                    var mine: [CommitID] = []
                    for count in 0..<50 {
                        let batch = try batch("\(writer)/\(count)", "\(writer)")
                        let number = try await commit(batch, to: store)
                        #expect(store.snapshot().commit >= number)
                        mine.append(number)
                    }
                    return mine
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for mine in commits { #expect(mine == mine.sorted()) }
        #expect(commits.joined().sorted() == Array(1...400))
        #expect(store.snapshot().count == 400)
        try store.close()
    }

    @Test func `callbacks run once, when the commit is readable`() throws {
        let volume = SimulatedVolume()
        let store = try store(volume)
        let reported = Mutex<[CommitID]>([])
        let threads = try (0..<4).map { writer in
            try Thread(name: "writer-\(writer)") {
                for count in 0..<50 {
                    guard let batch = try? batch("\(writer)/\(count)", ""),
                        let commit = try? store.append(batch)
                    else { return }
                    store.whenDurable(commit, mayBlock: writer == 0) { result in
                        guard result == .success(commit) else { return }
                        #expect(store.snapshot().commit >= commit)
                        reported.withLock { $0.append(commit) }
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        try store.close()
        #expect(reported.withLock { $0.sorted() } == Array(1...200))
    }

    @Test func `a thread that may block flushes a store in memory by itself`() throws {
        let store = try LogStore(volume: MemoryVolume(), options: LogStoreOptions())
        let commit = try store.append(batch("key", "1"))
        let reported = Mutex<CommitID?>(nil)
        store.whenDurable(commit, mayBlock: true) { result in
            reported.withLock { $0 = try? result.get() }
        }
        #expect(reported.withLock { $0 } == commit)
        #expect(store.snapshot().commit == commit)
        try store.close()
    }

    @Test func `a thread that may block gets the failure of its own flush`() throws {
        let volume = SimulatedVolume()
        let store = try store(volume)
        let commit = try store.append(batch("key", "1"))
        volume.inject(SimulatedFault(.error(.inputOutput), of: .synchronize, forEver: true))
        let failure = Monitor<StorageError?>(nil)
        store.whenDurable(commit, mayBlock: true) { result in
            guard case .failure(let error) = result else { return }
            failure.withLock { $0 = error }
            failure.broadcast()
        }
        failure.wait(while: { $0 == nil })
        #expect(store.snapshot().commit == 0)
        try store.close()
    }

    @Test func `relaxed commits are readable only once they are durable`() async throws {
        let volume = SimulatedVolume()
        let store = try store(volume, .relaxed(milliseconds: 3_600_000))
        for number in 1...5 {
            #expect(try await commit(batch("key", "\(number)"), to: store) == CommitID(number))
        }
        #expect(store.snapshot().commit == 0)
        try store.flush()
        #expect(store.snapshot().commit == 5)
        #expect(try payload("key", in: store.snapshot()) == "5")
        for seed in 0..<50 as Range<UInt64> {
            let image = try StoreEngine(opening: volume.powerCut(seed: seed))
            #expect(image.snapshot().commit == 5, "seed \(seed)")
        }
        _ = try await commit(batch("key", "6"), to: store)
        #expect(store.snapshot().commit == 5)
        // Closing flushes everything, even without `flush`.
        try store.close()
        #expect(try StoreEngine(opening: volume).snapshot().commit == 6)
    }

    @Test func `relaxed commits become durable after their interval`() async throws {
        let store = try store(SimulatedVolume(), .relaxed(milliseconds: 2))
        let number = try await commit(batch("key", "1"), to: store)
        while store.snapshot().commit < number { await Task.yield() }
        try store.close()
    }

    @Test func `relaxed commits become durable in time, although others follow`() async throws {
        let store = try store(SimulatedVolume(), .relaxed(milliseconds: 50))
        let first = try await commit(batch("key", "1"), to: store)
        let end = Clock.system.monotonicNanoseconds() + 20_000_000_000
        var next: UInt64 = 0
        // A commit in each millisecond; if each began the interval anew, it would not end.
        while store.snapshot().commit < first {
            let now = Clock.system.monotonicNanoseconds()
            try #require(now < end)
            guard now >= next else {
                await Task.yield()
                continue
            }
            next = now + 1_000_000
            _ = try await commit(batch("key", "2"), to: store)
        }
        try store.close()
    }

    @Test func `a relaxed writer waits for the disk when many bytes are pending`() async throws {
        let store = try store(SimulatedVolume(), .relaxed(milliseconds: 3_600_000))
        var large = WriteBatch()
        try large.put([1], [UInt8](repeating: 7, count: Limits.maximumPayloadLength))
        _ = try await commit(large, to: store)
        #expect(store.snapshot().commit == 0)
        _ = try await commit(large, to: store)
        #expect(store.snapshot().commit == 2)
        try store.close()
    }

    @Test func `a commit whose flush is interrupted becomes durable`() async throws {
        let volume = SimulatedVolume()
        let store = try store(volume)
        for call in 1...3 {
            volume.inject(SimulatedFault(.error(.interrupted), atCall: call, of: .synchronize))
        }
        _ = try await commit(batch("key", "new"), to: store)
        for seed in 0..<20 as Range<UInt64> {
            let again = try StoreEngine(opening: volume.powerCut(seed: seed))
            #expect(try payload("key", in: again.snapshot()) == "new", "seed \(seed)")
        }
        try store.close()
    }

    @Test func `a disk failure is reported to all waiting writers, and reads continue`()
        async throws
    {
        let volume = SimulatedVolume()
        let store = try store(volume)
        _ = try await commit(batch("key", "old"), to: store)
        volume.inject(SimulatedFault(.error(.inputOutput), of: .synchronize, forEver: true))
        let errors = await withTaskGroup(of: StorageError?.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    do throws(StorageError) {
                        var batch = WriteBatch()
                        try batch.put(Array("\(writer)".utf8), [])
                        _ = try await commit(batch, to: store)
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        #expect(errors.count == 8)
        for error in errors {
            switch error {
            case .io, .poisoned: break
            default: Issue.record("A writer got \(error.map { "\($0)" } ?? "a commit").")
            }
        }
        #expect(store.snapshot().commit == 1)
        #expect(try payload("key", in: store.snapshot()) == "old")
        #expect(throws: StorageError.self) { try store.flush() }
        // No commit is pending.
        try store.close()
        let again = try StoreEngine(opening: volume.powerCut(seed: 1))
        #expect(again.snapshot().commit >= 1)
    }

    @Test func `a single fast writer receives failures as well as successes`() async throws {
        let volume = SimulatedVolume()
        let store = try store(volume)
        // After these commits the store anticipates the next one.
        for number in 1...200 as ClosedRange<CommitID> {
            #expect(try await commit(batch("key", "\(number)"), to: store) == number)
            #expect(store.snapshot().commit == number)
        }
        volume.inject(SimulatedFault(.error(.inputOutput), of: .synchronize, forEver: true))
        for _ in 0..<3 {
            await #expect(throws: StorageError.self) {
                try await commit(batch("key", ""), to: store)
            }
        }
        #expect(try payload("key", in: store.snapshot()) == "200")
        try store.close()
    }

    @Test func `durability callbacks registered in any order run with their commit`() throws {
        let engine = try StoreEngine(opening: SimulatedVolume())
        let reported = Mutex<[CommitID]>([])
        for number in 1...6 { _ = try engine.append(batch("\(number)", "")) }
        for commit in [5, 2, 6, 1, 2] as [CommitID] {
            engine.whenDurable(commit) { _ in reported.withLock { $0.append(commit) } }
        }
        #expect(reported.withLock { $0 } == [])
        #expect(engine.pendingCommits == 6 && engine.durableCommit == 0)
        try engine.flush()
        #expect(reported.withLock { $0 } == [1, 2, 2, 5, 6])
        engine.whenDurable(3) { _ in reported.withLock { $0.append(3) } }
        #expect(reported.withLock { $0 } == [1, 2, 2, 5, 6, 3])
        #expect(engine.pendingCommits == 0 && engine.durableCommit == 6)
        try engine.close()
    }

    @Test func `a closed store refuses commits and may be closed again`() async throws {
        let store = try store()
        _ = try await commit(batch("key", "1"), to: store)
        let snapshot = store.snapshot()
        try store.close()
        try store.close()
        #expect(throws: StorageError.closed) { try store.append(batch("key", "2")) }
        #expect(throws: StorageError.closed) { try store.append(WriteBatch()) }
        #expect(try payload("key", in: snapshot) == "1")
    }

    @Test func `commits concurrent with closing are either durable or refused`()
        async throws
    {
        for seed in 0..<10 as Range<UInt64> {
            let volume = SimulatedVolume(seed: seed)
            let store = try store(volume)
            let commits = try await withThrowingTaskGroup(of: CommitID?.self) { group in
                for writer in 0..<6 {
                    group.addTask {
                        do {
                            return try await commit(batch("\(writer)", ""), to: store)
                        } catch StorageError.closed {
                            return nil
                        }
                    }
                }
                group.addTask {
                    try store.close()
                    return nil
                }
                return try await group.reduce(into: []) { $0.append($1) }.compactMap { $0 }
            }
            let again = try StoreEngine(opening: volume.powerCut(seed: seed))
            #expect(Int(again.snapshot().commit) == commits.count, "seed \(seed)")
            #expect(commits.sorted() == Array(1..<CommitID(commits.count + 1)))
        }
    }

    @Test func `an empty batch creates no commit, and waits for earlier ones`() async throws {
        let volume = SimulatedVolume()
        let store = try store(volume)
        #expect(try await commit(WriteBatch(), to: store) == 0)
        #expect(try store.append(batch("key", "1")) == 1)
        #expect(try await commit(WriteBatch(), to: store) == 1)
        #expect(store.snapshot().commit == 1)
        try store.close()
        #expect(try StoreEngine(opening: volume).snapshot().commit == 1)
    }
}
