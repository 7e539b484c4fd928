import Sheaf
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// The earlier states that a store keeps, by `StoreOptions.history`.
@Suite struct KeptHistoryTests {
    private let volume = SimulatedVolume(seed: 5)
    private let clock = FakeClock()

    private func open(_ history: StoreOptions.History) async throws -> Store {
        var options = StoreOptions()
        options.storage = SmallStore.options(seed: 5)
        options.storage.segmentLength = 900
        options.storage.runsMaintenance = false
        options.storage.clock = clock.clock
        options.history = history
        return try await Store.open(on: volume, options: options)
    }

    private func compact(_ store: Store) throws {
        let engine = try store.log.engine
        engine.compactEverything()
        while try engine.compactionStep() {}
    }

    /// Commits values of a document, a second apart; returns the first commit.
    private func fill(_ store: Store, _ count: Int = 60) async throws -> UInt64 {
        for n in 0..<count {
            clock.advance(milliseconds: 1_000)
            try await store.execute(
                "INSERT INTO cars DOCUMENTS ({'_id': 1, 'n': \(n)}) ON ID CONFLICT DO UPDATE")
        }
        return store.queries.snapshot().log.commit - UInt64(count) + 1
    }

    private func oldest(_ store: Store) async throws -> UInt64 {
        let rows = try await store.execute(
            "SELECT value FROM system:health WHERE name = 'oldest_state'")
        guard case .integer(let number)? = try rows.items.first?.value["value"] else { return 0 }
        return UInt64(number)
    }

    /// Checks that exactly the states from the oldest one on are readable.
    private func check(_ store: Store, from first: UInt64) async throws {
        let oldest = try await oldest(store)
        let newest = store.queries.snapshot().log.commit
        for commit in first...newest {
            for condition in ["", " WHERE _id = 1"] {
                let text = "SELECT * FROM cars AS OF COMMIT \(commit)" + condition
                guard commit < oldest else {
                    let rows = try await store.execute(DQL(verbatim: text))
                    #expect(
                        try rows.items.map { try $0.jsonString }
                            == [#"{"_id":1,"n":\#(commit - first)}"#])
                    continue
                }
                let error = try await #require(throws: StoreError.self) {
                    try await store.execute(DQL(verbatim: text))
                }
                #expect(error.reason == .argument)
                #expect(
                    error.message.hasPrefix(
                        "the log does not have the state of commit \(commit) any more: it reaches "
                            + "back to commit \(oldest)"), "\(error.message)")
                #expect(
                    error.hint == "compaction keeps more states in a store that is opened with a "
                        + "greater StoreOptions.history, or compacted by "
                        + "'sheaf compact --keep-commits N'")
            }
        }
    }

    @Test(arguments: [0, 1, 7, 30, 1_000] as [UInt64])
    func `compaction keeps the given number of commits`(commits: UInt64) async throws {
        let store = try await open(StoreOptions.History(commits: commits))
        let first = try await fill(store)
        try await check(store, from: first)
        #expect(try await oldest(store) == 0)
        try compact(store)
        let newest = store.queries.snapshot().log.commit
        #expect(try await oldest(store) + commits <= max(newest, commits))
        // Whole segments are compacted, of fewer than ten commits each.
        #expect(try await oldest(store) + commits + 10 > newest)
        try await check(store, from: first)
        try await store.close()
        let reopened = try await open(StoreOptions.History(commits: commits))
        try await check(reopened, from: first)
        try await reopened.close()
    }

    @Test func `compaction keeps the given number of bytes`() async throws {
        for bytes in [-1, 0, 2_500, 1 << 30] {
            let store = try await open(StoreOptions.History(bytes: bytes))
            let first = try await fill(store)
            try compact(store)
            let oldest = try await oldest(store)
            let newest = store.queries.snapshot().log.commit
            switch bytes {
            case 2_500:
                let files = store.queries.snapshot().log.segments.files
                let logs = files.filter { $0.header.kind == .log }
                let kept = logs.reduce(0) { $0 + $1.content.count }
                #expect(kept >= 2_500 && kept < 2_500 + 2 * 1_000 && oldest < newest)
            case 1 << 30: #expect(oldest < first)
            default: #expect(oldest + 10 > newest)
            }
            try await check(store, from: first)
            try await store.close()
        }
    }

    @Test func `compaction keeps commits up to an age`() async throws {
        for (age, kept) in [(Duration.seconds(15), 15), (.seconds(1_000), 60), (.zero, 0)] {
            let store = try await open(StoreOptions.History(age: age))
            let first = try await fill(store)
            try compact(store)
            let (oldest, newest) = (try await oldest(store), store.queries.snapshot().log.commit)
            if kept == 60 {
                #expect(oldest < first)
            } else {
                #expect(oldest + UInt64(kept) <= newest)
                #expect(oldest + UInt64(kept) + 10 > newest)
            }
            try await check(store, from: first)
            try await store.close()
        }
    }

    @Test func `by default 10,000 commits in 2 MiB of log are kept`() async throws {
        #expect(StoreOptions.History() == StoreOptions.History(commits: 10_000, bytes: 2 << 20))
        #expect(StoreOptions().history == StoreOptions.History())
        #expect(HistoryHorizon() == HistoryHorizon(commits: 10_000, bytes: 2 << 20))
    }
}
