import DittoNames
import Foundation
import SheafTestSupport
import Testing

struct LiveQueryTests {
    private let ditto: Ditto
    private let printed = PrintedLines()

    init() async throws {
        ditto = try await Ditto.inMemory()
    }

    private var cars: DittoCollection { ditto.store.collection("cars") }

    private func text(_ event: DittoLiveQueryEvent) -> String {
        switch event {
        case .initial: "initial"
        case .update(let update):
            "+\(update.insertions) -\(update.deletions) ~\(update.updates) "
                + "\(update.moves.map { "\($0.from)>\($0.to)" }) "
                + "of \(update.oldDocuments.map(\.id.stringValue))"
        }
    }

    @Test func `a live query reports its initial result and each change`() async throws {
        try cars.upsert(["_id": "a", "color": "red"])
        let lines = printed
        let liveQuery = cars.find("color == 'red'").sort("_id", direction: .ascending)
            .observeLocal { cars, event in
                lines.add("\(cars.map(\.id.stringValue)) \(text(event))")
            }
        #expect(await printed.next(1) == [#"["a"] initial"#])
        try cars.upsert(["model": "Ford", "color": "black"] as [String: Any?])
        try cars.upsert(["_id": "b", "color": "red"])
        #expect(await printed.next(1) == [#"["a", "b"] +[1] -[] ~[] [] of ["a"]"#])
        try cars.upsert(["_id": "b", "doors": 4])
        #expect(await printed.next(1) == [#"["a", "b"] +[] -[] ~[1] [] of ["a", "b"]"#])
        cars.findByID("a").remove()
        #expect(await printed.next(1) == [#"["b"] +[] -[0] ~[] [] of ["a", "b"]"#])
        liveQuery.stop()
        #expect(liveQuery.isStopped)
        try cars.upsert(["_id": "c", "color": "red"])
        try await ditto.close()
        #expect(printed.all.count == 4)
    }

    @Test func `moves are reported if the query has an order`() async throws {
        for (id, rank) in [("a", 1), ("b", 2), ("c", 3)] {
            try cars.upsert(["_id": id, "place": rank])
        }
        let lines = printed
        let liveQuery = cars.findAll().sort("place", direction: .ascending)
            .observeLocal(deliverOn: DispatchQueue(label: "moves")) { cars, event in
                lines.add("\(cars.map(\.id.stringValue)) \(text(event))")
            }
        _ = await printed.next(1)
        try cars.upsert(["_id": "a", "place": 9])
        #expect(
            await printed.next(1)
                == [#"["b", "c", "a"] +[] -[] ~[2] ["0>2"] of ["a", "b", "c"]"#])
        liveQuery.stop()
        try await ditto.close()
    }

    @Test func `a live query of one document reports its changes and removal`() async throws {
        let lines = printed
        let liveQuery = cars.findByID("a").observeLocal { car, event in
            lines.add(
                "\(car?["color"].string ?? "none") \(event.isInitial) "
                    + "\(event.oldDocument?["color"].string ?? "none")")
        }
        #expect(await printed.next(1) == ["none true none"])
        try cars.upsert(["_id": "a", "color": "red"])
        #expect(await printed.next(1) == ["red false none"])
        try cars.upsert(["_id": "a", "color": "blue"])
        #expect(await printed.next(1) == ["blue false red"])
        cars.findByID("a").remove()
        #expect(await printed.next(1) == ["none false blue"])
        liveQuery.stop()
        try await ditto.close()
    }

    @Test func `a deallocated live query reports nothing more`() async throws {
        let lines = printed
        var liveQuery: DittoLiveQuery? = cars.findAll().observeLocal { cars, _ in
            lines.add("\(cars.count)")
        }
        #expect(await printed.next(1) == ["0"])
        #expect(liveQuery?.isStopped == false)
        liveQuery = nil
        try cars.upsert(["_id": 1])
        let other = cars.findAll().observeLocal { cars, _ in lines.add("other \(cars.count)") }
        #expect(await printed.next(1) == ["other 1"])
        other.stop()
        try await ditto.close()
    }

    @Test func `a live query reports the next event only after its signal`()
        async throws
    {
        let lines = printed
        let (signals, continuation) = AsyncStream<DittoSignalNext>.makeStream()
        let liveQuery = cars.findAll().observeLocalWithNextSignal { cars, event, signalNext in
            lines.add("\(cars.count) \(text(event))")
            continuation.yield(signalNext)
        }
        var iterator = signals.makeAsyncIterator()
        #expect(await printed.next(1) == ["0 initial"])
        let first = try #require(await iterator.next())
        try await ditto.store.execute(
            query: "INSERT INTO cars DOCUMENTS ({ _id: 'a' }), ({ _id: 'b' }), ({ _id: 'c' })")
        #expect(printed.all.count == 1)
        first()
        #expect(await printed.next(1) == ["3 +[0, 1, 2] -[] ~[] [] of []"])
        liveQuery.stop()
        try await ditto.close()
    }

    @Test func `an invalid condition is reported, and observes nothing`() async throws {
        let problems = PrintedLines()
        ditto.store.onUnthrownError = { problems.add("\($0)") }
        let liveQuery = cars.find("color = 'red'").observeLocal { _, _ in }
        #expect(liveQuery.isStopped)
        #expect(problems.all.count == 1 && problems.all[0].hasPrefix("unexpected ="))
        let observer = ditto.store.registerObserver(query: "SELEC * FROM cars") { _ in }
        #expect(observer.isCancelled && ditto.store.observers.isEmpty)
        #expect(observer.error.map { "\($0)" } == problems.all.last)
        #expect(problems.all.count == 2)
        try await ditto.close()
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `an event applied to the old documents yields the new ones`(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed, "live query")
        let lines = printed
        var shown: [String] = []
        let liveQuery = cars.find("place < 6").sort("place", direction: .ascending)
            .sort("_id", direction: .ascending)
            .observeLocal(deliverOn: DispatchQueue(label: "events")) { documents, event in
                let found = documents.map { "\($0.id) \($0["place"].intValue)" }
                if case .update(let update) = event {
                    #expect(update.oldDocuments.count == shown.count, "seed \(seed)")
                    shown = Self.applying(update, to: shown, found)
                } else {
                    shown = found
                }
                #expect(shown == found, "seed \(seed)")
                if documents.contains(where: { $0.id == "last" }) { lines.add("last") }
            }
        for _ in 0..<60 {
            let id = random.below(12)
            if random.chance(1, in: 4) {
                cars.findByID(id).remove()
            } else {
                try cars.upsert(["_id": id, "place": random.below(9)])
            }
        }
        try cars.upsert(["_id": "last", "place": 5])
        #expect(await printed.next(1) == ["last"])
        liveQuery.stop()
        try await ditto.close()
    }

    private static func applying(
        _ update: DittoLiveQueryUpdate, to shown: [String], _ found: [String]
    ) -> [String] {
        var rows = [String?](repeating: nil, count: found.count)
        for move in update.moves { rows[move.to] = shown[move.from] }
        for index in update.insertions { rows[index] = found[index] }
        let gone = Set(update.deletions + update.moves.map(\.from))
        var rest = shown.indices.filter { !gone.contains($0) }.map { shown[$0] }[...]
        for index in rows.indices where rows[index] == nil { rows[index] = rest.popFirst() }
        for index in update.updates { rows[index] = found[index] }
        return rows.compactMap { $0 }
    }
}
