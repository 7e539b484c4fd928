import BenchHarness
import SheafDocument
import SheafQuery
import Synchronization

/// The statements of a workload file for SQLite.
package struct SQLiteStatements: Sendable {
    package let setup: [[SQLTranslator.Translation]]
    package let mix: [[SQLTranslator.Translation]]

    /// The statements that have no counterpart, with the reasons.
    package struct Untranslatable: Error {
        package let reasons: [String]
    }

    /// Translates all statements.
    package init(_ file: WorkloadFile) throws(Untranslatable) {
        var reasons: [String] = []
        func translations(_ step: WorkloadFile.Step) -> [SQLTranslator.Translation] {
            let kinds = Dictionary(
                step.arguments.map { ($0.name, $0.generator.kind) }, uniquingKeysWith: { $1 })
            return step.statements.compactMap { statement in
                do {
                    return try SQLTranslator.translate(statement, kinds: kinds)
                } catch {
                    let text = WorkloadFileError.shortened(statement.description)
                    reasons.append("\(step.name): \(error) (\(text))")
                    return nil
                }
            }
        }
        setup = file.setup.map(translations)
        mix = file.mix.map(translations)
        guard reasons.isEmpty else { throw Untranslatable(reasons: reasons) }
    }

    /// The collections of all statements.
    var collections: [String] {
        Set((setup + mix).joined().flatMap(\.collections)).sorted()
    }

    /// Creates the tables in a new database.
    func createTables(_ database: SQLiteDatabase) throws {
        for collection in collections { try database.createTable(collection) }
    }
}

/// The steps of a workload file on one connection.
final class SQLiteWorkloadSession {
    let database: SQLiteDatabase
    private let translations: [[SQLTranslator.Translation]]
    private var prepared: [[SQLiteStatement]?]

    /// Opens a connection for the setup or for the mix.
    init(_ path: String, _ translations: [[SQLTranslator.Translation]], isDurable: Bool) throws {
        database = try SQLiteDatabase(path, isDurable: isDurable)
        self.translations = translations
        prepared = Array(repeating: nil, count: translations.count)
    }

    /// Returns the statements of a step; they are compiled on the first call, which may require
    /// tables.
    func statements(_ step: Int) throws -> [SQLiteStatement] {
        if let statements = prepared[step] { return statements }
        let statements = try translations[step].map { try database.prepare($0) }
        prepared[step] = statements
        return statements
    }

    /// Returns the values for each repetition and statement.
    func values(_ operation: WorkloadOperation) throws -> [[[Value]]] {
        let statements = try statements(operation.step)
        return operation.arguments.map { arguments in
            statements.map { $0.values(of: arguments) }
        }
    }

    /// Executes a step, passes each row, and returns their number.
    func run(
        _ step: Int, _ values: [[[Value]]], isReading: Bool, _ body: (SQLiteStatement) -> Void
    ) throws -> Int {
        let statements = try statements(step)
        let isTransaction = statements.count > 1 || values.count > 1
        if isTransaction { try database.execute(isReading ? "BEGIN" : "BEGIN IMMEDIATE") }
        var rows = 0
        do {
            for values in values {
                for (statement, values) in zip(statements, values) {
                    rows += try statement.run(values, body)
                }
            }
        } catch {
            if isTransaction { try? database.execute("ROLLBACK") }
            throw error
        }
        if isTransaction { try database.execute("COMMIT") }
        return rows
    }

    func close() {
        prepared = []
        database.close()
    }
}

/// The rounds of a workload file on SQLite, with one thread and connection per caller.
final class SQLiteWorkloadTrial: Trial {
    private let file: WorkloadFile
    private let statements: SQLiteStatements
    private let state: GeneratorState
    private let path: String
    private var sources: [OperationSource]

    /// Creates a database and executes the setup.
    init(_ file: WorkloadFile, _ statements: SQLiteStatements, _ stage: Stage) async throws {
        self.file = file
        self.statements = statements
        state = GeneratorState(file)
        path = "\(stage.disk.path)/workload.sqlite"
        let session = try SQLiteWorkloadSession(path, statements.setup, isDurable: false)
        defer { session.close() }
        try statements.createTables(session.database)
        try await WorkloadSetup.run(file, state) { operation in
            _ = try session.run(
                operation.step, try session.values(operation), isReading: false
            ) { _ in }
        }
        try session.database.execute("ANALYZE")
        let state = state
        sources = (0..<file.settings.tasks).map { OperationSource(file, state, task: $0) }
    }

    func run(round: Int) throws -> Sample {
        let tallies = file.tallies(round: round)
        let (path, statements, file, state, sources) = (path, statements, file, state, sources)
        let results = Mutex<[Result<(Int, OperationSource, OperationTally), any Error>]>([])
        let line = StartLine(sources.count)
        Threads.run(sources.count) { task in
            let result = Result {
                let session = Result {
                    try SQLiteWorkloadSession(
                        path, statements.mix, isDurable: file.settings.durability == .full)
                }
                // A thread that failed to open its session still reaches the barrier, or the others
                // would block.
                line.wait()
                let (source, tally) = try Self.work(
                    try session.get(), state, file.mix, sources[task], tallies[task])
                return (task, source, tally)
            }
            results.withLock { $0.append(result) }
        }
        let finished = try results.withLock { $0 }.map { try $0.get() }
        for (task, source, _) in finished { self.sources[task] = source }
        return OperationTally.sample(finished.map(\.2), steps: file.mix)
    }

    private static func work(
        _ session: SQLiteWorkloadSession, _ state: GeneratorState, _ steps: [WorkloadFile.Step],
        _ source: OperationSource, _ tally: OperationTally
    ) throws -> (OperationSource, OperationTally) {
        defer { session.close() }
        var (source, tally) = (source, tally)
        while !tally.isOver {
            let operations = try source.next()
            let prepared = try operations.map { try session.values($0) }
            for (offset, index) in operations.indices.enumerated() {
                let operation = operations[index]
                let start = now()
                let rows = try session.run(
                    operation.step, prepared[offset], isReading: steps[operation.step].isReading
                ) { sink($0.checksum) }
                tally.record(operation.step, nanoseconds: now() - start, rows: rows)
                state.finish(operation.newIDs)
                if tally.isOver {
                    source.giveBack(operations[(index + 1)...])
                    break
                }
            }
        }
        return (source, tally)
    }

    // The last connection to close checkpoints the WAL.
    func finish() {}
}
