// The samples keep the formatting of the reference documentation.
// swift-format-ignore-file

import DittoNames
import Foundation
import SheafTestSupport
import Testing

/// Samples from the reference documentation about observers and diffs.
struct ObserverSampleTests {
    private let ditto: Ditto
    private let printed = PrintedLines()

    init() async throws {
        ditto = try await Ditto.inMemory()
    }

    private func print(_ item: Any) { printed.add("\(item)") }

    private func insert(_ id: String, _ color: String) async throws {
        try await ditto.store.execute(
            query: "INSERT INTO cars DOCUMENTS (:car) ON ID CONFLICT DO MERGE",
            arguments: ["car": ["_id": id, "color": color]])
    }

    @Test func `an observer receives results until it is canceled`() async throws {
        try await insert("a", "blue")

        let observer = ditto.store.registerObserver(
          query: "SELECT * FROM cars WHERE color = :color",
          arguments: [ "color": "blue" ]){ result in print(result.items.map { $0.jsonString() }) };

        #expect(await printed.next(1) == [#"["{\"_id\":\"a\",\"color\":\"blue\"}"]"#])
        #expect(observer.queryArguments["color"] as? String == "blue")
        try await insert("b", "red")
        try await insert("a", "red")
        #expect(await printed.next(1) == ["[]"])

        observer.cancel()

        #expect(observer.isCancelled)
        try await insert("c", "blue")
        try await ditto.close()
        #expect(printed.all.count == 2)
    }

    @Test func `a store lists its observers`() async throws {
        func observers() -> Set<DittoStoreObserver> {
            ditto.store.observers
        }

        #expect(observers().isEmpty)
        let first = ditto.store.registerObserver(query: "SELECT * FROM cars") { _ in }
        let second = ditto.store.registerObserver(query: "SELECT * FROM trucks") { _ in }
        #expect(observers() == [first, second])
        first.cancel()
        #expect(observers() == [second])
        #expect(second.queryString == "SELECT * FROM trucks")
        try await ditto.close()
    }

    @Test func `a differ reports insertions, deletions and updates`() async throws {
        try await insert("a", "blue")
        try await insert("b", "blue")

        let differ = DittoDiffer()
        var previousDocumentIds: [String] = [] // Store only extracted IDs

        let observer = ditto.store.registerObserver(
          query: "SELECT * FROM cars") { queryResult in
            let diff = differ.diff(queryResult.items)

            // Extract current document IDs and dematerialize items
            let currentDocumentIds = queryResult.items.map { item in
                let id = item.value["_id"] as? String ?? "unknown"
                item.dematerialize() // Release memory after extracting data
                return id
            }

            // Handle deletions using stored IDs from previous emission
            for index in diff.deletions {
                let deletedId = previousDocumentIds[index]
                print("Deleted car with ID: \(deletedId)")
            }

            // Handle insertions using current IDs
            for index in diff.insertions {
                let insertedId = currentDocumentIds[index]
                print("Inserted car with ID: \(insertedId)")
            }

            // Handle updates using current IDs
            for index in diff.updates {
                let updatedId = currentDocumentIds[index]
                print("Updated car with ID: \(updatedId)")
            }

            // Store only the document IDs for next callback - no live references!
            previousDocumentIds = currentDocumentIds
        }

        #expect(
            await Set(printed.next(2))
                == ["Inserted car with ID: a", "Inserted car with ID: b"])
        try await ditto.store.transaction { transaction in
            try await transaction.execute(query: "DELETE FROM cars WHERE _id = 'a'")
            try await transaction.execute(query: "UPDATE cars SET color = 'red' WHERE _id = 'b'")
            try await transaction.execute(query: "INSERT INTO cars DOCUMENTS ({ _id: 'c' })")
            return .commit
        }
        #expect(
            await printed.next(3) == [
                "Deleted car with ID: a", "Inserted car with ID: c", "Updated car with ID: b",
            ])
        observer.cancel()
        try await ditto.close()
    }

    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `batch updates turn a list view into the new result`(seed: UInt64) async throws {
        var random = SeededRandom(seed: seed, "list view")
        let tableView = ListView()

        let collectionView = tableView
        let differ = DittoDiffer()
        ditto.store.registerObserver("SELECT * FROM cars ORDER BY place, _id") { queryResult in

            collectionView.source = queryResult.items.map { $0.jsonString() }
            collectionView.moves = BatchMoves(of: queryResult.items, collectionView.differ)

            let diff = differ.diff(queryResult.items)
            tableView.performBatchUpdates({
                let insertions = diff.insertions.map { IndexPath(item: $0, section: 0) }
                let deletions = diff.deletions.map { IndexPath(item: $0, section: 0) }
                let reloads = diff.updates.map { IndexPath(item: $0, section: 0) }

                collectionView.insertItems(at: insertions)
                collectionView.deleteItems(at: deletions)
                collectionView.reloadItems(at: reloads)

                collectionView.moves.map { move in
                    let (from, to) = move
                    collectionView.move(at: from, to: to)
                }
            }, completion: nil)

            #expect(collectionView.shown == collectionView.source, "seed \(seed)")
            if collectionView.shown.contains(where: { $0.contains("\"last\"") }) { print("last") }
        }

        for _ in 0..<30 {
            try await ditto.store.transaction { transaction in
                for _ in 0...random.below(6) {
                    let id = random.below(20)
                    if random.chance(1, in: 4) {
                        try await transaction.execute(
                            query: "DELETE FROM cars WHERE _id = :id", arguments: ["id": id])
                    } else {
                        try await transaction.execute(
                            query: "INSERT INTO cars DOCUMENTS (:car) ON ID CONFLICT DO UPDATE",
                            arguments: ["car": ["_id": id, "place": random.below(8)]])
                    }
                }
                return .commit
            }
        }
        try await ditto.store.execute(query: "INSERT INTO cars DOCUMENTS ({ _id: 'last' })")
        #expect(await printed.next(1) == ["last"])
        let now = try await ditto.store.execute(query: "SELECT * FROM cars ORDER BY place, _id")
        #expect(tableView.shown == now.items.map { $0.jsonString() }, "seed \(seed)")
        #expect(tableView.batchCount > 1, "seed \(seed)")
        try await ditto.close()
    }
}
