import BenchHarness
import Testing

@Suite struct BaselineTests {
    private func figures(
        _ values: [(system: String, value: Double)], better: Better = .higher
    ) -> [Figure] {
        let test = Case("durable-1", "", unit: "", better, systems: [])
        return values.flatMap { system, value in
            Figure.all(of: [Sample(value)], system: system, in: test, workload: "storage")
        }
    }

    private func baseline(_ figures: [Figure]) throws -> Baseline {
        try Baseline(
            parsing: figures.map { $0.line(machine: "a machine").text }.joined(separator: "\n"))
    }

    @Test func `a slower machine is no regression if a peer shows the same change`() throws {
        let before = try baseline(figures([("sheaf", 1_000), ("sqlite", 500)]))
        let changes = before.changes(to: figures([("sheaf", 500), ("sqlite", 250)]))
        #expect(changes.map(\.factor) == [1])
        #expect(changes.map(\.peers) == [["sqlite"]])
    }

    @Test func `a loss relative to the peers beyond the limit is a regression`() throws {
        let before = try baseline(figures([("sheaf", 1_000), ("sqlite", 500)]))
        let changes = before.changes(to: figures([("sheaf", 880), ("sqlite", 500)]))
        #expect(changes.map { $0.isRegression(beyond: 0.10) } == [true])
        #expect(changes.map { $0.isRegression(beyond: 0.13) } == [false])
        let description = changes.map(\.description)
        #expect(description == ["storage/durable-1: 12.0 % worse (against sqlite)"])
    }

    @Test func `a median spoiled by some slow rounds is no regression`() throws {
        let test = Case("tree-get", "", unit: "ns", .lower, systems: [])
        func run(_ rounds: [Double]) -> [Figure] {
            Figure.all(
                of: rounds.map { Sample($0) }, system: "sheaf", in: test, workload: "tree")
        }
        let before = try baseline(run([100, 101, 102]))
        let disturbed = before.changes(to: run([101, 180, 190]))
        #expect(disturbed.map { $0.isRegression(beyond: 0.1) } == [false])
        let slower = before.changes(to: run([150, 151, 152]))
        #expect(slower.map { $0.isRegression(beyond: 0.1) } == [true])
    }

    @Test func `raw values are compared if no peer is in both runs`() throws {
        let before = try baseline(figures([("sheaf", 10), ("lmdb", 1)], better: .lower))
        let changes = before.changes(to: figures([("sheaf", 20), ("sqlite", 9)], better: .lower))
        #expect(changes.map(\.factor) == [2])
        #expect(changes.map(\.peers) == [[]])
    }

    @Test func `the median over several peers ignores one disturbed peer`() throws {
        let before = try baseline(
            figures([("sheaf", 100), ("sqlite", 100), ("lmdb", 100), ("limit", 100)]))
        let changes = before.changes(
            to: figures([("sheaf", 100), ("sqlite", 10), ("lmdb", 100), ("limit", 100)]))
        #expect(changes.map(\.factor) == [1])
    }

    @Test func `the highest percentiles are shown and never fail a run`() throws {
        let test = Case("durable-1", "", unit: "", .higher, hasLatencies: true, systems: [])
        func run(_ slowest: UInt64) -> [Figure] {
            let sample = Sample(1, latencies: [1_000, slowest])
            return Figure.all(of: [sample], system: "sheaf", in: test, workload: "storage")
        }
        let changes = try baseline(run(2_000)).changes(to: run(90_000))
        let failing = changes.filter { $0.isRegression(beyond: 0.1) }.map(\.figure.name)
        #expect(failing == ["durable-1-p95", "durable-1-p99"])
        #expect(changes.contains { $0.figure.name == "durable-1-max" && $0.factor == 45 })
    }

    private static let machine =
        "P, 2 cores, 8 GiB, Linux 6.1, ext4, Swift 6.3, release"

    /// Returns the reason why a run is not compared with a baseline of these conditions.
    private func refusal(
        _ run: RunConditions, baseline before: RunConditions, name: String = "storage/durable-1"
    ) throws -> String? {
        let lines = figures([("sheaf", 1_000)]).map { $0.line(under: before).text }
        let baseline = try Baseline(parsing: lines.joined(separator: "\n"))
        do {
            try baseline.check(run, names: [name])
            return nil
        } catch {
            return error.description
        }
    }

    @Test func `runs of different kinds are not compared`() throws {
        let beginning = "cannot compare with the baseline: storage/durable-1 was measured "
        func conditions(
            _ machine: String = Self.machine, isQuick: Bool = false, durability: String? = "full",
            file: String? = "1f"
        ) -> RunConditions {
            RunConditions(machine: machine, isQuick: isQuick, durability: durability, file: file)
        }
        let run = conditions()
        #expect(try refusal(run, baseline: run) == nil)
        let other = Self.machine.replacing("6.1", with: "6.2").replacing("6.3", with: "6.4")
        #expect(try refusal(run, baseline: conditions(other)) == nil)
        #expect(
            try refusal(run, baseline: conditions(isQuick: true))
                == beginning + "with --quick, and this run is without")
        #expect(
            try refusal(conditions(isQuick: true), baseline: run)
                == beginning + "without --quick, and this run is with it")
        for (old, new) in [("P", "Q"), ("2 cores", "4 cores"), ("8 GiB", "9 GiB"), ("ext4", "xfs")]
        {
            let machine = Self.machine.replacing(old, with: new)
            let found = try refusal(run, baseline: conditions(machine))
            #expect(found?.hasPrefix(beginning + "on another machine (") ?? false, "\(new)")
        }
        #expect(
            try refusal(run, baseline: conditions(durability: "relaxed"))
                == beginning + "with durability relaxed, not full")
        #expect(
            try refusal(run, baseline: conditions(file: "2f"))
                == beginning + "with other contents of the workload file")
        #expect(try refusal(run, baseline: conditions(file: nil)) != nil)
        #expect(
            try refusal(run, baseline: run, name: "storage/durable-8")
                == "cannot compare with the baseline: it has no figure of this run")
    }

    @Test func `a baseline that does not state its mode is refused`() throws {
        let baseline = try baseline(figures([("sheaf", 1_000)]))
        let run = RunConditions(machine: "a machine", isQuick: false)
        let error = #expect(throws: Baseline.Unlike.self) {
            try baseline.check(run, names: ["storage/durable-1"])
        }
        #expect(error?.description.contains("does not state whether") ?? false)
    }

    @Test func `an invalid line is reported with its number`() {
        let text = "\n{\"workload\":\"storage\"}\n"
        let error = #expect(throws: Baseline.Malformed.self) { _ = try Baseline(parsing: text) }
        #expect(error?.line == 2)
    }

    @Test func `the JSON line of a figure begins with documented keys and can be parsed`() throws {
        let line = try #require(figures([("sheaf", 1_234.5678)]).first).line(machine: "a \"b\"")
        let begin = """
            {"workload":"storage","case":"durable-1","system":"sheaf","value":1234.568,"unit":"",\
            "better":"higher",
            """
        #expect(line.text.hasPrefix(begin))
        #expect(try BenchmarkJSONLine(parsing: line.text) == line)
    }
}
