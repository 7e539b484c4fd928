import Sheaf
import SheafTestSupport
import Testing

/// The calls of `DocumentCollection`, outside of and within transactions.
@Suite struct TypedCollectionTests {
    struct Car: Codable, Equatable, Sendable {
        struct Owner: Codable, Equatable, Sendable {
            var name: String
            var city: String?
        }

        var _id = "a"
        var color = "blue"
        var mileage = 3_000
        var owner: Owner?
        var notes: [String: String] = [:]
    }

    private func makeStore(isStrict: Bool = false) async throws -> Store {
        var options = StoreOptions()
        options.isStrict = isStrict
        return try await Store.inMemory(options: options)
    }

    private func newestCommit(of store: Store) async throws -> Int64? {
        try await store.execute("SELECT _id FROM cars").commitID
    }

    private let car = Car(
        owner: Car.Owner(name: "Ann", city: "Berlin"), notes: ["x": "1", "y": "2"])

    @Test(arguments: [false, true])
    func `an inserted document is read as it was written`(isStrict: Bool) async throws {
        let store = try await makeStore(isStrict: isStrict)
        let cars = store.collection("cars", of: Car.self)
        #expect(try await cars.get("a") == nil)
        #expect(try await cars.insert(car).ids == ["a"])
        #expect(try await cars.get("a") == car)
        #expect(try await cars.fetchAll() == [car])
        #expect(try await cars.fetchOne(where: "owner.city = 'Berlin'") == car)
        #expect(try await cars.fetchOne(where: "owner.city = 'Rome'") == nil)
        #expect(try await cars.exists("a"))
        #expect(try await !cars.exists("b"))
        let error = await #expect(throws: StoreError.self) { try await cars.insert(car) }
        #expect(error?.reason == .conflict)
        #expect(try await cars.delete("a").ids == ["a"])
        #expect(try await cars.delete("a").isEmpty)
        #expect(try await cars.get("a") == nil)
    }

    @Test func `values become arguments and never text`() async throws {
        let store = try await makeStore()
        let cars = store.collection("cars", of: Car.self)
        let color = "x' OR TRUE OR 'y' = '"
        try await cars.insert([Car(), Car(_id: "b", color: color)])
        #expect(try await cars.fetchAll(where: "color = \(color)").map(\._id) == ["b"])
        #expect(try await cars.count(where: "color = \(color)") == 1)
        #expect(try await cars.exists(where: "color = \(color)"))
        #expect(try await cars.delete(where: "color = \(color)").count == 1)
        #expect(try await cars.count() == 1)
        // A quote in the name of the collection is part of the name.
        let odd = store.collection("o`dd", of: Car.self)
        try await odd.insert(Car())
        #expect(try await odd.get("a") == Car())
        #expect(try await odd.count() == 1)
    }

    @Test func `any number of documents is one commit, and none if one fails`() async throws {
        let store = try await makeStore()
        let cars = store.collection("cars", of: Car.self)
        let many = (0..<2_500).map { Car(_id: "c\($0)", mileage: $0) }
        let before = try await newestCommit(of: store) ?? 0
        let written = try await cars.insert(many)
        #expect(written.ids == many.map { .string($0._id) })
        #expect(try await newestCommit(of: store) == before + 1)
        #expect(written.commitID == before + 1)
        #expect(try await cars.count() == 2_500)
        // The last one exists: it fails in the third portion.
        let more = (0..<2_500).map { Car(_id: "d\($0)") } + [Car(_id: "c0")]
        await #expect(throws: StoreError.self) { try await cars.insert(more) }
        #expect(try await cars.count() == 2_500)
        // In a transaction that goes on, all portions are discarded, too.
        try await store.transaction { transaction in
            let cars = transaction.collection("cars", of: Car.self)
            try await cars.insert(Car(_id: "kept"))
            await #expect(throws: StoreError.self) { try await cars.insert(more) }
            #expect(try await cars.count() == 2_501)
        }
        #expect(try await cars.count() == 2_501)
        #expect(try await cars.insert([]).isEmpty)
    }

