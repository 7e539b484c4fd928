import SheafDocument
import SheafQuery
import SheafQueryModel
import SheafTestSupport

/// A store and the SQLite tables with the same documents.
struct Simulation {
    private let seed: UInt64
    let tables: SQLiteTables
    let store: QuerySimulation
    private var random: SeededRandom
    private var selects: SelectMaker
    private var writes: WriteMaker
    private var isPending = false

    init(_ seed: UInt64, _ tables: SQLiteTables) throws {
        self.seed = seed
        self.tables = tables
        store = try QuerySimulation(seed: seed)
        random = SeededRandom(seed: seed, "opinions")
        selects = SelectMaker(seed: seed)
        writes = WriteMaker(seed: seed)
        try tables.clear()
    }

    /// Runs six phases, each with some writes followed by queries.
    mutating func run(_ tally: inout ComparisonRuns.Tally, queries: Int) throws {
        for collection in Schema.collections {
            try write(
                writes.insert(into: collection, count: 4 + random.below(28)), &tally)
        }
        for phase in 0..<6 {
            if phase == 1 || phase > 1 && random.chance(1, in: 2) {
                for _ in 0..<random.below(4) { try makeIndex() }
            }
            switch random.below(6) {
            case 0: try store.compact()
            case 1: try store.reopen()
            default: break
            }
            isPending = random.chance(1, in: 3)
            for _ in 0..<random.below(10) { try write(writes.write(), &tally) }
            for _ in 0..<160 where tally.queries < queries {
                tally.queries += 1
                try compare(selects.select(), &tally)
            }
        }
    }

    private mutating func makeIndex() throws {
        let text = writes.index()
        // Another index may already have this name.
        do throws(StoreError) { try store.execute(text) } catch {
            guard error.reason == .meaning else { throw error }
        }
    }

    // MARK: Reading

    private func compare(_ select: DualSelect, _ tally: inout ComparisonRuns.Tally) throws {
        let found: Answer
        do {
            found = try answer(select)
        } catch let error as StoreError {
            guard error.message.hasPrefix("Joining to") else {
                throw difference("Sheaf fails: \(error)", select, [])
            }
            tally.refused += 1
            return
        }
        let expected: Answer
        do { expected = try tables.answer(select) } catch {
            throw difference("SQLite fails: \(error)", select, [])
        }
        if !expected.rows.isEmpty { tally.answersWithRows += 1 }
        guard let problem = Answer.difference(found, expected, select) else { return }
        throw difference(problem, select, [("Sheaf", found), ("SQLite", expected)])
    }

    /// Returns Sheaf's result of a query.
    func answer(_ select: DualSelect) throws -> Answer {
        let rows = try store.rows(select.sheaf, select.arguments, isPending: isPending)
        return answer(rows, select.columns)
    }

    /// Extracts the columns from rows.
    func answer(_ rows: [Value], _ columns: [DualSelect.Column]) -> Answer {
        Answer(
            rows: rows.map { row in
                columns.map { column in
                    var value: Value? = row
                    for name in column.path {
                        guard case .object(let object)? = value else { return nil }
                        value = object[name]
                    }
                    return value
                }
            })
    }

    // MARK: Reports

    private func difference(
        _ problem: String, _ select: DualSelect, _ answers: [(String, Answer)]
    ) -> ComparisonRuns.Difference {
        var lines = [problem] + report(select.sheaf, [select.sqlite], select.arguments)
        for (name, answer) in answers {
            lines.append("rows of \(name):")
            lines += answer.lines(isLoose: select.isLoose).map { "  " + $0 }
        }
        return ComparisonRuns.Difference(description: lines.joined(separator: "\n  "))
    }

    /// Describes the statement in both languages, its arguments, the indexes and the documents.
    func report(
        _ sheaf: String, _ sqlite: [String], _ arguments: [String: Value]
    ) -> [String] {
        var lines = ["Sheaf: " + sheaf]
        lines += arguments.sorted { $0.key < $1.key }.map { "  \($0.key) = \($0.value.json)" }
        lines += sqlite.map { "SQLite: " + $0 }
        lines.append(
            "seed \(seed), \(isPending ? "pending" : "durable"), \(store.indexText())")
        for collection in Schema.collections {
            lines.append("documents of \(collection):")
            let rows = try? store.rows("SELECT * FROM \(collection)", isPending: true)
            lines += (rows ?? []).map { "  " + $0.json }
        }
        return lines
    }
}
