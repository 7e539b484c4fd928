/// A comparison of Sheaf and SQLite on a series of generated stores.
struct ComparisonRuns {
    struct Tally {
        var simulations = 0
        var queries = 0
        var writes = 0
        /// The number of results with rows; empty results show little.
        var answersWithRows = 0
        /// The number of joins refused because no index supports them.
        var refused = 0
    }

    /// A difference between the two databases.
    struct Difference: Error, CustomStringConvertible {
        let description: String
    }

    private(set) var tally = Tally()
    private let seed: UInt64
    private let tables: SQLiteTables

    init(seed: UInt64) throws {
        self.seed = seed
        tables = try SQLiteTables()
    }

    /// Compares the given number of queries; throws the first difference.
    mutating func run(queries: Int) throws {
        while tally.queries < queries {
            var simulation = try Simulation(seed &+ UInt64(tally.simulations), tables)
            defer { tally.simulations += 1 }
            try simulation.run(&tally, queries: queries)
        }
    }
}
