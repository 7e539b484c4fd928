import SheafDocument
import SheafQuery
import SheafStatements
import SheafStore

/// The outcome of the comparison of a generated statement.
enum ComparisonOutcome {
    case same, refused, failed
}

extension QuerySimulation {
    /// Compares the results of a SELECT in the engine and in the naive evaluator.
    func compare(
        _ select: Select, _ arguments: [String: Value], on reader: SnapshotReader,
        _ context: String
    ) throws -> ComparisonOutcome {
        let text = Statement(
            text: "", body: .select(select), directives: [], parameters: []
        ).description
        func difference(_ problem: String) -> QueryDifference {
            QueryDifference(problem, text, arguments, context + ", " + indexText())
        }
        let statement: Statement
        do { statement = try Parser.parse(text) } catch {
            throw difference("it does not parse: \(error)")
        }
        // The parsed tree is used: different trees may print the same text.
        guard case .select(let parsed) = statement.body else {
            throw difference("it is not a SELECT")
        }
        let expected: NaiveRows
        do throws(StoreError) { expected = try naive(parsed, arguments) } catch {
            guard error.reason == .meaning else { return .failed }
            do throws(StoreError) { _ = try rows(statement, arguments, reader) } catch {
                return error.reason == .meaning ? .refused : .failed
            }
            throw difference("it is not refused: \(error)")
        }
        do {
            let found = try rows(statement, arguments, reader)
            guard let problem = RowComparison.difference(found, expected) else { return .same }
            throw difference(problem)
        } catch let error as StoreError {
            if error.isRefusal { return .refused }
            throw difference("it fails: \(error)")
        }
    }

    /// Checks document counts against the model: of a collection, after an id, and in `system:`.
    func compareCounts(
        behind id: Int64, isPending: Bool, on reader: SnapshotReader, _ context: String
    ) throws {
        for (collection, documents) in documents {
            let countAfter = documents.keys.count {
                if case .integer(let number) = $0 { number > id } else { false }
            }
            var counts = [
                ("SELECT COUNT(*) AS n FROM \(collection)", documents.count),
                ("SELECT COUNT(*) AS n FROM \(collection) WHERE _id > :id", countAfter),
            ]
            if !isPending {
                let system = "SELECT documents AS n FROM system:collections"
                counts.append(("\(system) WHERE name = '\(collection)'", documents.count))
            }
            for (text, expected) in counts {
                let arguments: [String: Value] = ["id": .integer(id)]
                let found = try rows(Parser.parse(text), arguments, reader)
                guard found != [["n": .integer(Int64(expected))]] else { continue }
                throw QueryDifference(
                    "expected \(expected), found \(found)", text, arguments,
                    context + ", " + indexText())
            }
        }
    }

    /// Checks that the rows with a true, false, NULL and MISSING condition partition all rows.
    func comparePartition(
        _ condition: Expression, _ arguments: [String: Value], on reader: SnapshotReader,
        _ context: String
    ) throws {
        let nowhere = condition.range
        let truth = Expression(
            .and([condition, Expression(.literal(true), at: nowhere)]), at: nowhere)
        let parts: [Expression] = [
            condition, Expression(.not(condition), at: nowhere),
            Expression(.test(.null, truth, isNegated: false), at: nowhere),
            Expression(.test(.missing, truth, isNegated: false), at: nowhere),
        ]
        let found: [String]
        do throws(StoreError) { found = try ids(parts, arguments, reader) } catch {
            if error.takesTooLong { return }
            throw error
        }
        let all = (documents["t"] ?? [:]).keys.map { RowComparison.json(["_id": $0]) }
        guard found.sorted() == all.sorted() else {
            throw QueryDifference(
                "\(found.count) of \(all.count) rows in the partitions", condition.description,
                arguments, context + ", " + indexText())
        }
    }

    /// Returns the ids of the documents that satisfy the first condition, the second, and so on.
    private func ids(
        _ conditions: [Expression], _ arguments: [String: Value], _ reader: SnapshotReader
    ) throws(StoreError) -> [String] {
        var found: [String] = []
        for condition in conditions {
            let nowhere = condition.range
            var select = Select(
                columns: [.expression(Expression(.path(["_id"]), at: nowhere), alias: nil)],
                source: Source(Name("t", at: nowhere)))
            select.condition = condition
            let statement = Statement(
                text: "", body: .select(select), directives: [], parameters: [])
            let rows = try rows(Parser.parse(statement.description), arguments, reader)
            found += rows.map(RowComparison.json)
        }
        return found
    }
}

extension StoreError {
    /// Whether the naive evaluator cannot predict the error: a join without an index, an ambiguous
    /// name, or a loop that exceeds its limit.
    var isRefusal: Bool {
        message.hasPrefix("Joining to") || message.hasSuffix("is ambiguous") || takesTooLong
    }

    /// Whether a nested loop exceeds its limit, which the naive evaluator does not have.
    var takesTooLong: Bool {
        reason == .limit && message.hasPrefix("a loop within a loop takes more than")
    }
}
