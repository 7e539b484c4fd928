import Sheaf
import SheafDocument
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// Read-only stores beside a store that writes to the same directory.
@Suite struct ReadingStoreTests {
    private static let reading = StoreOptions(isReadOnly: true)

    /// A writing store on a simulated disk, and its options for small segments.
    private func writer(_ volume: SimulatedVolume, seed: UInt64) async throws -> Store {
        var options = StoreOptions()
        options.storage = SmallStore.options(seed: seed)
        options.storage.segmentLength = 3_000
        options.storage.runsMaintenance = false
        return try await Store.open(on: volume, options: options)
    }

    private static let statements = [
        "SELECT * FROM cars ORDER BY _id", "SELECT COUNT(*) AS n FROM cars",
        "SELECT * FROM cars WHERE color = 'blue' ORDER BY _id",
        "SELECT * FROM cars WHERE miles > 20 ORDER BY miles, _id",
        "SELECT color, SUM(miles) AS sum FROM cars GROUP BY color ORDER BY color",
        "SELECT * FROM system:indexes ORDER BY _id", "SELECT name FROM system:collections",
    ]

    private func answers(of store: Store) async throws -> [String] {
        var answers: [String] = []
        for statement in Self.statements {
            answers += try await store.execute(DQL(verbatim: statement)).items.map {
                try $0.jsonString
            }
        }
        return answers
    }

