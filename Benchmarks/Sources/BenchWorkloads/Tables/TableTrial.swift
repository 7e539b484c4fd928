import BenchHarness
import BenchStores
import SheafDocument

/// The queries of a table workload on one system, whose rows are compared with those of the others.
///
/// The value of a round is the geometric mean of the times of the queries, so that the ratio of two
/// systems is the geometric mean of their ratios.
final class TableTrial: Trial {
    private let system: any TableSystem
    private let queries: [TableQuery]
    /// The number of sets of arguments of each query.
    private let setCounts: [Int]
    private let results: TableResults
    private let refused: RefusedQueries
    private let name: String
    private let roundSeconds: Double
    /// The number of runs of each query per round.
    private var runs: [Int] = []

    /// The maximum number of runs of a query per round.
    private static let maximumRuns = 1_000

    /// Prepares a system, and compares the rows of all queries.
    init(
        _ workload: TableWorkload, _ results: TableResults, _ refused: RefusedQueries,
        _ stage: Stage, system name: String,
        _ make: ([FlatTable], Stage) async throws -> any TableSystem
    ) async throws {
        self.results = results
        self.refused = refused
        self.name = name
        queries = workload.queries
        roundSeconds = stage.scale.isQuick ? 0.003 : 0.01
        let tables = workload.tables(stage.scale.isQuick)
        system = try await make(tables, stage)
        let sets = queries.enumerated().map { number, query in
            query.sets(tables, seed: UInt64(number))
        }
        setCounts = sets.map(\.count)
        for (number, query) in queries.enumerated() {
            try await system.prepare(query, sets[number])
            try await compare(number, of: workload.name)
        }
    }

    /// Compares the rows of a query with those of the first system that executed it.
    private func compare(_ number: Int, of workload: String) async throws {
        let query = queries[number]
        for set in 0..<setCounts[number] {
            let rows: TableRows
            do {
                rows = try await system.rows(of: number, set: set)
            } catch  where name == Figure.engine {
                refused.insert(number)
                BenchmarkCommand.log("\(workload)/\(query.name): \(name) refuses it: \(error)")
                return
            }
            try results.compare(rows, of: "\(query.name), set \(set)")
        }
    }

    func run(round: Int) async throws -> Sample {
        if runs.isEmpty {
            for number in queries.indices {
                let once = isMeasured(number) ? try await system.time(number, runs: 1) : 1
                runs.append(max(1, min(Self.maximumRuns, Int(roundSeconds / once))))
            }
        }
        var parts: [String: Sample] = [:]
        var compared: [Double] = []
        for (number, query) in queries.enumerated() where isMeasured(number) {
            let elapsed = try await system.time(number, runs: runs[number])
            let microseconds = elapsed * 1e6 / Double(runs[number] * setCounts[number])
            parts[query.name] = Sample(microseconds)
            if !refused.contains(number) { compared.append(microseconds) }
        }
        return Sample(geometricMean(compared), parts: parts)
    }

    private func isMeasured(_ number: Int) -> Bool {
        name != Figure.engine || !refused.contains(number)
    }

    func finish() async throws {
        try await system.close()
    }
}

/// The queries that the engine refuses; they are in no geometric mean.
final class RefusedQueries {
    private var numbers = Set<Int>()

    func insert(_ query: Int) { numbers.insert(query) }

    func contains(_ query: Int) -> Bool { numbers.contains(query) }
}
