import DittoNames
import Foundation
import Sheaf
import Testing

/// Default field types of the reference system: REGISTER unless a MAP is declared.
struct DataTypeTests {
    /// Opens two connected databases that sync the sample car of the reference documentation.
    private func pair(_ mesh: DittoMesh) async throws -> (Ditto, Ditto) {
        let (left, right) = (try await mesh.ditto("left"), try await mesh.ditto("right"))
        for ditto in [left, right] {
            try await ditto.store.execute(query: "ALTER SYSTEM SET DQL_STRICT_MODE = true")
            try ditto.sync.registerSubscription(query: "SELECT * FROM cars")
            try ditto.startSync()
        }
        try await left.store.execute(
            query: "INSERT INTO COLLECTION cars (features MAP) DOCUMENTS (:car)",
            arguments: ["car": car])
        await right.documents(of: "SELECT * FROM cars WHERE location IS NOT MISSING", are: ["a"])
        return (left, right)
    }

    private var car: [String: Any] {
        [
            "_id": "a",
            "location": [
                "coordinates": [-122.0308, 37.3318],
                "address": "123 Main St, San Francisco, CA 94105",
            ] as [String: Any],
            "features": ["trim": "Standard", "speakers": 5] as [String: Any],
        ]
    }

    private func json(_ ditto: Ditto, _ query: String) async throws -> [String] {
        try await ditto.store.execute(query: query).items.map { $0.jsonString() }
    }

