import BenchHarness
import BenchStores
import Sheaf
import SheafDocument
import SheafEngine
import SheafQuery
import SheafStatements
import SheafStorage

/// A store with the cars and orders.
final class SheafQueries: QuerySystem {
    private let store: StoreEngine
    let queries: QueryEngine

    init(_ stage: Stage, hasColumns: Bool = true) throws {
        let volume = try PosixVolume(
            path: "\(stage.memory.path)/query.sheaf", creatingDirectory: true)
        store = try StoreEngine(opening: volume)
        let documents = try DocumentEngine(store)
        queries = QueryEngine(documents)
        try fill(documents, count: QueryCars.count) { index in
            guard case .object(let object) = try Value(json: Cars.text(index)) else { return nil }
            return DocumentChange("cars", .string(Cars.id(index)), .insert(object))
        }
        try fill(documents, count: QueryCars.orderCount) { index in
            DocumentChange(
                "orders", .integer(Int64(index)),
                .insert([
                    "car": .string(QueryCars.car(ofOrder: index)),
                    "amount": .integer(Int64(QueryCars.amount(ofOrder: index))),
                ]))
        }
        _ = try execute("CREATE INDEX a ON cars (mileage)")
        _ = try execute("CREATE INDEX b ON cars (year, mileage)")
        while try store.flush() {}
        if !hasColumns { _ = try execute("ALTER SYSTEM SET column_cache_bytes = 0") }
    }

    private func fill(
        _ documents: DocumentEngine, count: Int, _ make: (UInt64) throws -> DocumentChange?
    ) throws {
        for start in stride(from: 0, to: count, by: 1_000) {
            let changes = try (start..<min(start + 1_000, count)).compactMap {
                try make(UInt64($0))
            }
            _ = try documents.commit(changes) { batch throws(StorageError) in
                try store.append(batch)
            }
            try store.flush()
        }
    }

    private func execute(_ text: String) throws -> ResultStorage {
        let store = store
        let (statement, values) = try queries.prepare(DQL(verbatim: text), [:])
        return try queries.execute(
            statement, values,
            CommitSink(
                append: { batch throws(StorageError) in try store.append(batch) },
                flush: { () throws(StorageError) in while try store.flush() {} }))
    }

    func run(_ query: QueryCase) throws -> Int {
        let outcome = try execute(query.sheaf)
        let columns = outcome.columns ?? []
        var checksum: UInt64 = 0
        for item in outcome.items {
            if case .stored(let fields, let id, _) = item.content {
                checksum &+= UInt64(id[0]) &+ UInt64(fields.count)
                continue
            }
            for column in columns {
                switch try item.value(of: column, outcome.names) {
                case .integer(let number)?: checksum &+= UInt64(bitPattern: number)
                case .float(let number)?: checksum &+= number.bitPattern
                case .string(let text)?: checksum &+= UInt64(text.utf8.first ?? 0)
                default: checksum &+= 1
                }
            }
        }
        sink(checksum)
        return outcome.items.count
    }

    func rows(_ query: QueryCase) throws -> [[Value]] {
        let result = QueryResult(try execute(query.sheaf))
        let columns = result.columns ?? ["_id"]
        return try result.items.map { item in try columns.map { try item[$0] ?? .null } }
    }

    func close() {
        try? store.close()
    }
}

/// Parsing and planning of distinct statements.
final class ParsePlanTrial: Trial {
    private let queries: SheafQueries
    private let seconds: Double

    init(_ stage: Stage) throws {
        queries = try SheafQueries(stage)
        seconds = stage.scale.roundSeconds
    }

    /// Returns microseconds per statement.
    func run(round: Int) throws -> Sample {
        let start = now()
        var count = 0
        while BenchHarness.seconds(since: start) < seconds {
            for number in 0..<100 {
                try queries.plan(
                    "SELECT make, model FROM cars WHERE year = \(1990 + number % 35) "
                        + "AND mileage > \(count + number) ORDER BY mileage LIMIT 20")
            }
            count += 100
        }
        return Sample(BenchHarness.seconds(since: start) / Double(count) * 1e6)
    }

    func finish() {
        queries.close()
    }
}

extension SheafQueries {
    /// Parses and plans a statement.
    func plan(_ text: String) throws {
        try queries.makeRun(try Parser.parse(text)).prepare()
    }
}
