import SheafStorage
import SheafSystem
import SheafTestSupport
import Synchronization
import Testing

/// Closing and releasing a store while other threads use it.
@Suite struct LogStoreCloseTests {
    private func batch(_ key: String, _ count: Int = 1) throws -> WriteBatch {
        var batch = WriteBatch()
        for number in 0..<count { try batch.put(Array("\(key)/\(number)".utf8), [1, 2, 3]) }
        return batch
    }

    private func store(
        _ volume: SimulatedVolume, _ durability: Durability = .full
    ) throws -> LogStore {
        var options = LogStoreOptions()
        options.durability = durability
        options.segmentLength = 8 << 10
        return try LogStore(volume: volume, options: options)
    }

    @Test func `concurrent commits and closes lose no acknowledged commit`() throws {
        for seed in 0..<40 as Range<UInt64> {
            let volume = SimulatedVolume(seed: seed)
            let store = try store(volume)
            let acknowledged = Mutex<Set<CommitID>>([])
            let writers = try (0..<3).map { writer in
                try Thread(name: "writer-\(writer)") {
                    for number in 0... {
                        guard let batch = try? batch("\(writer)/\(number)"),
                            let commit = try? store.append(batch)
                        else { return }
                        store.whenDurable(commit) { result in
                            guard case .success(let commit) = result else { return }
                            _ = acknowledged.withLock { $0.insert(commit) }
                        }
                    }
                }
            }
            while store.snapshot().commit < 20 {}
            let last = Mutex<CommitID>(0)
            let closers = try (0..<2).map { number in
                try Thread(name: "closer-\(number)") {
                    do throws(StorageError) {
                        try store.close()
                        // Both calls return after the store is closed, so a new opening has it
                        // exclusively.
                        let again = try StoreEngine(opening: volume)
                        last.withLock { $0 = again.snapshot().commit }
                        try again.close()
                    } catch .locked {
                        // The other thread has reopened the store.
                    } catch {
                        Issue.record("seed \(seed): \(error)")
                    }
                }
            }
            for thread in closers + writers { thread.join() }
            #expect(acknowledged.withLock { $0 } == Set(1...last.withLock { $0 }))
        }
    }

    @Test func `each call that closes reports the error that made closing fail`() throws {
        for seed in 0..<20 as Range<UInt64> {
            let volume = SimulatedVolume(seed: seed)
            var options = LogStoreOptions()
            options.runsMaintenance = false
            let store = try LogStore(volume: volume, options: options)
            _ = try store.append(batch("key"))
            try store.flush()
            // Only the seal of the segment remains to be flushed.
            volume.inject(SimulatedFault(.error(.inputOutput), of: .synchronize, forEver: true))
            let errors = Mutex<[StorageError]>([])
            let close = { @Sendable in
                do throws(StorageError) { try store.close() } catch {
                    errors.withLock { $0.append(error) }
                }
            }
            let closers = try (0..<3).map { try Thread(name: "closer-\($0)", close) }
            for thread in closers { thread.join() }
            close()
            let found = errors.withLock { $0 }
            #expect(found.count == 4 && Set(found.map(\.description)).count == 1, "\(found)")
        }
    }

    @Test(arguments: [Durability.relaxed(milliseconds: 3_600_000), .full])
    func `closing reports the loss of commits with relaxed durability`(
        durability: Durability
    ) throws {
        let volume = SimulatedVolume()
        let store = try store(volume, durability)
        // The fault precedes the commit, which the store flushes at any time after it.
        volume.inject(SimulatedFault(.error(.inputOutput), of: .synchronize, forEver: true))
        let commit = try store.append(batch("key"))
        let waits = durability == .full
        let outcome = Mutex<Result<CommitID, StorageError>?>(nil)
        if waits { store.whenDurable(commit) { result in outcome.withLock { $0 = result } } }
        if waits {
            // The flush fails, and the caller receives its error.
            #expect(throws: StorageError.self) { try store.flush() }
            try store.close()
            guard case .failure = outcome.withLock({ $0 }) else {
                Issue.record("The caller received no error.")
                return
            }
        } else {
            #expect(throws: StorageError.self) { try store.close() }
        }
    }

    @Test func `closing terminates even if each commit starts another one`() throws {
        let volume = SimulatedVolume()
        let store = try store(volume)
        let last = Mutex<CommitID>(0)
        @Sendable func commitAgain() {
            guard let batch = try? batch("key"), let commit = try? store.append(batch) else {
                return
            }
            store.whenDurable(commit) { result in
                guard case .success(let commit) = result else { return }
                last.withLock { $0 = max($0, commit) }
                commitAgain()
            }
        }
        for _ in 0..<8 { commitAgain() }
        while store.snapshot().commit < 50 {}
        try store.close()
        #expect(last.withLock { $0 } == store.snapshot().commit)
        #expect(try StoreEngine(opening: volume).snapshot().commit == last.withLock { $0 })
    }

