import Sheaf
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

/// Documents that are damaged between a commit and its dispatch to observers.
struct DispatchDamageTests {
    private let store: DispatchedStore

    init() throws {
        store = try DispatchedStore()
    }

    /// Overwrites the last occurrence of a text with invalid bytes; returns the file name.
    private func damage(_ text: String) throws -> String {
        let text = Array(text.utf8)
        let name = FileName.name(ofSegment: 1)
        let bytes = try #require(store.volume.snapshotFiles()[name])
        let offset = try #require(
            bytes.indices.dropLast(text.count).last {
                bytes[$0] == text[0] && bytes[$0...].starts(with: text)
            })
        let wound = Array(repeating: UInt8(0xFF), count: text.count)
        store.volume.corrupt(name, .overwrite(at: offset, with: wound))
        return name
    }

    private static let watching: [DQL] = [
        "SELECT * FROM t", "SELECT * FROM t WHERE _id = 1", "SELECT * FROM t WHERE n = 1",
        "SELECT * FROM t WHERE n > 0 ORDER BY n LIMIT 3", "SELECT COUNT(*) AS n FROM t WHERE n = 1",
        "SELECT DISTINCT color FROM t",
    ]

    @Test func `an observer of an unreadable document gets an error`() throws {
        for query in Self.watching {
            let test = try DispatchDamageTests()
            try test.store.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'n': 1, 'color': 'red'})")
            var schedule = ObserverSchedule(test.store.queries)
            let first = schedule.dispatch(adding: [try test.store.newObserver(query)])
            #expect(first.count == 1)
            try test.store.execute("UPDATE t SET color = 'needle' WHERE _id = 1")
            let name = try test.damage("needle")
            let deliveries = schedule.dispatch()
            #expect(deliveries.count == 1, "\(query.text)")
            let error = #expect(throws: StoreError.self, "\(query.text)") {
                try deliveries.first?.outcome.get()
            }
            #expect(error?.reason == .damaged && error?.message.contains("\(name):") == true)
        }
    }

    @Test func `an affected observer is found even if the old document is damaged`() throws {
        try store.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'color': 'needle'})")
        var schedule = ObserverSchedule(store.queries)
        let query: DQL = "SELECT * FROM t WHERE color = 'needle'"
        let first = schedule.dispatch(adding: [try store.newObserver(query)])
        #expect(try first.first?.outcome.get().items.count == 1)
        try store.execute("UPDATE t SET color = 'blue' WHERE _id = 1")
        _ = try damage("needle")
        let second = schedule.dispatch()
        #expect(second.count == 1)
        #expect(try second.first?.outcome.get().items.count == 0)
    }
}
