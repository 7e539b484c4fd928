import BenchHarness
import Testing

@Suite struct CommandLineTests {
    private let workloads = [
        Workload(
            "storage", "",
            cases: [
                Case("durable-1", "", unit: "", .higher, hasLatencies: true, systems: []),
                Case("get-random", "", unit: "", .higher, systems: []),
            ]),
        Workload("tree", "", cases: [Case("tree-get", "", unit: "ns", .lower, systems: [])]),
    ]

    private func cases(_ names: String...) throws -> [String] {
        try Selection(names, from: workloads).workloads.flatMap { workload in
            workload.cases.map { "\(workload.name)/\($0.name)" }
        }
    }

    @Test func `options with values are one or two arguments; other arguments are names`() throws {
        let words = ["tree", "--json", "--rounds=7", "--baseline", "old", "--fail-over", "10%"]
        let arguments = try BenchmarkArguments(parsing: words)
        #expect(arguments.names == ["tree"])
        #expect(arguments.isJSON)
        #expect(arguments.rounds == 7)
        #expect(arguments.baseline == "old")
        #expect(arguments.failOver == 0.1)
    }

    @Test(arguments: [
        ["--jsn"], ["--rounds"], ["--rounds", "0"], ["--rounds", "many"], ["--json=yes"],
        ["--fail-over", "10%"], ["--baseline", "b", "--fail-over", "-1"],
        ["--baseline", "b", "--fail-over", "100"], ["--profile", "--baseline", "b"],
    ])
    func `invalid arguments are refused`(words: [String]) {
        #expect(throws: BenchmarkArguments.Misuse.self) {
            _ = try BenchmarkArguments(parsing: words)
        }
    }

    @Test func `run measures the workload of one file`() throws {
        let words = ["run", "shop.workload", "--plot", "charts", "--profile", "--quick"]
        let arguments = try BenchmarkArguments(parsing: words)
        #expect(arguments.file == "shop.workload" && arguments.names.isEmpty)
        #expect(arguments.plot == "charts" && arguments.isProfiled && arguments.isQuick)
        #expect(try BenchmarkArguments(parsing: ["run", "a", "--check"]).action == .check)
        #expect(throws: BenchmarkArguments.Misuse("run requires one workload file, not 0")) {
            try BenchmarkArguments(parsing: ["run", "--quick"])
        }
        #expect(throws: BenchmarkArguments.Misuse("run requires one workload file, not 2")) {
            try BenchmarkArguments(parsing: ["run", "a", "b"])
        }
        #expect(throws: BenchmarkArguments.Misuse("--check requires run FILE")) {
            try BenchmarkArguments(parsing: ["--check"])
        }
    }

    @Test func `the times of single queries are printed on request`() throws {
        #expect(try BenchmarkArguments(parsing: ["workloads", "--queries"]).showsQueries)
        #expect(try !BenchmarkArguments(parsing: ["workloads"]).showsQueries)
    }

    @Test func `help and version need no workload file`() throws {
        #expect(try BenchmarkArguments(parsing: ["run", "--help"]).action == .help)
        #expect(try BenchmarkArguments(parsing: ["run", "a", "b", "--version"]).action == .version)
    }

    @Test(arguments: [["run", "/nowhere/a.workload"], ["--chart", "/nowhere/lines"]])
    func `an unreadable file is invalid input`(words: [String]) async {
        struct NotLoaded: Error {}
        let command = BenchmarkCommand(workloads, version: "1") { _, _, _ in throw NotLoaded() }
        #expect(await command.run(words) == .badInput)
    }

    @Test func `an unknown option is reported with the nearest option`() {
        #expect(throws: BenchmarkArguments.Misuse("unknown option --jsn: did you mean --json?")) {
            _ = try BenchmarkArguments(parsing: ["--jsn"])
        }
        #expect(throws: BenchmarkArguments.Misuse("unknown option --duration")) {
            _ = try BenchmarkArguments(parsing: ["--duration", "3"])
        }
    }

    @Test func `names of workloads, cases and figures select cases in the defined order`() throws {
        #expect(try cases() == ["storage/durable-1", "storage/get-random", "tree/tree-get"])
        #expect(try cases("tree", "storage/get-random") == ["storage/get-random", "tree/tree-get"])
        #expect(try cases("storage/durable-1-p99") == ["storage/durable-1"])
    }

    @Test func `an unknown name is reported with the nearest name`() {
        let sentence = "unknown workload or case storge: did you mean storage?"
        #expect(throws: BenchmarkArguments.Misuse(sentence)) { try cases("storge") }
        #expect(throws: BenchmarkArguments.Misuse("unknown workload or case quxquxqux")) {
            try cases("quxquxqux")
        }
    }

    @Test func `the distance of two words is the minimum number of edits`() {
        #expect(Nearest.distance("", "abc") == 3)
        #expect(Nearest.distance("kitten", "sitting") == 3)
        #expect(Nearest.distance("tree", "tree") == 0)
    }
}
