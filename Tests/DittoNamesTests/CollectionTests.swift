import DittoNames
import Foundation
import Sheaf
import Synchronization
import Testing

/// The older calls, which are synchronous.
struct CollectionTests {
    private let ditto: Ditto
    private let problems = PrintedLines()

    init() async throws {
        ditto = try await Ditto.inMemory()
        ditto.store.onUnthrownError = { [problems] in problems.add("\($0)") }
    }

    private func newestCommit() async throws -> Int64 {
        try #require(
            try await ditto.store.execute(query: "UPDATE nothing SET a = 1").commitID)
    }

    private var cars: DittoCollection { ditto.store.collection("cars") }

    private func fill() throws {
        for (id, color, mileage) in [("a", "red", 3), ("b", "blue", 2), ("c", "red", 1)] {
            try cars.upsert(["_id": id, "color": color, "mileage": mileage])
        }
    }

    private func ids(_ documents: [DittoDocument]) -> [String] { documents.map(\.id.stringValue) }

    @Test func `documents are found by conditions in the older syntax`() throws {
        try fill()
        #expect(ids(cars.find("color == 'red'").exec()).sorted() == ["a", "c"])
        #expect(ids(ditto.store["cars"].find("color == 'red' && mileage > 2").exec()) == ["a"])
        #expect(ids(cars.find("mileage <= $args.most", args: ["most": 1]).exec()) == ["c"])
        #expect(cars.findAll().exec().count == 3)
        #expect(cars.find("color == 'green'").exec().isEmpty)
        #expect(problems.all == [])
    }

    @Test func `sort, limit and offset select and order documents`() throws {
        try fill()
        let all = cars.findAll()
        #expect(ids(all.sort("mileage", direction: .ascending).exec()) == ["c", "b", "a"])
        #expect(ids(all.sort("mileage", direction: .descending).limit(2).exec()) == ["a", "b"])
        #expect(
            ids(all.sort("mileage", direction: .ascending).limit(1).offset(1).exec()) == ["b"])
        let twice = all.sort("color", direction: .descending).sort("mileage", direction: .ascending)
        #expect(ids(twice.exec()) == ["c", "a", "b"])
        #expect(ids(all.sort("[\"mileage\"]", direction: .ascending).limit(1).remove()) == ["c"])
        #expect(problems.all == [])
    }

    private func ids(_ ids: [DittoDocumentID]) -> [String] { ids.map(\.stringValue) }

    @Test func `a document can be inserted, read and updated`() throws {
        let inserted = try cars.upsert(["model": "Ford", "color": "black"] as [String: Any?])
        let document = try #require(cars.findByID(inserted).exec())
        #expect(document.id == inserted)
        #expect(document["model"].string == "Ford")
        #expect(document["nothing"].string == nil && !document["nothing"].exists)
        try cars.upsert(["_id": inserted, "color": "white", "owner": ["name": "Bob", "ages": [7]]])
        let again = try #require(cars.findByID(inserted.value).exec())
        #expect(again["color"].stringValue == "white")
        #expect(again["model"].stringValue == "Ford")
        #expect(again["owner"]["name"].string == "Bob")
        #expect(again["owner"]["ages"][0].int == 7)
        #expect(again["owner"]["ages"][1].int == nil)
        #expect(again["owner"].dictionaryValue["name"] as? String == "Bob")
        #expect(again.value["color"] as? String == "white")
        #expect(cars.findByID("none").exec() == nil)
        #expect(problems.all == [])
    }

    @Test func `a write strategy decides what happens to an existing document`() throws {
        let both: [String: Any?] = ["_id": 1, "a": 1]
        #expect(try cars.upsert(both, writeStrategy: .insertIfAbsent) == 1)
        #expect(try cars.upsert(["_id": 1, "a": 2], writeStrategy: .insertIfAbsent) == 1)
        #expect(cars.findByID(1).exec()?["a"].int == 1)
        try cars.upsert(["_id": 1, "b": 2], writeStrategy: .updateDifferentValues)
        #expect(cars.findByID(1).exec()?.value.count == 3)
        try cars.upsert(["_id": 1, "a": 9], writeStrategy: .insertDefaultIfAbsent)
        try cars.upsert(["_id": 2, "a": 9], writeStrategy: .insertDefaultIfAbsent)
        #expect(cars.findByID(1).exec()?["a"].int == 1)
        #expect(cars.findByID(2).exec()?["a"].int == 9)
    }

    @Test func `documents are removed and evicted`() throws {
        try fill()
        #expect(cars.find("color == 'red'").remove().count == 2)
        #expect(cars.findByID("b").evict())
        #expect(!cars.findByID("b").evict())
        #expect(!cars.findByID("b").remove())
        #expect(cars.findAll().exec().isEmpty)
        try cars.upsert(["_id": "d", "owner": "Bob"])
        #expect(ids(cars.find("owner == 'Bob'").evict()) == ["d"])
        #expect(problems.all == [])
    }

    @Test func `a closure changes documents in one transaction`() async throws {
        try fill()
        let before = try await newestCommit()
        let results = cars.find("color == 'red'").update { documents in
            for document in documents {
                document["color"].set("green")
                document["owner"]["name"].set("Bob")
                document["mileage"].remove()
                #expect(document["color"].string == "green")
                #expect(document["owner"]["name"].stringValue == "Bob")
                #expect(!document["mileage"].exists)
            }
        }
        #expect(try await newestCommit() == before + 1)
        #expect(results.count == 2 && results["a"]?.count == 3)
        #expect(
            try cars.findByID("a").exec().map { try Value.json(of: $0) }
                == #"{"_id":"a","color":"green","owner":{"name":"Bob"}}"#)
        #expect(cars.find("owner.name == 'Bob'").exec().count == 2)
        #expect(problems.all == [])
    }

    @Test func `fields can be assigned, and arrays and objects replaced`() throws {
        try cars.upsert(["_id": 1, "o": ["a": 1, "b": 2], "l": [1, 2, 3]])
        let results = cars.findByID(1).update { document in
            document?["color"] = "red"
            document?["count"] = 2
            document?["ratio"] = 1.5
            document?["flag"] = true
            document?["nothing"] = nil
            document?["o"] = ["c": 3]
            document?["p"]["q"] = ["x", 1]
            document?["l"][1] = 20
            document?["l"][0].remove()
            document?["absent"].remove()
        }
        #expect(results.count == 9)
        #expect(
            try cars.findByID(1).exec().map { try Value.json(of: $0) }
                == #"{"_id":1,"color":"red","count":2,"flag":true,"l":[20,3],"nothing":null,"#
                + #""o":{"c":3},"p":{"q":["x",1]},"ratio":1.5}"#)
        var isNil = false
        #expect(cars.findByID(2).update { isNil = $0 == nil }.isEmpty)
        #expect(isNil)
        #expect(problems.all == [])
    }

    @Test func `an error in a closure undoes all its changes and is reported`() throws {
        try fill()
        try cars.upsert(["_id": "d", "list": [1, 2]])
        cars.findAll().update { documents in
            for document in documents { document["color"].set("green") }
            documents[1]["when"].set(Date())
        }
        cars.findByID("d").update { $0?["list"][3].set(1) }
        cars.findByID("a").update { $0?["_id"].set("z") }
        cars.findByID("a").update { $0?["color"][0].set(1) }
        #expect(problems.all.count == 4)
        #expect(problems.all[0].hasPrefix("when: documents have no date type"))
        #expect(problems.all[1].hasPrefix("list[3]: list has 2 elements, so index 3 is"))
        #expect(problems.all[3].hasPrefix("color[0]: color is not an array"))
        #expect(cars.find("color == 'green'").exec().isEmpty)
        #expect(cars.findByID("z").exec() == nil)
    }

    @Test func `an invalid query is reported and finds nothing`() throws {
        try fill()
        #expect(cars.find("color = 'red'").exec().isEmpty)
        #expect(cars.find("color == ").remove().isEmpty)
        #expect(cars.findAll().sort("a b", direction: .ascending).exec().isEmpty)
        #expect(cars.find("at < $args.at", args: ["at": Date()]).evict().isEmpty)
        #expect(problems.all.count == 5)
        #expect(problems.all[0].hasPrefix("unexpected = (line 1, column 7)"))
        #expect(problems.all[2].hasPrefix("expected &&, || or the end"))
        #expect(problems.all[3].hasPrefix("the argument at: documents have no date type"))
        #expect(cars.findAll().exec().count == 3)
        #expect(throws: DittoError.self) { try cars.upsert(["a": Date()]) }
        #expect(throws: DittoError.self) { try cars.upsert(["_id": 1.5]) }
    }

    @Test func `documents are sorted by one field, in quotes or not`() throws {
        try fill()
        for field in ["", "1", "[1]", "[\"mileage\"] x"] {
            #expect(cars.findAll().sort(field, direction: .ascending).exec().isEmpty)
        }
        let field = "expected the name of a field, found"
        let expected = [
            "\(field) the end (line 1, column 1)", "\(field) 1 (line 1, column 1)",
            "\(field) [ (line 1, column 1)",
            "expected &&, || or the end, found x (line 1, column 13)",
        ]
        #expect(problems.all.count == 4)
        for (problem, start) in zip(problems.all, expected) {
            #expect(problem.hasPrefix(start), "\(problem)")
        }
    }

    @Test(arguments: ["__x", "__collections", "system:refused_writes"])
    func `system collections cannot be changed by any call`(_ name: String) throws {
        let collection = ditto.store.collection(name)
        for strategy: DittoWriteStrategy in [
            .merge, .insertIfAbsent, .insertDefaultIfAbsent, .updateDifferentValues,
        ] {
            #expect(throws: DittoError.self) {
                try collection.upsert(["_id": 1], writeStrategy: strategy)
            }
        }
        #expect(problems.all == [])
        var calls = 0
        #expect(collection.findAll().update { _ in calls += 1 }.isEmpty)
        #expect(collection.find("a == 1").remove().isEmpty)
        #expect(collection.findAll().limit(1).evict().isEmpty)
        #expect(collection.findByID("a").update { _ in calls += 1 }.isEmpty)
        #expect(!collection.findByID("a").remove())
        #expect(!collection.findByID("a").evict())
        let reason =
            name == "__x"
            ? "__x cannot be changed: names that begin with __ are reserved"
            : "\(name) is a system collection and cannot be changed"
        #expect(problems.all.count == 6)
        #expect(problems.all.allSatisfy { $0.contains(reason) }, "\(problems.all)")
        #expect(calls == 0)
        #expect(problems.all.count == 6 && collection.findAll().exec().isEmpty)
    }

    @Test func `a write in a block but outside its transaction is refused`() async throws {
        try await ditto.store.transaction(hint: "outer") { transaction in
            #expect(throws: DittoError.self) { try cars.upsert(["_id": 1]) }
            #expect(cars.findAll().exec().isEmpty)
            return .commit
        }
        try cars.upsert(["_id": 1])
        #expect(cars.findAll().exec().count == 1)
        try await ditto.close()
        #expect(throws: DittoError.self) { try cars.upsert(["_id": 2]) }
    }

    @Test func `writers on threads wait for a transaction and for each other`() async throws {
        let (cars, threads, each) = (cars, 8, 25)
        let group = DispatchGroup()
        try await ditto.store.transaction { transaction in
            for thread in 0..<threads {
                // Blocking calls would occupy the threads of tasks.
                let worker = Thread {
                    for index in 0..<each {
                        _ = try? cars.upsert(["_id": thread * each + index])
                    }
                    group.leave()
                }
                group.enter()
                worker.start()
            }
            try await transaction.execute(query: "INSERT INTO cars DOCUMENTS ({ _id: -1 })")
            return .commit
        }
        await withCheckedContinuation { continuation in
            group.notify(queue: .global()) { continuation.resume() }
        }
        #expect(cars.findAll().exec().count == threads * each + 1)
        try await ditto.close()
    }
}

extension Value {
    /// Returns the JSON of a document with sorted keys.
    fileprivate static func json(of document: DittoDocument) throws -> String {
        let fields = document.value.mapValues { $0 ?? NSNull() }
        let data = try JSONSerialization.data(withJSONObject: fields, options: .sortedKeys)
        return String(decoding: data, as: UTF8.self)
    }
}
