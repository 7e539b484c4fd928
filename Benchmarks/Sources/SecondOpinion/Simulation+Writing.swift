import Sheaf
import SheafDocument
import SheafQuery
import SheafQueryModel
import SheafStatements

/// Writing statements, after which both databases must hold the same documents.
extension Simulation {
    func write(_ write: WriteTwin, _ tally: inout ComparisonRuns.Tally) throws {
        tally.writes += 1
        let context = report(write.sheaf, write.sqlite.map(\.text), write.arguments)
        func difference(_ problem: String) -> ComparisonRuns.Difference {
            ComparisonRuns.Difference(description: ([problem] + context).joined(separator: "\n  "))
        }
        let ids: [Value]?
        var returned: Answer?
        do {
            ids = try write.ids.map { try tables.run($0).map { $0[0] } }
            if write.isReturnedBefore { returned = try self.returned(write, ids) }
            for statement in write.sqlite { try tables.run(statement.text, statement.values) }
            if !write.isReturnedBefore { returned = try self.returned(write, ids) }
        } catch { throw difference("SQLite fails: \(error)") }
        let outcome: ResultStorage
        do throws(StoreError) { outcome = try store.execute(write.sheaf, write.arguments) } catch {
            throw difference("Sheaf fails: \(error)")
        }
        let mutated = outcome.mutatedIDs.sorted()
        if let ids = ids?.sorted(), mutated != ids {
            throw difference(
                "Sheaf writes \(Value.array(mutated).json), SQLite \(Value.array(ids).json)")
        }
        if let returned {
            let rows = try outcome.items.map {
                Value.object(try $0.object(outcome.names))
            }
            let found = answer(rows, write.returning.columns)
            if let problem = Answer.difference(found, returned, write.returning) {
                throw difference("RETURNING: " + problem)
            }
        }
        for collection in Schema.collections {
            let all = Self.everything(in: collection)
            let (found, expected) = (try answer(all), try tables.answer(all))
            if let problem = Answer.difference(found, expected, all) {
                throw difference("afterwards, in \(collection), " + problem)
            }
        }
    }

    /// Returns SQLite's values of the RETURNING columns, or nil if none are compared.
    private func returned(_ write: WriteTwin, _ ids: [Value]?) throws -> Answer? {
        guard let ids, !write.returning.columns.isEmpty else { return nil }
        var select = write.returning
        let list = ids.map(SQL.literal).joined(separator: ", ")
        select.from.sqlite += " WHERE _id IN (\(list))"
        return try tables.answer(select)
    }

    private static func everything(in collection: String) -> DualSelect {
        var select = DualSelect()
        select.columnTexts = ["*"]
        select.columns = Schema.all.map {
            DualSelect.Column(path: $0.path, dual: $0.dual(of: collection, isQualified: false))
        }
        select.from = (collection, collection)
        return select
    }
}
