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

    @Test func `concurrent tasks each get their own commit number`() async throws {
        let store = try store()
        let receipts = try await withThrowingTaskGroup(of: [CommitID].self) { group in
            for writer in 0..<8 {
                group.addTask {
                    var mine: [CommitID] = []
                    for count in 0..<50 {
                        let batch = try batch("\(writer)/\(count)", "\(writer)")
                        let receipt = try await store.commit(batch)
                        #expect(receipt.isDurable)
                        #expect(store.snapshot().commit >= receipt.id)
                        mine.append(receipt.id)
                    }
                    return mine
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        for mine in receipts { #expect(mine == mine.sorted()) }
        #expect(receipts.joined().sorted() == Array(1...400))
        #expect(store.snapshot().count == 400)
        try store.close()
    }

    @Test func `callbacks run once, in commit order, when the commit is readable`() throws {
        let volume = SimulatedVolume()
        let store = try store(volume)
        let reported = Mutex<[CommitID]>([])
        let threads = try (0..<4).map { writer in
            try Thread(name: "writer-\(writer)") {
                for count in 0..<50 {
                    guard let batch = try? batch("\(writer)/\(count)", "") else { return }
                    _ = try? store.commit(batch) { result in
                        guard case .success(let commit) = result else { return }
                        reported.withLock { $0.append(commit) }
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        try store.close()
        #expect(reported.withLock { $0 } == Array(1...200))
    }

    @Test func `relaxed commits are readable only once they are durable`() async throws {
        let volume = SimulatedVolume()
        let store = try store(volume, .relaxed(milliseconds: 3_600_000))
        for number in 1...5 {
            let receipt = try await store.commit(batch("key", "\(number)"))
            #expect(receipt.id == CommitID(number) && !receipt.isDurable)
        }
        #expect(store.snapshot().commit == 0)
        try await store.synchronize()
        #expect(store.snapshot().commit == 5)
        #expect(try payload("key", in: store.snapshot()) == "5")
        for seed in 0..<50 as Range<UInt64> {
            let image = try StoreEngine(opening: volume.powerCut(seed: seed))
            #expect(image.snapshot().commit == 5, "seed \(seed)")
        }
        _ = try await store.commit(batch("key", "6"))
        #expect(store.snapshot().commit == 5)
        // Closing flushes everything, even without `synchronize`.
        try store.close()
        #expect(try StoreEngine(opening: volume).snapshot().commit == 6)
    }

    @Test func `relaxed commits become durable after their interval`() async throws {
        let store = try store(SimulatedVolume(), .relaxed(milliseconds: 2))
        let receipt = try await store.commit(batch("key", "1"))
        while store.snapshot().commit < receipt.id { await Task.yield() }
        try store.close()
    }

    @Test func `a relaxed writer waits for the disk when many bytes are pending`() async throws {
        let store = try store(SimulatedVolume(), .relaxed(milliseconds: 3_600_000))
        var large = WriteBatch()
        try large.put([1], [UInt8](repeating: 7, count: Limits.maximumPayloadLength))
        #expect(try await !store.commit(large).isDurable)
        #expect(try await !store.commit(large).isDurable)
        #expect(try await store.commit(large).isDurable)
        try store.close()
    }

    @Test func `a commit whose flush is interrupted becomes durable`() async throws {
        let volume = SimulatedVolume()
        let store = try store(volume)
        for call in 1...3 {
            volume.inject(SimulatedFault(.error(.interrupted), atCall: call, of: .synchronize))
        }
        _ = try await store.commit(batch("key", "new"))
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
        _ = try await store.commit(batch("key", "old"))
        volume.inject(SimulatedFault(.error(.inputOutput), of: .synchronize, forEver: true))
        let errors = await withTaskGroup(of: StorageError?.self) { group in
            for writer in 0..<8 {
                group.addTask {
                    do throws(StorageError) {
                        var batch = WriteBatch()
                        try batch.put(Array("\(writer)".utf8), [])
                        _ = try await store.commit(batch)
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
            default: Issue.record("A writer got \(error.map { "\($0)" } ?? "a receipt").")
            }
        }
        #expect(store.snapshot().commit == 1)
        #expect(try payload("key", in: store.snapshot()) == "old")
        await #expect(throws: StorageError.self) { try await store.synchronize() }
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
            let receipt = try await store.commit(batch("key", "\(number)"))
            #expect(receipt.id == number && receipt.isDurable)
            #expect(store.snapshot().commit == number)
        }
        volume.inject(SimulatedFault(.error(.inputOutput), of: .synchronize, forEver: true))
        for _ in 0..<3 {
            await #expect(throws: StorageError.self) { try await store.commit(batch("key", "")) }
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
        _ = try await store.commit(batch("key", "1"))
        let snapshot = store.snapshot()
        try store.close()
        try store.close()
        await #expect(throws: StorageError.closed) { try await store.commit(batch("key", "2")) }
        await #expect(throws: StorageError.closed) { try await store.synchronize() }
        #expect(throws: StorageError.closed) {
            try store.commit(try batch("key", "2")) { _ in
                Issue.record("A refused commit must not run its callback.")
            }
        }
        #expect(try payload("key", in: snapshot) == "1")
    }

    @Test func `commits concurrent with closing are either durable or refused`()
        async throws
    {
        for seed in 0..<10 as Range<UInt64> {
            let volume = SimulatedVolume(seed: seed)
            let store = try store(volume)
            let receipts = try await withThrowingTaskGroup(of: CommitID?.self) { group in
                for writer in 0..<6 {
                    group.addTask {
                        do {
                            return try await store.commit(batch("\(writer)", "")).id
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
            #expect(Int(again.snapshot().commit) == receipts.count, "seed \(seed)")
            #expect(receipts.sorted() == Array(1..<CommitID(receipts.count + 1)))
        }
    }

    private func expectEmptyCommit(_ expected: CommitID, on store: LogStore) async throws {
        let receipt = try await store.commit(WriteBatch())
        #expect(receipt.id == expected && receipt.isDurable)
    }

    @Test func `an empty batch creates no commit, and waits for earlier ones`() async throws {
        let volume = SimulatedVolume()
        let store = try store(volume)
        try await expectEmptyCommit(0, on: store)
        _ = try await store.commit(batch("key", "1"))
        try await expectEmptyCommit(1, on: store)
        try store.close()
        #expect(try StoreEngine(opening: volume).snapshot().commit == 1)
    }
}
