import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// Tests of the work that the maintenance thread does while a store is open.
@Suite struct MaintenanceThreadTests {
    private let volume = SimulatedVolume(seed: 25)

    /// Opens a store with three commits in each segment, in which no other work is due.
    private func open(_ change: (inout LogStoreOptions) -> Void = { _ in }) throws -> LogStore {
        var options = SmallStore.options(seed: 25)
        options.segmentLength = 4_096
        options.history = HistoryHorizon(commits: .max, bytes: .max)
        options.freeGarbage = 1 << 40
        change(&options)
        return try LogStore(volume: volume, options: options)
    }

    /// Commits puts of one key, each with a record of 1,088 bytes.
    private func put(_ count: Int, to store: LogStore) throws {
        for number in 1...count {
            var batch = WriteBatch()
            try batch.put([1], [UInt8](repeating: UInt8(number), count: 1_000))
            _ = try store.append(batch)
            try store.flush()
        }
    }

    private func size(of name: String) -> Int? {
        volume.snapshotFiles()[name]?.count
    }

    private func wait(until condition: () throws -> Bool) async throws {
        let end = Clock.testDeadline()
        while try !condition() {
            try #require(Clock.system.monotonicNanoseconds() < end)
            await Task.yield()
        }
    }

    @Test func `the next segment is prepared once one is in use`() async throws {
        let store = try open()
        try put(1, to: store)
        try await wait { size(of: "0000000002.log") == 4_096 }
        try put(3, to: store)
        try await wait { size(of: "0000000003.log") == 4_096 }
        #expect(store.engine.begunSegment == 2)
        try store.close()
        #expect(size(of: "0000000003.log") == nil)
    }

    @Test func `the unused end of a sealed segment is truncated`() async throws {
        let store = try open()
        try put(4, to: store)
        // The header, three records and the footer.
        try await wait { size(of: "0000000001.log") == 128 + 3 * 1_088 + 88 }
        try store.close()
    }

    @Test func `a checkpoint is written when it is due`() async throws {
        let store = try open { $0.checkpointLength = 3 * 1_088 }
        try put(4, to: store)
        try await wait { try volume.names().contains { $0.hasSuffix(".checkpoint") } }
        try store.close()
    }

    @Test func `excessive garbage delays writers, and is compacted if it may be`() async throws {
        // All of the history is kept.
        let first = try open { $0.freeGarbage = 0 }
        try put(7, to: first)
        try await wait { first.engine.writerDelay == 1 }
        #expect(first.snapshot().segments.files.map(\.header.kind) == [.log, .log, .log])
        try first.close()
        let store = try open { options in
            options.freeGarbage = 0
            options.history = HistoryHorizon(commits: 0, bytes: .max)
        }
        try put(1, to: store)
        try await wait { store.snapshot().segments.files.first?.header.kind == .base }
        try store.close()
    }

    @Test func `a store without the thread does none of its work`() throws {
        let store = try open { options in
            options.runsMaintenance = false
            options.checkpointLength = 1_088
            options.freeGarbage = 0
            options.history = HistoryHorizon(commits: 0, bytes: .max)
        }
        try put(7, to: store)
        #expect(store.engine.writerDelay == 0)
        let names = (1...3).map { FileName.name(ofSegment: $0) }
        #expect(try volume.names().filter { $0 != FileName.syncedName }.sorted() == names)
        #expect(size(of: names[0]) == 4_096)
        try store.close()
    }
}
