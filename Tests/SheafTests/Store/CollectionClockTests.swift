import Sheaf
import SheafEngine
import SheafStatements
import SheafStorage
import SheafSystem
import SheafTestSupport
import Testing

/// The times at which writes begin the collection of tombstones and attachments.
@Suite struct CollectionClockTests {
    private static let start: UInt64 = 1_780_000_000_000
    private static let day: UInt64 = 86_400_000
    private let clock = FakeClock(wallMilliseconds: CollectionClockTests.start)

    private func store() async throws -> Store {
        var options = StoreOptions()
        options.storage.clock = clock.clock
        options.storage.runsMaintenance = false
        return try await Store.inMemory(options: options)
    }

    @Test(arguments: [1, 2, 7, 36_500] as [Int64])
    func `tombstones are collected once in the given number of days`(days: Int64) {
        let schedule = TombstoneCollectionClock()
        let wait = UInt64(days) * Self.day
        #expect(schedule.isDue(at: Self.start, days: days))
        for time in [0, 1, wait / 2, wait - 1] {
            #expect(!schedule.isDue(at: Self.start + time, days: days), "\(time)")
        }
        #expect(schedule.isDue(at: Self.start + wait, days: days))
        #expect(!schedule.isDue(at: Self.start + 2 * wait - 1, days: days))
        // A late collection postpones the next one.
        #expect(schedule.isDue(at: Self.start + 2 * wait + 5, days: days))
        #expect(!schedule.isDue(at: Self.start + 3 * wait + 4, days: days))
        #expect(schedule.isDue(at: Self.start + 3 * wait + 5, days: days))
    }

    @Test func `tombstones are collected at least once in 36,500 days, and at most once a day`() {
        for (days, used) in [(36_501, 36_500), (.max, 36_500), (0, 1), (.min, 1)]
            as [(Int64, UInt64)]
        {
            let schedule = TombstoneCollectionClock()
            #expect(schedule.isDue(at: Self.start, days: days))
            #expect(!schedule.isDue(at: Self.start + used * Self.day - 1, days: days), "\(days)")
            #expect(schedule.isDue(at: Self.start + used * Self.day, days: days), "\(days)")
        }
    }

    @Test func `tombstones are collected again once the clock was set back`() {
        let schedule = TombstoneCollectionClock()
        #expect(schedule.isDue(at: Self.start, days: 1))
        #expect(!schedule.isDue(at: Self.start, days: 1))
        #expect(schedule.isDue(at: Self.start - 1, days: 1))
        #expect(!schedule.isDue(at: Self.start - 1 + Self.day - 1, days: 1))
        #expect(schedule.isDue(at: Self.start - 1 + Self.day, days: 1))
        // A shorter interval begins before the longer one ends.
        #expect(schedule.isDue(at: Self.start + 2 * Self.day, days: 7))
        #expect(schedule.isDue(at: Self.start + 3 * Self.day, days: 1))
    }

    @Test(arguments: [1, 2, 600_000, 86_400_000, 31_557_600_000_000] as [UInt64])
    func `attachments are collected once in half of their grace period`(grace: UInt64) {
        let schedule = AttachmentCollectionClock()
        let wait = max(grace / 2, 1)
        #expect(schedule.isDue(at: Self.start, grace: grace))
        for time in [0, wait - 1] {
            #expect(!schedule.isDue(at: Self.start + time, grace: grace), "\(time)")
        }
        #expect(schedule.isDue(at: Self.start + wait, grace: grace))
        #expect(!schedule.isDue(at: Self.start + 2 * wait - 1, grace: grace))
        #expect(schedule.isDue(at: Self.start + 2 * wait, grace: grace))
    }

    @Test func `attachments are collected again once the clock was set back`() {
        for (time, isDue) in [(300_000, false), (300_001, true)] as [(UInt64, Bool)] {
            let schedule = AttachmentCollectionClock()
            #expect(schedule.isDue(at: Self.start, grace: 600_000))
            // The next collection is due in 300 s; no more than the grace period is waited for.
            #expect(schedule.isDue(at: Self.start - time, grace: 600_000) == isDue, "\(time)")
        }
    }

