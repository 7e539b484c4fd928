import SheafStorage
import SheafTestSupport
import Synchronization
import Testing

/// What writers are told, and when.
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

    @Test func `tasks that commit at once learn their own commit, each number once`() async throws {
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

    @Test func `callbacks come once, in the order of the commits, when each is readable`() throws {
        let volume = SimulatedVolume()
        let store = try store(volume)
        let seen = Mutex<[CommitID]>([])
        let threads = try (0..<4).map { writer in
            try Thread(name: "writer-\(writer)") {
                for count in 0..<50 {
                    guard let batch = try? batch("\(writer)/\(count)", "") else { return }
                    _ = try? store.commit(batch) { result in
                        guard case .success(let commit) = result else { return }
                        seen.withLock { $0.append(commit) }
                    }
                }
            }
        }
        for thread in threads { thread.join() }
        try store.close()
        #expect(seen.withLock { $0 } == Array(1...200))
    }

    @Test func `relaxed commits are shown once they are durable, and not before`() async throws {
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
        // Closing makes everything durable, asked or not.
        try store.close()
        #expect(try StoreEngine(opening: volume).snapshot().commit == 6)
    }

    @Test func `relaxed commits become durable by themselves`() async throws {
        let store = try store(SimulatedVolume(), .relaxed(milliseconds: 2))
        let receipt = try await store.commit(batch("key", "1"))
        while store.snapshot().commit < receipt.id { await Task.yield() }
        try store.close()
    }

    @Test func `a relaxed writer waits for the disk when too much is pending`() async throws {
        let store = try store(SimulatedVolume(), .relaxed(milliseconds: 3_600_000))
        var large = WriteBatch()
        try large.put([1], [UInt8](repeating: 7, count: Limits.maximumPayloadLength))
        #expect(try await !store.commit(large).isDurable)
        #expect(try await !store.commit(large).isDurable)
        #expect(try await store.commit(large).isDurable)
        try store.close()
    }

    @Test func `a commit whose flush is interrupted is durable all the same`() async throws {
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

    @Test func `a failure of the disk reaches everybody who waits, and reading goes on`()
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
        // There is nothing more to be made durable.
        try store.close()
        let again = try StoreEngine(opening: volume.powerCut(seed: 1))
        #expect(again.snapshot().commit >= 1)
    }

    @Test func `a lone writer in a hurry learns of a failure as well as of success`() async throws {
        let volume = SimulatedVolume()
        let store = try store(volume)
        // So many in a row that the store expects the next one.
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

    @Test func `those who ask late for a commit are told with it, in any order`() throws {
        let engine = try StoreEngine(opening: SimulatedVolume())
        let told = Mutex<[CommitID]>([])
        for number in 1...6 { _ = try engine.append(batch("\(number)", "")) }
        for commit in [5, 2, 6, 1, 2] as [CommitID] {
            engine.whenDurable(commit) { _ in told.withLock { $0.append(commit) } }
        }
        #expect(told.withLock { $0 } == [])
        #expect(engine.pendingCommits == 6 && engine.durableCommit == 0)
        try engine.flush()
        #expect(told.withLock { $0 } == [1, 2, 2, 5, 6])
        engine.whenDurable(3) { _ in told.withLock { $0.append(3) } }
        #expect(told.withLock { $0 } == [1, 2, 2, 5, 6, 3])
        #expect(engine.pendingCommits == 0 && engine.durableCommit == 6)
        try engine.close()
    }

    @Test func `a store that was closed refuses commits, and closes twice`() async throws {
        let store = try store()
        _ = try await store.commit(batch("key", "1"))
        let snapshot = store.snapshot()
        try store.close()
        try store.close()
        await #expect(throws: StorageError.closed) { try await store.commit(batch("key", "2")) }
        await #expect(throws: StorageError.closed) { try await store.synchronize() }
        #expect(throws: StorageError.closed) {
            try store.commit(try batch("key", "2")) { _ in
                Issue.record("A refused commit calls nobody.")
            }
        }
        #expect(try payload("key", in: snapshot) == "1")
    }

    @Test func `commits that race with closing are durable or refused, and never forgotten`()
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

    @Test func `an empty batch makes no commit, and waits for those before it`() async throws {
        let volume = SimulatedVolume()
        let store = try store(volume)
        try await expectEmptyCommit(0, on: store)
        _ = try await store.commit(batch("key", "1"))
        try await expectEmptyCommit(1, on: store)
        try store.close()
        #expect(try StoreEngine(opening: volume).snapshot().commit == 1)
    }
}
