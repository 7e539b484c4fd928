import DittoNames
import Foundation
import Sheaf
import SheafStatements
import SheafTestSupport
import Testing

struct DittoTests {
    @Test func `a database persists across closing and reopening`() async throws {
        let directory = TemporaryDirectory()
        for round in 1...3 {
            let ditto =
                round == 2
                ? try await Ditto.open(at: URL(fileURLWithPath: directory.path))
                : try await Ditto.open(at: directory.path)
            try ditto.store["cars"].upsert(["_id": round])
            #expect(ditto.store["cars"].findAll().exec().count == round)
            if round == 1 {
                do {
                    _ = try await Ditto.open(at: directory.path)
                    Issue.record("one database was opened twice")
                } catch DittoError.storeError(reason: .persistenceDirectoryLocked) {}
            }
            try await ditto.close()
        }
    }

    @Test func `a closed database throws, and has no observers`() async throws {
        let ditto = try await Ditto.inMemory()
        let observer = ditto.store.registerObserver(query: "SELECT * FROM cars") { _ in }
        try await ditto.close()
        #expect(observer.isCancelled && ditto.store.observers.isEmpty)
        do {
            try await ditto.store.execute(query: "SELECT * FROM cars")
            Issue.record("a closed database executed a statement")
        } catch DittoError.storeError(reason: .closed(let message)) {
            #expect(message.contains("the store was closed"))
        }
    }

    @Test func `errors name the mistake and its position`() async throws {
        let ditto = try await Ditto.inMemory()
        do {
            try await ditto.store.execute(query: "SELECT * FRM cars")
            Issue.record("an invalid statement was executed")
        } catch DittoError.storeError(reason: .queryInvalid(let message)) {
            #expect(message.contains("SELECT * FRM cars") && message.contains("^"))
        }
        do {
            try await ditto.store.execute(query: "SELECT * FROM cars WHERE a = :a")
            Issue.record("a missing argument was accepted")
        } catch let error as DittoSwiftError {
            guard case .storeError(reason: .queryArgumentsInvalid) = error else { throw error }
            #expect(error.localizedDescription.contains(":a"))
        }
        try await ditto.store.execute(query: "INSERT INTO cars DOCUMENTS ({ _id: 1 })")
        do {
            try await ditto.store.execute(query: "INSERT INTO cars DOCUMENTS ({ _id: 1 })")
            Issue.record("one id was inserted twice")
        } catch DittoError.storeError(reason: .queryError) {}
        try await ditto.close()
    }

