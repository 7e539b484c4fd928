import Sheaf
import SheafDocument
import SheafStatements
import SheafStorage
import SheafTestSupport
import Testing

struct StoreTests {
    @Test func `a result has the ids of the written documents and the commit`() async throws {
        let store = try await Store.inMemory()
        let first = try await store.execute(
            "INSERT INTO cars DOCUMENTS (:car)",
            ["car": ["_id": "a", "color": "blue"] as Value])
        #expect(first.commitID == 1)
        #expect(first.mutatedDocumentIDs.map(\.json) == [#""a""#])
        let color = "blue"
        let found = try await store.execute("SELECT * FROM cars WHERE color = \(color)")
        #expect(found.commitID == 1)
        #expect(found.items.count == 1)
        #expect(try found.items[0].jsonString == #"{"_id":"a","color":"blue"}"#)
        #expect(try found.items[0]["color"]?.json == #""blue""#)
        try await store.close()
        await #expect(throws: StoreError.self) { try await store.execute("SELECT * FROM cars") }
    }

    @Test func `a closed store can be opened again`() async throws {
        let directory = TemporaryDirectory()
        for round in 1...3 {
            let store = try await Store.open(at: directory.path)
            try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': \(round)})")
            let count = try await store.execute("SELECT COUNT(*) AS n FROM cars")
            #expect(try count.items[0]["n"]?.json == "\(round)")
            try await store.close()
            try await store.close()
        }
    }

    @Test func `opening an invalid path fails, and the error for a LOCK directory has its path`()
        async throws
    {
        let directory = TemporaryDirectory()
        // The system would truncate the second path at the zero byte.
        for path in ["", directory.path + "/a\0b"] {
            for options in [StoreOptions(), StoreOptions(isReadOnly: true)] {
                let error = await #expect(throws: StoreError.self) {
                    try await Store.open(at: path, options: options)
                }
                #expect(error?.message.contains("the path is empty") == true)
            }
        }
        await #expect(throws: StoreError.self) {
            try await Store.open(
                at: directory.path + "/a", options: StoreOptions(isReadOnly: true))
        }
        // A directory has the name of the lock file.
        _ = try PosixVolume(path: directory.path + "/b/LOCK", creatingDirectory: true)
        do {
            _ = try await Store.open(at: directory.path + "/b")
            Issue.record("The store was opened.")
        } catch let error as StoreError {
            #expect(error.message.contains(directory.path + "/b"))
            #expect(error.message.contains("LOCK"))
        }
    }

    @Test func `a row stays decoded only while it is materialized`() async throws {
        let store = try await Store.inMemory()
        try await store.execute("INSERT INTO cars DOCUMENTS ({'_id': 1, 'a': {'b': [1, 2]}})")
        let item = try await store.execute("SELECT * FROM cars").items[0]
        #expect(!item.isMaterialized)
        #expect(try item["a", "b"]?.json == "[1,2]")
        #expect(try item["a", "c"] == nil)
        #expect(try item["_id"]?.json == "1")
        try item.materialize()
        #expect(item.isMaterialized)
        #expect(try item["a", "b"]?.json == "[1,2]")
        item.dematerialize()
        #expect(!item.isMaterialized)
        struct Car: Decodable, Equatable {
            let _id: Int
            let a: [String: [Int]]
        }
        #expect(try item.decode(Car.self) == Car(_id: 1, a: ["b": [1, 2]]))
        try await store.close()
    }
}
