/// Lives of stores whose statements are run by SQLite as well.
struct Opinions {
    struct Tally {
        var lives = 0
        var queries = 0
        var writes = 0
        /// Answers that have rows; the others say little.
        var answersWithRows = 0
        /// Joins that no index supports.
        var refused = 0
    }

    /// What the two do not agree on.
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

    /// Goes on until there were so many queries; throws the first difference.
    mutating func run(queries: Int) throws {
        while tally.queries < queries {
            var life = try Life(seed &+ UInt64(tally.lives), tables)
            defer { tally.lives += 1 }
            try life.run(&tally, queries: queries)
        }
    }
}
