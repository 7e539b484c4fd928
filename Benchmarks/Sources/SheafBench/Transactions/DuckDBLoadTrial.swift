import BenchHarness
import BenchStores
import BenchWorkloads
import SheafDocument

/// A load of an empty DuckDB file.
final class DuckDBLoadTrial: Trial {
    /// The way in which cars are loaded.
    enum Way {
        /// Durable transactions of 1,000 cars: JSON texts with a primary key, from a table in
        /// memory.
        case transactions
        /// One statement that reads a file of JSON lines into typed columns without a key.
        case file
    }

    private let process: DuckDBProcess
    private let folder: Folder
    private let path: String
    private let count: Int
    private let way: Way

    init(_ stage: Stage, count: Int, _ way: Way) throws {
        self.count = count
        self.way = way
        folder = stage.disk
        path = "\(stage.memory.path)/cars.jsonl"
        process = try DuckDBProcess()
        try DuckDBCars.write(count, to: path)
        guard way == .transactions else { return }
        try process.execute(
            "CREATE TABLE source AS SELECT n, id, doc FROM \(DuckDBCars.source(path))")
    }

    func run(round: Int) throws -> Sample {
        let folder = try folder.child("round-\(round)")
        defer { folder.remove() }
        try process.execute("ATTACH '\(folder.path)/cars.duckdb' AS disk")
        let elapsed = try load()
        try process.prepare("count", "SELECT COUNT(*) FROM disk.cars")
        guard case .integer(Int64(count))? = try process.rows(of: "count").rows.first?.first else {
            throw StoreFailure(description: "DuckDB has a different number of cars")
        }
        try process.execute("DETACH disk")
        return Sample(Double(count) / elapsed)
    }

    private func load() throws -> Double {
        switch way {
        case .file:
            return try process.execute(
                "CREATE TABLE disk.cars AS \(DuckDBCars.columns(from: path))")
        case .transactions:
            try process.execute("CREATE TABLE disk.cars(id VARCHAR PRIMARY KEY, doc JSON)")
            let size = CarPeer.count
            let sets = stride(from: 0, to: count, by: size).map { first in
                ["first": Value.integer(Int64(first)), "end": .integer(Int64(first + size))]
            }
            // Each statement is a transaction, whose commit syncs the log.
            try process.prepare(
                "load",
                "INSERT INTO disk.cars SELECT id, doc FROM source WHERE n >= $first AND n < $end",
                sets)
            return try process.time("load", runs: 1)
        }
    }

    func finish() { process.end() }
}
