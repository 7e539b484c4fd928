// The samples keep the formatting of the reference documentation.
// swift-format-ignore-file

import DittoNames
import Foundation
import Testing

/// Samples from the reference documentation for the older calls, without peers.
struct LegacySampleTests {
    private let ditto: Ditto
    private let printed = PrintedLines()

    init() async throws {
        ditto = try await Ditto.inMemory()
    }

    @Test func `a car is inserted and observed`() async throws {
        // --- Action somewhere in your application
        func userDidInsertCar() {
            _ = try? ditto.store.collection("cars").upsert([
                "model": "Ford",
                "color": "black"
            ] as [String: Any?])
        }
        var liveQueries = [DittoLiveQuery]()
        // Register live query to update UI
        let liveQuery = ditto.store.collection("cars").find("color == 'black'")
            .observeLocal { cars, event in
                // do something
                printed.add(cars.map { $0["model"].stringValue }.joined(separator: ", "))
            }
        liveQueries.append(liveQuery)

        #expect(await printed.next(1) == [""])
        userDidInsertCar()
        #expect(await printed.next(1) == ["Ford"])
        for query in liveQueries { query.stop() }
        liveQueries.removeAll()
        try await ditto.close()
    }

    @Test func `documents that are no longer needed are evicted`() throws {
        let collection = ditto.store.collection("cars")
        for owner in ["Bob", "Eve"] { try collection.upsert(["owner": owner, "isDeleted": owner == "Eve"]) }

        collection.find("owner == 'Bob'").evict()
        #expect(collection.findAll().exec().map { $0["owner"].stringValue } == ["Eve"])

        // evicting old data once a week
        collection.find("isDeleted == true").evict()
        #expect(collection.findAll().exec().isEmpty)
    }

    @Test func `flights up to yesterday are evicted`() throws {
        func yesterday() -> String { "2022-09-17T20:00:46.945Z" }
        for day in ["16", "17", "18"] {
            try ditto.store["flights"].upsert(["_id": day, "createdAt": "2022-09-\(day)T20:00:46.945Z"])
        }

        // 2. Evict irrelevant
        ditto.store.collection("flights").find("createdAt <= $args.yesterday", args: [
          "yesterday": yesterday(),
        ]).evict()

        #expect(ditto.store["flights"].findAll().exec().map(\.id) == ["18"])
        let kept = ditto.store.collection("flights").find("createdAt > '2022-05-22T22:24:24.217Z' && isSafeToEvict == false")
        #expect(kept.exec().isEmpty)
    }

    @Test func `completed orders are evicted`() throws {
        let orders = ditto.store.collection("orders")
        try orders.upsert(["_id": 1, "status": "OPEN"])
        try orders.upsert(["_id": 2, "status": "OPEN"])
        #expect(orders.find("status != 'COMPLETE'").exec().count == 2)

        let id = 1
        try ditto.store.collection("orders").upsert([
          "_id": id,
          "status": "COMPLETE"
        ])
        ditto.store.collection("orders").find("status == 'COMPLETE'").evict()

        #expect(orders.findAll().exec().map(\.id) == [2])
    }
}