    @Test func `a second closing leaves the files and the lock of the next opening`() throws {
        let volume = SimulatedVolume(seed: 1)
        let first = try StoreEngine(opening: volume)
        _ = try first.append(batch("a"))
        try first.close()
        let second = try StoreEngine(opening: volume)
        _ = try second.append(batch("b"))
        // It replaces the closed mark of the first opening.
        try second.close()
        let third = try StoreEngine(opening: volume)
        let files = volume.snapshotFiles()
        try first.close()
        #expect(volume.snapshotFiles() == files)
        #expect(throws: StorageError.self) { try StoreEngine(opening: volume) }
        try third.close()
    }

    @Test func `a released store flushes accepted commits and reports them`() throws {
        for durability in [Durability.full, .relaxed(milliseconds: 3_600_000)] {
            for seed in 0..<20 as Range<UInt64> {
                let volume = SimulatedVolume(seed: seed)
                let reported = Mutex<[CommitID]>([])
                try {
                    let store = try store(volume, durability)
                    for number in 0..<20 {
                        let commit = try store.append(batch("\(number)"))
                        // The callback of the store would not wait for a relaxed commit.
                        store.engine.whenDurable(commit) { result in
                            reported.withLock { $0.append((try? result.get()) ?? 0) }
                        }
                        store.whenDurable(commit) { _ in }
                    }
                }()
                #expect(reported.withLock { $0.sorted() } == Array(1...20))
                let image = try StoreEngine(opening: volume.powerCut(seed: seed))
                #expect(image.snapshot().commit == 20)
            }
        }
    }

    @Test func `a callback may release the store, but not close it`() throws {
        let volume = SimulatedVolume()
        let answer = Mutex<StorageError?>(nil)
        let held = Mutex<LogStore?>(try store(volume))
        let commit = try held.withLock { $0 }?.append(batch("key"))
        try held.withLock { $0 }?.whenDurable(#require(commit)) { _ in
            var found: StorageError?
            do throws(StorageError) {
                try held.withLock { $0 }?.close()
            } catch {
                found = error
            }
            // This may be the last reference: the thread of the callback must not wait for itself.
            held.withLock { $0 = nil }
            answer.withLock { $0 = found ?? .closed }
        }
        while answer.withLock({ $0 }) == nil {}
        #expect(answer.withLock { $0 } == .closedByItself)
        // The thread of the store runs a moment longer before it releases the lock.
        var again: StoreEngine?
        while again == nil { again = try? StoreEngine(opening: volume) }
        #expect(again?.snapshot().commit == 1)
    }

    @Test func `a callback that closes while another thread closes is refused without blocking`()
        throws
    {
        for seed in 0..<50 as Range<UInt64> {
            let store = try store(SimulatedVolume(seed: seed))
            let refusals = Mutex(0)
            // Registered before any flush, so that all of them run on the thread of the store.
            for number in 0..<8 {
                store.engine.whenDurable(try store.append(batch("\(number)"))) { _ in
                    do throws(StorageError) {
                        try store.close()
                    } catch .closedByItself {
                        refusals.withLock { $0 += 1 }
                    } catch {
                        Issue.record("\(error)")
                    }
                }
            }
            if seed % 2 == 0 { store.whenDurable(8) { _ in } }
            try store.close()
            #expect(refusals.withLock { $0 } == 8)
        }
    }

    @Test func `relaxed durability accepts any interval`() async throws {
        for milliseconds in [Int.max, .max / 1_000_000, 20_000_000_000_000, -1, .min] {
            let volume = SimulatedVolume()
            let store = try store(volume, .relaxed(milliseconds: milliseconds))
            let commit = try store.append(batch("key"))
            try await store.waitForDurability(of: commit)
            try store.flush()
            #expect(store.snapshot().commit == commit)
            try store.close()
        }
    }

    @Test func `readers do not wait while a large batch is appended`() throws {
        let store = try store(SimulatedVolume())
        let large = try batch("key", 200_000)
        let isDone = Atomic(false)
        let writer = try Thread(name: "writer") {
            _ = try? store.engine.append(large)
            isDone.store(true, ordering: .releasing)
        }
        var count = 0
        while !isDone.load(ordering: .acquiring) {
            count += Int(store.snapshot().commit) + 1
        }
        writer.join()
        #expect(count > 100)
        try store.close()
    }

    @Test func `a disk that fills up after the last flush does not make closing fail`() throws {
        let volume = SimulatedVolume()
        var options = LogStoreOptions()
        options.checkpointLength = 1
        let engine = try StoreEngine(opening: volume, options: options)
        _ = try engine.append(batch("key"))
        try engine.flush()
        volume.inject(SimulatedFault(.error(.noSpace), of: .create, forEver: true))
        try engine.close()
        volume.removeFaults()
        #expect(try StoreEngine(opening: volume).snapshot().commit == 1)
    }
}
