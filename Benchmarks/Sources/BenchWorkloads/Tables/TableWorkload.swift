package import BenchHarness

/// Tables and queries of an application.
package struct TableWorkload: Sendable {
    package let name: String
    package let summary: String
    /// Returns the tables, with a fifth of the rows if the run is quick.
    package let tables: @Sendable (_ isQuick: Bool) -> [FlatTable]
    package let queries: [TableQuery]

    /// The workloads of this program.
    package static let all = [catalog, retailJoins, pointOfSale, movies]

    /// Creates the workload from its tables and queries.
    package init(
        _ name: String, _ summary: String, queries: [TableQuery],
        tables: @escaping @Sendable (_ isQuick: Bool) -> [FlatTable]
    ) {
        self.name = name
        self.summary = summary
        self.queries = queries
        self.tables = tables
    }

    /// The case that measures the workload; its parts are the queries.
    package var test: Case {
        let (results, refused) = (TableResults(), RefusedQueries())
        func system(
            _ system: String,
            _ make: @escaping ([FlatTable], Stage) async throws -> any TableSystem
        ) -> System {
            System(system) { stage in
                try await TableTrial(self, results, refused, stage, system: system, make)
            }
        }
        return Case(
            name, "\(summary): geometric mean of \(queries.count) queries", unit: "µs", .lower,
            queries: queries.map(\.name),
            systems: [
                system(Figure.engine) { try await SheafTables($0, $1) },
                system("sqlite") { try SQLiteTables($0, $1) },
                system(DuckDBProcess.system) { try DuckDBTables($0, $1) },
            ])
    }
}
