import BenchHarness
import Sheaf
import SheafDocument

/// A store with the documents of a table workload.
final class SheafTables: TableSystem {
    private let store: Sheaf.Store
    private var queries: [(text: DQL, sets: [QueryArguments])] = []

    init(_ tables: [FlatTable], _ stage: Stage) async throws {
        store = try await Sheaf.Store.open(at: "\(stage.memory.path)/tables.sheaf")
        for table in tables {
            let insertion = DQL(verbatim: "INSERT INTO \(table.name) DOCUMENTS (:document)")
            for start in stride(from: 0, to: table.rows.count, by: 1_000) {
                try await store.transaction { transaction in
                    for row in table.rows[start..<min(start + 1_000, table.rows.count)] {
                        try await transaction.execute(
                            insertion, QueryArguments(["document": .object(table.document(row))]))
                    }
                    return .commit
                }
            }
            for statement in table.dqlIndexes {
                try await store.execute(DQL(verbatim: statement))
            }
        }
    }

    func prepare(_ query: TableQuery, _ sets: [[String: Value]]) {
        queries.append((DQL(verbatim: query.dql), sets.map { QueryArguments($0) }))
    }

    func rows(of query: Int, set: Int) async throws -> TableRows {
        let result = try await store.execute(queries[query].text, queries[query].sets[set])
        let columns = result.columns ?? []
        let rows = try result.items.map { item in
            try columns.map { try item[$0] ?? .null }
        }
        return TableRows(columns: columns, rows: rows, changed: result.mutatedDocumentIDs.count)
    }

    func time(_ query: Int, runs: Int) async throws -> Double {
        let (text, sets) = queries[query]
        let start = now()
        for _ in 0..<runs {
            for arguments in sets { try Self.read(try await store.execute(text, arguments)) }
        }
        return seconds(since: start)
    }

    /// Reads each column of each row.
    private static func read(_ result: QueryResult) throws {
        guard let columns = result.columns else { return }
        var sum: UInt64 = 0
        for item in result.items {
            for column in columns {
                switch try item[column] {
                case .integer(let number)?: sum &+= UInt64(bitPattern: number)
                case .float(let number)?: sum &+= number.bitPattern
                case .string(let text)?: sum &+= UInt64(text.utf8.count)
                default: sum &+= 1
                }
            }
        }
        sink(sum)
    }

    func close() async throws { try await store.close() }
}