    @Test func `an embedded object is replaced, and a declared map merges`() async throws {
        let ditto = try await Ditto.inMemory()
        let insert = "INSERT INTO COLLECTION cars (features MAP) DOCUMENTS (:car)"
        try await ditto.store.execute(query: insert, arguments: ["car": car])
        let change: [String: Any] = [
            "_id": "a", "location": ["address": "1 Loop"], "features": ["trim": "Sport"],
        ]
        try await ditto.store.execute(
            query: insert + " ON ID CONFLICT DO MERGE", arguments: ["car": change])
        #expect(
            try await json(ditto, "SELECT * FROM COLLECTION cars (features MAP)") == [
                #"{"_id":"a","features":{"speakers":5,"trim":"Sport"},"location":{"address":"1 Loop"}}"#
            ])
        #expect(
            try await json(ditto, "SELECT * FROM COLLECTION cars WHERE features.trim = 'Sport'")
                == [])
        #expect(
            try await json(
                ditto,
                "SELECT _id FROM COLLECTION cars (features MAP) WHERE features.trim = 'Sport'")
                == [#"{"_id":"a"}"#])
        await #expect(throws: DittoError.self) {
            try await ditto.store.execute(query: "UPDATE cars SET location.address = 'x'")
        }
        try await ditto.close()
    }

    @Test func `concurrent changes merge in a map, and do not in a register`() async throws {
        let mesh = DittoMesh()
        let (left, right) = try await pair(mesh)
        for ditto in [left, right] { ditto.stopSync() }
        try await left.store.execute(
            query:
                "UPDATE COLLECTION cars (features MAP) SET features.trim = 'Sport', location = :l",
            arguments: ["l": ["coordinates": [1, 2], "address": "left"] as [String: Any]])
        try await right.store.execute(
            query: "UPDATE COLLECTION cars (features MAP) SET features.speakers = 6, location = :l",
            arguments: ["l": ["coordinates": [3, 4], "address": "right"] as [String: Any]])
        for ditto in [left, right] { try ditto.startSync() }
        var shown: Set<[String]> = []
        for ditto in [left, right] {
            await ditto.documents(
                of: "SELECT * FROM COLLECTION cars (features MAP) "
                    + "WHERE features.trim = 'Sport' AND features.speakers = 6",
                are: ["a"])
            shown.insert(try await json(ditto, "SELECT location FROM cars"))
        }
        // The writes are concurrent; with equal timestamps, counter and site decide.
        let written = [
            [#"{"location":{"address":"left","coordinates":[1,2]}}"#],
            [#"{"location":{"address":"right","coordinates":[3,4]}}"#],
        ]
        #expect(shown.count == 1 && shown.isSubset(of: written), "\(shown)")
        try await mesh.close()
    }

    @Test func `strict mode is on by default, and can be set and reset`() async throws {
        let ditto = try await Ditto.inMemory()
        let show = "SHOW DQL_STRICT_MODE"
        #expect(try await json(ditto, show) == [#"{"dql_strict_mode":true}"#])
        try await ditto.store.execute(query: "ALTER SYSTEM SET DQL_STRICT_MODE = false")
        try await ditto.store.execute(
            query: "INSERT INTO cars DOCUMENTS ({ _id: 'a', o: { p: 1 } })")
        try await ditto.store.execute(query: "UPDATE cars SET o.q = 2")
        #expect(try await json(ditto, "SELECT o FROM cars") == [#"{"o":{"p":1,"q":2}}"#])
        try await ditto.store.execute(query: "ALTER SYSTEM RESET DQL_STRICT_MODE")
        #expect(try await json(ditto, show) == [#"{"dql_strict_mode":true}"#])
        #expect(try await json(ditto, "SELECT o FROM cars") == ["{}"])
        try await ditto.close()

        let lenient = Ditto(over: try await Store.inMemory())
        #expect(try await json(lenient, show) == [#"{"dql_strict_mode":false}"#])
        try await lenient.close()
    }

    @Test func `older calls write maps and find their fields in strict mode`() async throws {
        let ditto = try await Ditto.inMemory()
        let cars = ditto.store.collection("cars")
        try cars.upsert(["_id": "a", "owner": ["name": "Bob", "age": 7]])
        try cars.upsert(["_id": "a", "owner": ["age": 8]])
        #expect(cars.find("owner.name == 'Bob'").exec().map { $0["owner"]["age"].int } == [8])
        cars.findByID("a").update { $0?["owner"]["name"].set("Eve") }
        #expect(cars.findByID("a").exec()?["owner"].dictionaryValue.count == 2)
        let (found, names) = AsyncStream.makeStream(of: [String].self)
        let live = cars.find("owner.name == 'Eve'").observeLocal(
            deliverOn: DispatchQueue(label: "cars")
        ) { documents, _ in names.yield(documents.map { $0["owner"]["name"].stringValue }) }
        for await now in found where now == ["Eve"] { break }
        live.stop()
        try await ditto.close()
    }

    @Test func `a subscription means the same at a peer with another strict mode`() async throws {
        let mesh = DittoMesh()
        let (strict, lenient) = (try await mesh.ditto("strict"), try await mesh.ditto("lenient"))
        try await strict.store.execute(query: "ALTER SYSTEM SET DQL_STRICT_MODE = true")
        // Document `a` has a register and `b` a map, following the mode of their databases.
        for (ditto, id) in [(strict, "a"), (lenient, "b")] {
            try await ditto.store.execute(
                query: "INSERT INTO cars DOCUMENTS (:car)",
                arguments: ["car": ["_id": id, "owner": ["name": "Bob"]] as [String: Any]])
        }
        let query = "SELECT * FROM cars WHERE owner.name = 'Bob'"
        try strict.sync.registerSubscription(query: query)
        let marks = "SELECT * FROM marks"
        try strict.sync.registerSubscription(query: marks)
        try lenient.sync.registerSubscription(query: query)
        for ditto in [strict, lenient] { try ditto.startSync() }
        await lenient.documents(of: query, are: ["a", "b"])
        // The mark arrives after all documents the strict database subscribes to.
        try await lenient.store.execute(query: "INSERT INTO marks DOCUMENTS ({ _id: 'm' })")
        await strict.documents(of: marks, are: ["m"])
        #expect(try await json(strict, "SELECT _id FROM cars") == [#"{"_id":"a"}"#])

        // Older calls subscribe to the same documents that they find.
        let subscription = strict.store.collection("cars").find("owner.name == 'Bob'").subscribe()
        await strict.documents(of: "SELECT * FROM cars", are: ["a", "b"])
        subscription.cancel()
        try await mesh.close()
    }
}