    @Test(arguments: [1, 2] as [UInt64], [0, 1] as [UInt64])
    func `a write begins the collection of tombstones when it is due`(
        days: UInt64, early: UInt64
    ) async throws {
        let store = try await store()
        // The default is a day.
        if days > 1 {
            try await store.execute(
                DQL(verbatim: "ALTER SYSTEM SET days_between_reaping = \(days)"))
        }
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
        clock.advance(milliseconds: days * Self.day - early)
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 2})")
        // A collection that has begun is not due again.
        let isStillDue = store.tombstoneClock.isDue(
            at: Self.start + days * Self.day, days: Int64(days))
        #expect(isStillDue == (early > 0))
        try await store.close()
    }

    @Test func `a write begins no collection of tombstones while it is disabled`() async throws {
        let store = try await store()
        try await store.execute("ALTER SYSTEM SET tombstone_ttl_enabled = false")
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
        let isStillDue = store.tombstoneClock.isDue(at: Self.start, days: 1)
        #expect(isStillDue)
        try await store.execute("ALTER SYSTEM SET tombstone_ttl_enabled = true")
        clock.advance(milliseconds: Self.day)
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 2})")
        let isDueAgain = store.tombstoneClock.isDue(at: Self.start + Self.day, days: 1)
        #expect(!isDueAgain)
        try await store.close()
    }

    @Test(.timeLimit(.minutes(40)))
    func `writes remove an expired tombstone without being asked to`() async throws {
        let store = try await store()
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
        clock.advance(milliseconds: 1_000)
        try await store.execute("DELETE FROM t WHERE _id = 1")
        #expect(store.queries.documents.hasTombstones)
        clock.advance(milliseconds: 168 * 3_600_000 + 1)
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 2})")
        while store.queries.documents.hasTombstones { await Task.yield() }
        try await store.close()
    }

    @Test(arguments: [600, 1] as [UInt64], [0, 1] as [UInt64])
    func `a write begins the collection of attachments when it is due`(
        grace: UInt64, early: UInt64
    ) async throws {
        let store = try await store()
        // The default is 600 s.
        if grace != 600 {
            try await store.execute(
                DQL(verbatim: "ALTER SYSTEM SET attachment_grace_seconds = \(grace)"))
        }
        _ = try await store.newAttachment(data: [1, 2, 3])
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1})")
        clock.advance(milliseconds: grace * 500 - early)
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 2})")
        let isStillDue = store.attachmentCollection.isDue(
            at: Self.start + grace * 500, grace: grace * 1_000)
        #expect(isStillDue == (early > 0))
        try await store.close()
    }

    @Test(arguments: [nil, 1, 86_400] as [Int?])
    func `two scans remove an unreferenced attachment if they are a grace period apart`(
        grace: Int?
    ) async throws {
        let store = try await store()
        if let grace {
            try await store.execute(
                DQL(verbatim: "ALTER SYSTEM SET attachment_grace_seconds = \(grace)"))
        }
        let milliseconds = UInt64(grace ?? 600) * 1_000
        _ = try await store.newAttachment(data: [1, 2, 3])
        clock.advance(milliseconds: 1)
        #expect(try await store.collectAttachments() == 0)
        clock.advance(milliseconds: milliseconds - 1)
        #expect(try await store.collectAttachments() == 0)
        clock.advance(milliseconds: 1)
        #expect(try await store.collectAttachments() == 1)
        try await store.close()
    }

    @Test(arguments: [1, 6, 7, 10, 19, 20, 21])
    func `one commit removes at most the given number of tombstones`(size: Int) async throws {
        let store = try await store()
        try await store.execute("ALTER SYSTEM SET tombstone_ttl_enabled = false")
        try await store.execute(
            DQL(verbatim: "ALTER SYSTEM SET tombstone_reap_batch_size = \(size)"))
        for number in 0..<20 {
            try await store.execute("INSERT INTO t DOCUMENTS ({'_id': \(number)})")
        }
        clock.advance(milliseconds: 1_000)
        try await store.execute("DELETE FROM t")
        clock.advance(milliseconds: 169 * 3_600_000)
        let before = store.queries.snapshot().log.commit
        #expect(try await store.collectTombstones() == 20)
        let commits = store.queries.snapshot().log.commit - before
        #expect(commits == UInt64((20 + size - 1) / size))
        try await store.close()
    }
}