    @Test func `an error of encoding within many documents discards all of them`() async throws {
        struct Strange: Encodable {
            var _id: Int
            var value: Double
            func encode(to encoder: any Encoder) throws {
                guard _id < 1_500 else {
                    var container = encoder.singleValueContainer()
                    return try container.encode(UInt64.max)
                }
                var container = encoder.container(keyedBy: Keys.self)
                try container.encode(_id, forKey: ._id)
            }
            enum Keys: CodingKey { case _id }
        }
        let store = try await makeStore()
        let documents = store.collection("strange", of: Strange.self)
        await #expect(throws: EncodingError.self) {
            try await documents.insert((0..<2_000).map { Strange(_id: $0, value: 1) })
        }
        #expect(try await documents.count() == 0)
    }

    @Test(arguments: [false, true])
    func `saving writes what differs, and removes what was removed`(isStrict: Bool) async throws {
        let store = try await makeStore(isStrict: isStrict)
        let cars = store.collection("cars", of: Car.self)
        try await cars.insert(car)
        try await store.execute("UPDATE cars SET color = 'red', unknown = 5 WHERE _id = 'a'")
        var edited = car
        edited.mileage = 4_000
        edited.owner?.city = nil
        edited.notes["x"] = nil
        edited.notes["z"] = "3"
        try await cars.save(edited, over: car)
        edited.color = "red"
        #expect(try await cars.get("a") == edited)
        #expect(try await store.fetchValue("SELECT unknown FROM cars WHERE _id = 'a'") == 5)
        // Nothing differs, so nothing is written.
        let commit = try await newestCommit(of: store)
        try await cars.save(edited, over: edited)
        #expect(try await newestCommit(of: store) == commit)
        await #expect(throws: StoreError.self) {
            try await cars.save(Car(_id: "none"), over: Car(_id: "none"))
        }
        edited.owner = nil
        try await cars.save(edited, over: car)
        #expect(try await cars.get("a")?.owner == nil)
    }

    @Test func `a document is saved over one with the same id that exists`() async throws {
        let store = try await makeStore()
        let cars = store.collection("cars", of: Car.self)
        var error = await #expect(throws: StoreError.self) {
            try await cars.save(Car(color: "red"), over: Car())
        }
        #expect(error?.reason == .notFound)
        #expect(error?.message == "cars has no document with the _id \"a\"")
        error = await #expect(throws: StoreError.self) {
            try await cars.save(Car(_id: "b"), over: Car())
        }
        #expect(error?.reason == .argument)
        error = await #expect(throws: StoreError.self) { try await cars.update("a") { _ in } }
        #expect(error?.reason == .notFound)
        // Fields that are already gone are no error.
        try await cars.insert(Car())
        try await cars.save(Car(), over: car)
        #expect(try await cars.get("a") == Car())
    }

    @Test func `an update reads, changes and saves in one transaction`() async throws {
        let store = try await makeStore()
        let cars = store.collection("cars", of: Car.self)
        try await cars.insert(car)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask { try await cars.update("a") { $0.mileage += 10 } }
            }
            try await group.waitForAll()
        }
        #expect(try await cars.get("a")?.mileage == 3_500)
        struct Refusal: Error {}
        await #expect(throws: Refusal.self) {
            try await cars.update("a") { car in
                car.color = "green"
                throw Refusal()
            }
        }
        #expect(try await cars.get("a")?.color == "blue")
    }

    @Test func `upserts insert, or set the fields that differ`() async throws {
        let store = try await makeStore()
        let cars = store.collection("cars", of: Car.self)
        try await cars.upsert(car)
        var other = car
        other.color = "red"
        other.owner = nil
        #expect(try await cars.upsert(other).ids == ["a"])
        #expect(try await cars.get("a")?.color == "red")
        #expect(try await cars.get("a")?.owner == car.owner)
        #expect(try await cars.upsert([other, Car(_id: "b")]).ids == ["b"])
        #expect(try await cars.count() == 2)
    }

    @Test func `calls within a transaction see its changes and end with it`() async throws {
        let store = try await makeStore()
        let cars = store.collection("cars", of: Car.self)
        try await store.transaction { transaction in
            let inner = transaction.collection("cars", of: Car.self)
            let written = try await inner.insert(car)
            #expect(written.commitID == nil)
            #expect(try await inner.get("a") == car)
            #expect(try await cars.get("a") == nil)
            try await inner.update("a") { $0.mileage += 1 }
            #expect(try await inner.get("a")?.mileage == 3_001)
            let count: Int = try await transaction.fetchValue("SELECT COUNT(*) FROM cars")
            let one: Car? = try await transaction.fetchOne("SELECT * FROM cars")
            let all: [Car] = try await transaction.fetchAll("SELECT * FROM cars")
            #expect(count == 1 && one?.mileage == 3_001 && all.count == 1)
            await #expect(throws: StoreError.self) {
                for try await _ in inner.observe() {}
            }
            return .rollback
        }
        #expect(try await cars.count() == 0)
        try await cars.insert(car)
        try await store.transaction(isReadOnly: true) { transaction in
            let inner = transaction.collection("cars", of: Car.self)
            try await cars.delete("a")
            #expect(try await inner.get("a") == car)
            await #expect(throws: StoreError.self) { try await inner.insert([Car(_id: "b")]) }
        }
    }

    @Test func `documents of any shape are values`() async throws {
        let store = try await makeStore()
        let cars = store.collection("cars", of: Value.self)
        let written = try await cars.insert([
            "color": "blue", "tags": ["a", ["b": 1]], "none": .null,
        ])
        let id = try #require(written.ids.first)
        let found = try #require(try await cars.get(id))
        #expect(found["_id"] == id && found["color"]?.string == "blue")
        #expect(found["tags"]?[0]?.string == "a" && found["tags"]?[1]?["b"]?.int == 1)
        #expect(found["none"]?.isNull == true && found["nothing"] == nil)
        #expect(try await cars.fetchAll() == [found])
    }

    @Test func `ids have any type`() async throws {
        struct Numbered: Codable, Equatable {
            var _id: Int
            var name = "x"
        }
        struct Nested: Codable, Equatable {
            struct ID: Codable, Equatable {
                var shop: String
                var number: Int
            }
            var _id: ID
            var name = "x"
        }
        let store = try await makeStore()
        let numbered = store.collection("numbered", of: Numbered.self)
        try await numbered.insert([Numbered(_id: 1), Numbered(_id: -2)])
        #expect(try await numbered.get(1) == Numbered(_id: 1))
        #expect(try await numbered.get("1") == nil)
        try await numbered.update(-2) { $0.name = "y" }
        #expect(try await numbered.fetchAll().map(\._id) == [-2, 1])
        let nested = store.collection("nested", of: Nested.self)
        let id = Nested.ID(shop: "a", number: 1)
        try await nested.insert(Nested(_id: id))
        #expect(try await nested.get(id) == Nested(_id: id))
        #expect(try await nested.delete(id).count == 1)
    }

    @Test func `an undecodable document is named`() async throws {
        let store = try await makeStore()
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 'a', 'color': 5})")
        let cars = store.collection("cars", of: Car.self)
        for read in [{ try await cars.get("a").map { [$0] } }, { try await cars.fetchAll() }]
            as [() async throws -> [Car]?]
        {
            do {
                _ = try await read()
                Issue.record("The document has no valid color.")
            } catch DecodingError.typeMismatch(_, let context) {
                #expect(context.codingPath.map(\.stringValue) == ["color"])
                #expect(
                    context.debugDescription
                        == "the document \"a\" of cars: expected String, found a number")
            }
        }
    }

    @Test func `collections that cannot be written say so`() async throws {
        let store = try await makeStore()
        let system = store.collection("system:collections", of: Value.self)
        await #expect(throws: StoreError.self) { try await system.insert(["_id": "a"]) }
        #expect(try await system.fetchAll() == [])
        let numbers = store.collection("numbers", of: Int.self)
        let error = await #expect(throws: StoreError.self) { try await numbers.insert(5) }
        #expect(
            error?.message == "a document must be encoded as an object; Int is encoded as 5")
        try await store.close()
        let closed = await #expect(throws: StoreError.self) { _ = try await system.get("a") }
        #expect(closed?.reason == .closed)
    }

    @Test func `single values are decoded, and missing ones only as optionals`() async throws {
        let store = try await makeStore()
        let cars = store.collection("cars", of: Car.self)
        try await cars.insert(car)
        let color: String = try await store.fetchValue("SELECT color FROM cars")
        #expect(color == "blue")
        let none: Int? = try await store.fetchValue("SELECT mileage FROM cars WHERE FALSE")
        let missing: Int? = try await store.fetchValue("SELECT nothing FROM cars")
        #expect(none == nil && missing == nil)
        await #expect(throws: StoreError.self) {
            let _: Int = try await store.fetchValue("SELECT mileage FROM cars WHERE FALSE")
        }
        await #expect(throws: StoreError.self) {
            let _: Int = try await store.fetchValue("SELECT nothing FROM cars")
        }
        await #expect(throws: DecodingError.self) {
            let _: Int = try await store.fetchValue("SELECT color FROM cars")
        }
        for query in ["SELECT * FROM cars", "SELECT color, mileage FROM cars"] as [DQL] {
            let error = await #expect(throws: StoreError.self) {
                let _: Int = try await store.fetchValue(query)
            }
            #expect(error?.reason == .meaning)
        }
        let one: Car? = try await store.fetchOne("SELECT * FROM cars WHERE _id = 'b'")
        #expect(one == nil)
    }
}
