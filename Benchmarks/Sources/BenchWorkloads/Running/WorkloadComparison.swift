package import BenchHarness
import Sheaf
import SheafDocument
import SheafQuery

/// A comparison of both systems on a sample of a workload, before it is measured.
package struct WorkloadComparison {
    /// A difference between the results.
    package struct Difference: Error, CustomStringConvertible {
        package let description: String
    }

    /// A statement that one of the systems refuses.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// Maximum repetitions of a setup step.
    private static let setupLimit = 2_000
    /// Number of operations of each kind.
    private static let operations = 25
    /// Maximum repetitions within an operation, which may use up the documents of the setup.
    private static let timesLimit = 10

    private let file: WorkloadFile
    private let statements: SQLiteStatements
    private let store: SheafWorkloadStore
    private let session: SQLiteWorkloadSession
    private let path: String

    /// Executes the setup and some operations of each kind on both systems, in an empty directory.
    ///
    /// Rows are compared after each statement, and all documents at the end.
    package static func run(
        _ file: WorkloadFile, _ statements: SQLiteStatements, in folder: Folder
    ) async throws {
        let store = try await SheafWorkloadStore(file, path: folder.path, isDurable: true)
        let path = "\(folder.path)/comparison.sqlite"
        let session = try SQLiteWorkloadSession(
            path, statements.setup + statements.mix, isDurable: false)
        let comparison = WorkloadComparison(
            file: file, statements: statements, store: store, session: session, path: path)
        let result: Result<Void, any Error>
        do {
            result = .success(try await comparison.compare())
        } catch {
            result = .failure(error)
        }
        session.close()
        try await store.store.close()
        try result.get()
    }

    private func compare() async throws {
        try statements.createTables(session.database)
        let state = GeneratorState(file)
        try await WorkloadSetup.run(file, state, limit: Self.setupLimit) { operation in
            try await compare(file.setup[operation.step], operation, session: operation.step)
        }
        try await compareDocuments("the setup")
        var run = GeneratorRun(state, RandomSource(seed: file.settings.seed, stream: .max))
        for _ in 0..<Self.operations {
            for (number, step) in file.mix.enumerated() {
                let times = min(step.times, Self.timesLimit)
                let operation: WorkloadOperation
                do {
                    operation = try WorkloadOperation(step, number: number, times: times, &run)
                } catch {
                    throw Failure(description: "\(step.name): \(error)")
                }
                try await compare(step, operation, session: file.setup.count + number)
                state.finish(operation.newIDs)
            }
        }
        try await compareDocuments("the operations")
    }

    private func compare(
        _ step: WorkloadFile.Step, _ operation: WorkloadOperation, session number: Int
    ) async throws {
        do {
            let prepared = try session.statements(number)
            for arguments in operation.arguments {
                for (statement, sqlite) in zip(step.statements, prepared) {
                    try await compare(step.name, statement, sqlite, arguments)
                }
            }
        } catch let difference as Difference {
            throw difference
        } catch {
            throw Failure(description: "\(step.name): \(error)")
        }
    }

    private func compare(
        _ name: String, _ statement: Statement, _ sqlite: SQLiteStatement,
        _ arguments: [String: Value]
    ) async throws {
        let result = try await store.store.execute(
            DQL(verbatim: statement.text), QueryArguments(arguments))
        var sheaf: [[Value]] = []
        for item in result.items {
            guard let columns = result.columns else {
                sheaf.append([.object(try item.value)])
                continue
            }
            sheaf.append(try columns.map { try item[$0] ?? .null })
        }
        var other: [[Value]] = []
        _ = try sqlite.run(sqlite.values(of: arguments)) { other.append($0.row) }
        let question = RowComparison(sheaf: sheaf, sqlite: other)
        guard case .select(let select) = statement.body else {
            return try check(question.isSameSet, name, statement, question)
        }
        guard select.ordering.limit == nil, select.ordering.offset == nil else {
            try check(sheaf.count == other.count, name, statement, question)
            // Either choice among rows with equal keys is correct, so the rows are searched among
            // those without LIMIT.
            var unlimited = select
            unlimited.ordering = Ordering(terms: select.ordering.terms)
            let all = try rows(unlimited, name, arguments)
            try check(
                RowComparison(sheaf: sheaf, sqlite: all).isSubset, name, statement, question)
            return try await compareKeys(select, name, statement, arguments, question)
        }
        try check(question.isSameSet, name, statement, question)
        try await compareKeys(select, name, statement, arguments, question)
    }

    /// Compares the keys of ORDER BY in order; rows with equal keys have any order.
    private func compareKeys(
        _ select: Select, _ name: String, _ statement: Statement, _ arguments: [String: Value],
        _ question: RowComparison
    ) async throws {
        guard !select.ordering.terms.isEmpty, select.groups.isEmpty, !select.isDistinct else {
            let isOrdered = select.ordering.terms.isEmpty || question.isSameSequence
            return try check(isOrdered, name, statement, question)
        }
        var keys = select
        keys.columns = select.ordering.terms.enumerated().map { index, term in
            .expression(term.expression, alias: Name("key\(index)", at: term.expression.range))
        }
        let text = Statement(text: "", body: .select(keys), directives: [], parameters: [])
            .description
        let result = try await store.store.execute(
            DQL(verbatim: text), QueryArguments(arguments))
        let sheaf = try result.items.map { item in
            try keys.columns.indices.map { try item["key\($0)"] ?? .null }
        }
        let other = try rows(keys, name, arguments)
        try check(
            RowComparison(sheaf: sheaf, sqlite: other).isSameSequence, name, statement, question)
    }

    /// Returns the rows of a SELECT of SQLite.
    private func rows(
        _ select: Select, _ name: String, _ arguments: [String: Value]
    ) throws -> [[Value]] {
        let step = (file.setup + file.mix).first { $0.name == name }
        let kinds = Dictionary(
            (step?.arguments ?? []).map { ($0.name, $0.generator.kind) }, uniquingKeysWith: { $1 })
        let statement = Statement(text: "", body: .select(select), directives: [], parameters: [])
        let sqlite = try session.database.prepare(
            try SQLTranslator.translate(statement, kinds: kinds))
        var rows: [[Value]] = []
        _ = try sqlite.run(sqlite.values(of: arguments)) { rows.append($0.row) }
        return rows
    }

    private func compareDocuments(_ occasion: String) async throws {
        for collection in statements.collections {
            let text = "SELECT * FROM `\(collection)`"
            let result = try await store.store.execute(DQL(verbatim: text))
            let sheaf = try result.items.map { [Value.object(try $0.value)] }
            let translation = SQLTranslator.Translation(
                sql: "SELECT _id, doc FROM \(SQLTranslator.quoted(collection))",
                collections: [collection], columns: nil, documents: [])
            var other: [[Value]] = []
            let statement = try session.database.prepare(translation)
            _ = try statement.run([]) { other.append($0.row) }
            let question = RowComparison(sheaf: sheaf, sqlite: other)
            guard question.isSameSet else {
                throw Difference(
                    description: "the documents of \(collection) differ after \(occasion): "
                        + question.description)
            }
        }
    }

    private func check(
        _ isEqual: Bool, _ name: String, _ statement: Statement, _ question: RowComparison
    ) throws {
        guard !isEqual else { return }
        let text = WorkloadFileError.shortened(statement.description, to: 200)
        throw Difference(description: "\(name): \(text) has other rows: \(question.description)")
    }
}
