import DittoNames
import Foundation
import SheafTestSupport
import Testing

/// Calls that cannot throw, on rows with damaged bytes.
struct DamageTests {
    private let directory = TemporaryDirectory()
    private let problems = PrintedLines()

    /// Overwrites the first `text` in the store's files with invalid bytes; returns the file name.
    private func damage(_ text: String) throws -> String {
        let store = URL(fileURLWithPath: directory.path("t.sheaf"))
        for name in try FileManager.default.contentsOfDirectory(atPath: store.path).sorted() {
            let file = store.appendingPathComponent(name)
            guard let range = try Data(contentsOf: file).range(of: Data(text.utf8)) else {
                continue
            }
            let handle = try FileHandle(forUpdating: file)
            try handle.seek(toOffset: UInt64(range.lowerBound))
            try handle.write(contentsOf: Data(repeating: 0xFF, count: range.count))
            try handle.close()
            return name
        }
        Issue.record("\(text) is in no file")
        return ""
    }

    private func expectProblems(_ count: Int, in file: String) {
        #expect(problems.all.count == count)
        #expect(problems.all.allSatisfy { $0.contains("\(file):") && $0.contains("damaged") })
    }

    @Test func `each read of a damaged row is empty and reports an error`() async throws {
        let ditto = try await Ditto.open(at: directory.path("t.sheaf"))
        ditto.store.onUnthrownError = { [problems] in problems.add("\($0)") }
        try await ditto.store.execute(
            query: "INSERT INTO cars DOCUMENTS ({ _id: 'a', color: 'needle-a' }), ({ _id: 'b' })")
        let items = try await ditto.store.execute(query: "SELECT * FROM cars ORDER BY _id").items
        let file = try damage("needle-a")
        for round in 0..<2 {
            let before = 3 * round
            #expect(items[0].value.isEmpty)
            expectProblems(before + 1, in: file)
            // A failed read caches nothing.
            #expect(!items[0].isMaterialized)
            #expect(items[0].jsonString() == "{}")
            expectProblems(before + 2, in: file)
            #expect(items[0].cborData() == Data([0xA0]))
            expectProblems(before + 3, in: file)
        }
        #expect(items[1].value["_id"] as? String == "b")
        #expect(items[1].jsonString() == #"{"_id":"b"}"#)
        expectProblems(6, in: file)
        try await ditto.close()
    }

    @Test func `the older calls report damaged documents and omit them`() async throws {
        let ditto = try await Ditto.open(at: directory.path("t.sheaf"))
        ditto.store.onUnthrownError = { [problems] in problems.add("\($0)") }
        // Each document gets a commit, because the bytes of a commit are checked together.
        for document in ["{ _id: 'a', color: 'needle-a' }", "{ _id: 'b' }"] {
            try await ditto.store.execute(query: "INSERT INTO cars DOCUMENTS (\(document))")
        }
        let file = try damage("needle-a")
        let cars = ditto.store.collection("cars")
        #expect(cars.findAll().exec().isEmpty)
        expectProblems(1, in: file)
        #expect(cars.findByID("a").exec() == nil)
        expectProblems(2, in: file)
        #expect(cars.find("color == 'red'").exec().isEmpty)
        expectProblems(3, in: file)
        #expect(cars.findByID("b").exec()?.value["_id"] as? String == "b")
        expectProblems(3, in: file)
        try await ditto.close()
    }

    // Without a limit, the test would wait for an error that is not reported.
    @Test(.timeLimit(.minutes(40)))
    func `a live query reports damaged documents, and calls its handler for none of them`()
        async throws
    {
        let ditto = try await Ditto.open(at: directory.path("t.sheaf"))
        ditto.store.onUnthrownError = { [problems] in problems.add("\($0)") }
        for document in ["{ _id: 'a', color: 'needle-a' }", "{ _id: 'b' }"] {
            try await ditto.store.execute(query: "INSERT INTO cars DOCUMENTS (\(document))")
        }
        let cars = ditto.store.collection("cars")
        let (events, others) = (PrintedLines(), PrintedLines())
        // The first result waits in the queue while its bytes are damaged.
        let queue = DispatchQueue(label: "events")
        queue.suspend()
        let liveQuery = cars.findAll().observeLocal(deliverOn: queue) { cars, _ in
            events.add("\(cars.count)")
        }
        // The result of a later query follows it.
        let later = cars.findAll().observeLocal { cars, _ in others.add("\(cars.count)") }
        #expect(await others.next(1) == ["2"])
        later.stop()
        let file = try {
            defer { queue.resume() }
            return try damage("needle-a")
        }()
        _ = await problems.next(1)
        expectProblems(1, in: file)
        // The next event follows the failed one.
        try await ditto.store.execute(query: "INSERT INTO cars DOCUMENTS ({ _id: 'c' })")
        _ = await problems.next(1)
        expectProblems(2, in: file)
        #expect(events.all.isEmpty)
        liveQuery.stop()
        try await ditto.close()
    }
}