    private func change(_ store: Store, _ random: inout SeededRandom) async throws {
        let (id, miles) = (random.below(30), random.below(50))
        let color = ["blue", "red", "grey"][random.below(3)]
        switch random.below(12) {
        case 0..<4:
            try await store.execute(
                """
                INSERT INTO cars DOCUMENTS ({'_id': \(id), 'color': \(color), 'miles': \(miles)}) \
                ON ID CONFLICT DO UPDATE
                """)
        case 4..<7:
            try await store.execute("UPDATE cars SET miles = \(miles) WHERE _id = \(id)")
        case 7: try await store.execute("DELETE FROM cars WHERE _id = \(id)")
        case 8: try await store.execute("EVICT FROM cars WHERE _id = \(id)")
        case 9:
            try await store.execute(
                DQL(
                    verbatim: "INSERT INTO cars DOCUMENTS ({'_id': \(id + 100), 'new\(miles)': 1}) "
                        + "ON ID CONFLICT DO NOTHING"))
        case 10:
            try await store.execute("CREATE INDEX IF NOT EXISTS byColor ON cars (color)")
            try await store.execute("CREATE INDEX IF NOT EXISTS byMiles ON cars (miles)")
        default: try await store.execute("DROP INDEX IF EXISTS byColor ON cars")
        }
        guard random.chance(1, in: 6) else { return }
        let engine = try store.log.engine
        if random.chance(1, in: 2) { engine.compactEverything() }
        while try engine.compactionStep(budget: 2_000) {}
        if random.chance(1, in: 2) { try engine.writeCheckpoint() }
    }

    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func `a refreshed reader answers like the writer`(seed: UInt64) async throws {
        print("a refreshed reader answers like the writer: seed \(seed)")
        var random = SeededRandom(seed: seed, "readers")
        let volume = SimulatedVolume(seed: seed)
        let store = try await writer(volume, seed: seed)
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 0, 'color': 'red'})")
        let reader = try await Store.open(on: volume, options: Self.reading)
        let lazy = try await Store.open(on: volume, options: Self.reading)
        var seen = try await answers(of: lazy)
        for step in 0..<120 {
            try await change(store, &random)
            #expect(try await answers(of: lazy) == seen, "seed \(seed), step \(step)")
            guard random.chance(1, in: 2) else { continue }
            let commit = try await reader.refresh()
            #expect(try await commit == store.refresh())
            let expected = try await answers(of: store)
            #expect(try await answers(of: reader) == expected, "seed \(seed), step \(step)")
            #expect(reader.queries.source.indexFailure == nil)
            guard random.chance(1, in: 12) else { continue }
            try await lazy.refresh()
            seen = try await answers(of: lazy)
            #expect(seen == expected, "seed \(seed), step \(step)")
        }
        for store in [reader, lazy, store] { try await store.close() }
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func `observers of a reader see the last result of the writer`(seed: UInt64) async throws {
        print("observers of a reader see the last result of the writer: seed \(seed)")
        var random = SeededRandom(seed: seed, "observed")
        let directory = TemporaryDirectory()
        var options = StoreOptions()
        options.storage = SmallStore.options(seed: seed)
        options.storage.segmentLength = 3_000
        let store = try await Store.open(at: directory.path("store"), options: options)
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 0, 'color': 'red'})")
        let reader = try await Store.open(at: directory.path("store"), options: Self.reading)
        for _ in 0..<60 { try await change(store, &random) }
        try await store.execute("INSERT INTO done DOCUMENTS ({'_id': 1})")
        // Whatever the observers have seen in between, they end with the newest result.
        for statement in Self.statements.prefix(5) {
            let expected = try await store.execute(DQL(verbatim: statement)).items.map {
                try $0.jsonString
            }
            for try await result in try reader.observe(DQL(verbatim: statement)) {
                if try result.items.map({ try $0.jsonString }) == expected { break }
            }
        }
        for try await result in try reader.observe("SELECT * FROM done") where !result.items.isEmpty
        { break }
        try await reader.close()
        try await store.close()
    }

    @Test func `an observer learns of each commit of another opening`() async throws {
        let directory = TemporaryDirectory()
        let store = try await Store.open(at: directory.path("store"))
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 0})")
        let reader = try await Store.open(at: directory.path("store"), options: Self.reading)
        var count = 1
        for try await result in try reader.observe("SELECT * FROM cars") {
            #expect(result.items.count == count)
            guard count < 20 else { break }
            try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': \(count)})")
            count += 1
        }
        try await reader.close()
        try await store.close()
    }

    @Test func `a reader sees a commit as soon as it is acknowledged`() async throws {
        let directory = TemporaryDirectory()
        let store = try await Store.open(at: directory.path("store"))
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 0})")
        let reader = try await Store.open(at: directory.path("store"), options: Self.reading)
        for number in 1...50 {
            let result = try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': \(number)})")
            #expect(try await reader.refresh() == result.commitID)
            #expect(try await reader.execute("SELECT * FROM cars").items.count == number + 1)
        }
        try await reader.close()
        try await store.close()
    }

    @Test func `a reader survives the end of the writer and follows the next one`() async throws {
        let directory = TemporaryDirectory()
        let path = directory.path("store")
        var store = try await Store.open(at: path)
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 0})")
        let reader = try await Store.open(at: path, options: Self.reading)
        for number in 1...5 {
            try await store.close()
            #expect(try await reader.execute("SELECT * FROM cars").items.count == number)
            store = try await Store.open(at: path)
            try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': \(number)})")
            try await reader.refresh()
            #expect(try await reader.execute("SELECT * FROM cars").items.count == number + 1)
        }
        try await reader.close()
        try await store.close()
    }

    @Test func `a refresh of a writing store returns its commit, and of a closed one fails`()
        async throws
    {
        let store = try await Store.inMemory()
        let result = try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 0})")
        #expect(try await store.refresh() == result.commitID)
        try await store.close()
        await #expect(throws: StoreError.self) { try await store.refresh() }
    }

    @Test func `without the mark, a reader still sees all commits`() async throws {
        let directory = TemporaryDirectory()
        let path = directory.path("store")
        let store = try await Store.open(at: path)
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 0})")
        let volume = try PosixVolume(path: path, creatingDirectory: false)
        try volume.remove("SYNCED")
        let reader = try await Store.open(at: path, options: Self.reading)
        for number in 1...5 {
            #expect(try await reader.execute("SELECT * FROM cars").items.count == number)
            try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': \(number)})")
            try await reader.refresh()
        }
        #expect(try await reader.execute("SELECT * FROM cars").items.count == 6)
        try await reader.close()
        try await store.close()
    }

    @Test func `a reader reads attachments that were added after it was opened`() async throws {
        let directory = TemporaryDirectory()
        let path = directory.path("store")
        let store = try await Store.open(at: path)
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 0})")
        let reader = try await Store.open(at: path, options: Self.reading)
        let bytes = Array("a photo".utf8)
        let photo = try await store.newAttachment(data: bytes)
        try await store.execute(
            "UPDATE COLLECTION cars (photo ATTACHMENT) SET photo = \(photo.token.value)")
        try await reader.refresh()
        let value = try await reader.execute("SELECT photo FROM cars").items[0]["photo"]
        let token = try AttachmentToken(try #require(value))
        let attachment = try #require(try await reader.attachment(token))
        #expect(try await attachment.data() == bytes)
        try await reader.close()
        try await store.close()
    }
}
