import BenchHarness
import Synchronization
import Testing

@Suite struct RunnerTests {
    /// A trial that records its name and round in a shared list.
    private final class Writer: Trial {
        private let name: String
        private let notes: Notes

        init(_ name: String, _ notes: Notes) {
            self.name = name
            self.notes = notes
        }

        func run(round: Int) -> Sample {
            notes.write("\(name)\(round)")
            return Sample(Double(round))
        }

        func finish() throws {
            notes.write("\(name)-end")
        }
    }

    private struct Broken: Error {}

    private func run(_ systems: [System], rounds: Int) async throws -> Runner.Outcome {
        let folder = try Folder.fresh(under: "/tmp")
        defer { folder.remove() }
        let runner = Runner(
            scale: Scale(isQuick: true, rounds: rounds), disk: folder, memory: folder,
            log: { _ in })
        let test = Case("turns", "", unit: "rounds", .higher, systems: systems)
        return await runner.run(test, of: "order")
    }

    @Test func `systems warm up, then alternate, then finish`() async throws {
        let notes = Notes()
        let systems = ["a", "b"].map { name in System(name) { _ in Writer(name, notes) } }
        let outcome = try await run(systems, rounds: 3)
        let turns = ["a0", "b0", "a1", "b1", "a2", "b2", "a3", "b3", "a-end", "b-end"]
        #expect(notes.read() == turns)
        #expect(outcome.figures.map(\.value) == [2, 2])
        #expect(outcome.failures.isEmpty)
    }

    @Test func `a failing system reports no figure and does not stop the others`() async throws {
        let notes = Notes()
        let systems = [
            System("broken") { _ in throw Broken() }, System("working") { _ in Writer("w", notes) },
        ]
        let outcome = try await run(systems, rounds: 1)
        #expect(outcome.failures == ["broken"])
        #expect(outcome.figures.map(\.system) == ["working"])
    }

    @Test func `a system that is not installed is left out, and is no failure`() async throws {
        let notes = Notes()
        let systems = [
            System("absent") { _ in throw SystemUnavailable("it is not installed") },
            System("working") { _ in Writer("w", notes) },
        ]
        let outcome = try await run(systems, rounds: 1)
        #expect(outcome.failures.isEmpty)
        #expect(outcome.figures.map(\.system) == ["working"])
    }

    /// A trial with two queries, of which the engine refuses one.
    private final class Queries: Trial {
        private let times: [String: Double]

        init(_ times: [String: Double]) {
            self.times = times
        }

        func run(round: Int) -> Sample {
            Sample(geometricMean(Array(times.values)), parts: times.mapValues { Sample($0) })
        }

        func finish() {}
    }

    @Test func `figures of queries are apart, and their table begins with the slowest`()
        async throws
    {
        let folder = try Folder.fresh(under: "/tmp")
        defer { folder.remove() }
        let runner = Runner(
            scale: Scale(isQuick: true, rounds: 1), disk: folder, memory: folder, log: { _ in })
        let test = Case(
            "shop", "", unit: "µs", .lower, queries: ["fast", "slow", "refused"],
            systems: [
                System("sheaf") { _ in Queries(["fast": 2, "slow": 8]) },
                System("sqlite") { _ in Queries(["fast": 4, "slow": 2, "refused": 1]) },
            ])
        let outcome = await runner.run(test, of: "workloads")
        #expect(outcome.figures.filter { !$0.isQuery }.map(\.value).first == 4)
        #expect(outcome.figures.filter(\.isQuery).count == 5)
        #expect(test.figureNames == ["shop", "shop/fast", "shop/slow", "shop/refused"])
        let lines = Table.queries(outcome.figures).map { line in
            line.split(separator: " ").map(String.init)
        }
        #expect(
            lines == [
                [], ["workloads/shop", "sheaf", "µs", "sqlite", "µs", "sheaf/sqlite"],
                ["slow", "8.00", "2.00", "4.00"], ["fast", "2.00", "4.00", "0.50"],
                ["refused", "-", "1.00", "-"],
            ])
    }
}

/// A list of entries shared by several trials.
private final class Notes: Sendable {
    private let entries = Mutex<[String]>([])

    func write(_ entry: String) {
        entries.withLock { $0.append(entry) }
    }

    func read() -> [String] {
        entries.withLock { $0 }
    }
}
