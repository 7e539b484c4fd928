import SheafDocument
package import SheafReference
import SheafStatements
import SheafStore

/// The execution of the examples of the reference, each in a new store with the samples.
package enum ReferenceRun {
    /// Returns the lines of the result of an example, in the form of the reference.
    package static func result(of example: ReferenceExample) async throws -> [String] {
        let store = try await Store.inMemory()
        for statement in Reference.samples + example.setup {
            try await store.execute(DQL(verbatim: statement))
        }
        let lines = try await lines(of: example, in: store)
        try await store.close()
        return lines
    }

    private static func lines(
        of example: ReferenceExample, in store: Store
    ) async throws -> [String] {
        do {
            let result = try await store.execute(DQL(verbatim: example.statement))
            var lines = try result.items.map { try $0.jsonString }
            if example.isExpression { return lines.map(value) }
            let count = result.mutatedDocumentIDs.count
            let isChange = ["INSERT", "UPDATE", "DELETE", "EVICT"].contains {
                example.statement.hasPrefix($0)
            }
            if lines.isEmpty, isChange {
                lines.append("\(count) document\(count == 1 ? "" : "s") changed")
            }
            return lines.isEmpty ? ["no rows"] : lines
        } catch let error as StoreError {
            return ["error: \(error.message)"] + (error.hint.map { ["(\($0))"] } ?? [])
        }
    }

    /// Returns the value in a row with the only column `result`.
    private static func value(in row: String) -> String {
        row == "{}" ? "MISSING" : String(row.dropFirst(#"{"result":"#.count).dropLast())
    }
}
