import BenchHarness
import BenchWorkloads
import SheafTestSupport
import Testing

/// Rounds of a workload file on both systems.
@Suite struct WorkloadRunTests {
    private func outcome(
        _ text: String, rounds: Int = 2
    ) async throws -> (outcome: Runner.Outcome, notes: [String]) {
        let loaded = try WorkloadFile.load(text, path: "folder/till.workload", isQuick: false)
        let folder = try Folder.fresh(under: "/tmp")
        defer { folder.remove() }
        let (workload, notes) = try await loaded.prepare(try folder.child("comparison"))
        #expect(workload.name == "till")
        let scale = Scale(isQuick: true, rounds: rounds)
        let runner = Runner(
            scale: scale, disk: folder, memory: folder, log: { print($0) })
        return (await runner.run(workload.cases[0], of: workload.name), notes)
    }

    private static let text = """
        [run]
        tasks = 3
        operations = 60
        [setup a]
        times = 50
        batch = 20
        statement = INSERT INTO c DOCUMENTS (:d)
        :d = {"_id": new_id("c"), "n": sequence, "group": uniform(0, 1)}
        [mix read]
        weight = 3
        statement = SELECT * FROM c WHERE n < 10
        [mix write]
        weight = 1
        times = 2
        statement = INSERT INTO c DOCUMENTS (:d)
        statement = UPDATE c SET seen = true WHERE _id = :id
        :d = {"_id": new_id("c"), "n": sequence(50), "group": 1}
        :id = id("c", "newest")
        """

    @Test func `each system has figures for the mix and for each operation`() async throws {
        let (outcome, notes) = try await outcome(Self.text)
        #expect(notes.isEmpty && outcome.failures.isEmpty)
        let names = outcome.figures.filter { $0.rows != nil }.map { "\($0.name) \($0.system)" }
        #expect(
            names == [
                "all sheaf", "all sqlite", "read sheaf", "read sqlite", "write sheaf",
                "write sqlite",
            ])
        for figure in outcome.figures where figure.name == "read" {
            #expect(figure.rows == 10 && figure.value > 0)
        }
        for figure in outcome.figures where figure.name == "write" { #expect(figure.rows == 0) }
        for system in ["sheaf", "sqlite"] {
            let rates = ["all", "read", "write"].compactMap { name in
                outcome.figures.first { $0.name == name && $0.system == system }?.range.upperBound
            }
            #expect(rates[0] <= (rates[1] + rates[2]) * 1.001)
        }
        #expect(outcome.curves.map(\.name) == ["all", "read", "write", "all", "read", "write"])
        let table = Table.lines(outcome.figures)
        #expect(table[0].hasPrefix("operation  system  per second"))
        #expect(table.count == 7 && table[2].contains("×"))
    }

    @Test func `an operation that fails in the sample is named`() async throws {
        let text = Self.text.replacing("new_id(\"c\"), \"n\": sequence(50)", with: "1, \"n\": 5")
        let error = await #expect(throws: WorkloadComparison.Failure.self) {
            try await outcome(text)
        }
        #expect(error?.description.hasPrefix("write: ") ?? false, "\(error?.description ?? "")")
    }

    @Test func `an operation that fails in a round stops its system, and is reported`() async throws
    {
        // The sample deletes at most 25 of the 50 documents, and each round attempts to delete 60.
        let (outcome, notes) = try await outcome(
            """
            [run]
            operations = 60
            [setup a]
            times = 50
            statement = INSERT INTO c DOCUMENTS (:d)
            :d = {"_id": new_id("c")}
            [mix remove]
            statement = DELETE FROM c WHERE _id = :id
            :id = oldest_id("c")
            """)
        #expect(notes.isEmpty && outcome.figures.isEmpty)
        #expect(outcome.failures == ["sheaf", "sqlite"])
    }

    @Test func `a round that ends by time ends soon after it`() async throws {
        let text = Self.text.replacing("operations = 60", with: "duration = 20 ms")
        let started = now()
        let (outcome, _) = try await outcome(text)
        #expect(outcome.failures.isEmpty)
        #expect(seconds(since: started) < 60)
    }

    @Test func `a changed file has another digest, and changed comments have not`() throws {
        func digest(_ text: String) throws -> String {
            try WorkloadFile.load(text, path: "a", isQuick: false).digest
        }
        let same = "# comment\n" + Self.text.replacing("weight = 3", with: "weight   =  3")
        #expect(try digest(same) == digest(Self.text))
        let other = Self.text.replacing("weight = 3", with: "weight = 4")
        #expect(try digest(other) != digest(Self.text))
    }

    @Test(arguments: ["point-of-sale", "feed", "sensors"])
    func `both systems agree on an example`(_ name: String) async throws {
        let path = "Benchmarks/Workloads/\(name).workload"
        let loaded = try WorkloadFile.load(
            try ProjectFile.text(path), path: path, isQuick: true)
        let folder = try Folder.fresh(under: "/tmp")
        defer { folder.remove() }
        let (workload, notes) = try await loaded.prepare(folder)
        #expect(workload.cases[0].systems.map(\.name) == ["sheaf", "sqlite"], "\(notes)")
    }

    @Test func `an error of a file begins with its location`() {
        let error = #expect(throws: LoadedWorkload.Malformed.self) {
            try WorkloadFile.load("[run]\ntasks = 0", path: "a/b.workload", isQuick: false)
        }
        #expect(error?.description.hasPrefix("a/b.workload:2:9: tasks must be") ?? false)
    }
}
