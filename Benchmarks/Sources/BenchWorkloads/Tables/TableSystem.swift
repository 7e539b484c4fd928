import SheafDocument

/// A database with the tables of a workload, which executes its queries.
protocol TableSystem: AnyObject {
    /// Prepares a query; its number is that of the calls before.
    func prepare(_ query: TableQuery, _ sets: [[String: Value]]) async throws

    /// Executes a query with one set of arguments, and returns its rows.
    func rows(of query: Int, set: Int) async throws -> TableRows

    /// Executes a query `runs` times with all sets; returns the seconds.
    func time(_ query: Int, runs: Int) async throws -> Double

    func close() async throws
}