    @Test func `errors thrown in a transaction block are rethrown unchanged`() async throws {
        struct TestError: Error {}
        let ditto = try await Ditto.inMemory()
        await #expect(throws: TestError.self) {
            try await ditto.store.transaction { transaction in
                try await transaction.execute(query: "INSERT INTO cars DOCUMENTS ({ _id: 1 })")
                throw TestError()
            }
        }
        let ending = try await ditto.store.transaction { transaction in
            try await transaction.execute(query: "INSERT INTO cars DOCUMENTS ({ _id: 1 })")
            return try await transaction.rollback()
        }
        #expect(ending == .rollback)
        #expect(ditto.store["cars"].findAll().exec().isEmpty)
        try await ditto.close()
    }

    @Test func `an item caches its dictionary until it is dematerialized`() async throws {
        let ditto = try await Ditto.inMemory()
        try await ditto.store.execute(
            query: "INSERT INTO cars DOCUMENTS (:car)",
            arguments: ["car": ["_id": 1, "a": ["b": [1, nil]], "f": 1.0] as [String: Any]])
        let result = try await ditto.store.execute(query: "SELECT * FROM cars")
        let item = try #require(result.items.first)
        #expect(!item.isMaterialized)
        #expect(item.jsonString() == #"{"_id":1,"a":{"b":[1,null]},"f":1.0}"#)
        let cbor = item.cborData().map { String(format: "%02x", $0) }.joined()
        #expect(cbor == "a36161a161628201f66166f93c00635f696401")
        #expect(!item.isMaterialized)
        item.materialize()
        #expect(item.isMaterialized)
        item.dematerialize()
        #expect(!item.isMaterialized)
        #expect((item.value["a"] as? [String: Any])?["b"] as? [Int?] == nil)
        #expect(((item.value["a"] as? [String: Any])?["b"] as? [Any])?.first as? Int == 1)
        #expect(item.isMaterialized)
        try await ditto.close()
    }

    @Test func `handlers are called on the requested queue`() async throws {
        let ditto = try await Ditto.inMemory()
        let printed = PrintedLines()
        let key = DispatchSpecificKey<String>()
        let queue = DispatchQueue(label: "mine")
        queue.setSpecific(key: key, value: "mine")
        // Queues are compared, not threads: the system chooses the thread of the main queue.
        DispatchQueue.main.setSpecific(key: key, value: "main")
        let query = "SELECT * FROM cars"
        ditto.store.registerObserver(query: query, deliverOn: queue) { _ in
            printed.add(DispatchQueue.getSpecific(key: key) ?? "another one")
        }
        #expect(await printed.next(1) == ["mine"])
        ditto.store.registerObserver(query: query) { _ in
            printed.add(DispatchQueue.getSpecific(key: key) ?? "another one")
        }
        #expect(await printed.next(1) == ["main"])
        try await ditto.close()
    }

    @Test func `a handler receives the next result only after its signal, and none twice`()
        async throws
    {
        let ditto = try await Ditto.inMemory()
        let printed = PrintedLines()
        let (signals, continuation) = AsyncStream<DittoSignalNext>.makeStream()
        let observer = ditto.store.registerObserver(
            query: "SELECT * FROM cars", arguments: nil, deliverOn: DispatchQueue(label: "mine")
        ) { result, signalNext in
            printed.add("\(result.items.count)")
            continuation.yield(signalNext)
        }
        var iterator = signals.makeAsyncIterator()
        #expect(await printed.next(1) == ["0"])
        for id in 1...5 { try ditto.store["cars"].upsert(["_id": id]) }
        #expect(printed.all == ["0"])
        // The store may combine several commits into one result.
        var received = 0
        while received < 5 {
            let signal = try #require(await iterator.next())
            signal()
            let line = await printed.next(1).first
            let count = try #require(line.flatMap { Int($0) })
            #expect(count > received)
            received = count
        }
        observer.cancel()
        try await ditto.close()
        #expect(printed.all.last == "5")
    }

    @Test func `a canceled observer receives no more results`() async throws {
        let ditto = try await Ditto.inMemory()
        for _ in 0..<50 {
            let queue = DispatchQueue(label: "mine")
            // The flag is accessed on the queue only.
            nonisolated(unsafe) var isOver = false
            let observer = ditto.store.registerObserver(
                query: "SELECT * FROM cars", deliverOn: queue
            ) { _ in
                #expect(!isOver)
            }
            try await ditto.store.execute(query: "INSERT INTO cars DOCUMENTS ({})")
            queue.sync {
                observer.cancel()
                isOver = true
            }
            try await ditto.store.execute(query: "INSERT INTO cars DOCUMENTS ({})")
            queue.sync {}
        }
        #expect(ditto.store.observers.isEmpty)
        try await ditto.close()
    }

    @MainActor
    @Test func `handlers isolated to the main actor can change its state`() async throws {
        let ditto = try await Ditto.inMemory()
        let printed = PrintedLines()
        var counts: [Int] = []
        let observer = ditto.store.registerObserver(query: "SELECT * FROM cars") { result in
            counts.append(result.items.count)
            printed.add("called")
        }
        #expect(await printed.next(1) == ["called"])
        #expect(counts == [0])
        try await ditto.store.transaction { transaction in
            try await transaction.execute(query: "INSERT INTO cars DOCUMENTS ({})")
            return .commit
        }
        #expect(await printed.next(1) == ["called"])
        #expect(counts == [0, 1])
        observer.cancel()
        try await ditto.close()
    }

    @Test func `a store can be used through both APIs`() async throws {
        let store = try await Store.inMemory()
        let ditto = Ditto(over: store)
        try await store.execute("INSERT INTO cars DOCUMENTS ({ '_id': 1 })")
        #expect(ditto.store["cars"].findByID(1).exec()?.id == 1)
        try await ditto.close()
        await #expect(throws: StoreError.self) { try await store.execute("SELECT * FROM cars") }
    }
}
