import BenchHarness
import Sheaf
import SheafDocument
import SheafQuery

/// A store that executes the steps of a workload file.
struct SheafWorkloadStore: Sendable {
    let store: Sheaf.Store
    private let rows: WorkloadFile.Settings.Rows
    /// The statements of each setup step, then of each operation.
    private let setup: [[DQL]]
    private let mix: [[DQL]]

    /// Opens a store in a directory.
    init(_ file: WorkloadFile, path: String, isDurable: Bool) async throws {
        store = try await Sheaf.Store.open(
            at: "\(path)/workload.sheaf",
            options: StoreOptions(durability: isDurable ? .full : .relaxed(milliseconds: 100)))
        rows = file.settings.rows
        setup = file.setup.map { $0.statements.map { DQL(verbatim: $0.text) } }
        mix = file.mix.map { $0.statements.map { DQL(verbatim: $0.text) } }
    }

    /// Executes a setup step, several repetitions per transaction.
    func setUp(_ operation: WorkloadOperation) async throws {
        _ = try await execute(setup[operation.step], operation.arguments)
    }

    /// Executes an operation of the mix, reads its rows, and returns their number.
    func run(
        _ step: WorkloadFile.Step, _ number: Int, _ arguments: [QueryArguments]
    ) async throws -> Int {
        let statements = mix[number]
        guard statements.count > 1 || arguments.count > 1 else {
            return try read(try await store.execute(statements[0], arguments[0]))
        }
        return try await store.transaction(hint: nil, isReadOnly: step.isReading) { transaction in
            var count = 0
            for arguments in arguments {
                for statement in statements {
                    count += try read(try await transaction.execute(statement, arguments))
                }
            }
            return count
        }
    }

    /// Executes statements once for each set of arguments, and returns the results.
    func execute(
        _ statements: [DQL], _ arguments: [[String: Value]]
    ) async throws -> [QueryResult] {
        if statements.count == 1, arguments.count == 1 {
            return [try await store.execute(statements[0], QueryArguments(arguments[0]))]
        }
        return try await store.transaction { transaction in
            var results: [QueryResult] = []
            for values in arguments {
                for statement in statements {
                    results.append(
                        try await transaction.execute(statement, QueryArguments(values)))
                }
            }
            return results
        }
    }

    /// Reads each row; returns their number.
    private func read(_ result: QueryResult) throws -> Int {
        var sum: UInt64 = 0
        for item in result.items {
            switch rows {
            case .json: sum &+= UInt64(try item.jsonString.utf8.count)
            case .fields:
                for column in result.columns ?? ["_id"] {
                    switch try item[column] {
                    case .integer(let number)?: sum &+= UInt64(bitPattern: number)
                    case .float(let number)?: sum &+= number.bitPattern
                    case .string(let text)?: sum &+= UInt64(text.utf8.count)
                    default: sum &+= 1
                    }
                }
            }
        }
        sink(sum)
        return result.items.count
    }
}

/// The rounds of a workload file on Sheaf, with one task per caller.
final class SheafWorkloadTrial: Trial {
    private let file: WorkloadFile
    private let state: GeneratorState
    private let store: SheafWorkloadStore
    private var sources: [OperationSource]

    /// Opens a store and executes the setup.
    init(_ file: WorkloadFile, _ stage: Stage) async throws {
        self.file = file
        state = GeneratorState(file)
        let store = try await SheafWorkloadStore(
            file, path: stage.disk.path, isDurable: file.settings.durability == .full)
        try await WorkloadSetup.run(file, state) { try await store.setUp($0) }
        self.store = store
        let state = state
        sources = (0..<file.settings.tasks).map { OperationSource(file, state, task: $0) }
    }

    func run(round: Int) async throws -> Sample {
        let (store, state, steps) = (store, state, file.mix)
        let tallies = file.tallies(round: round)
        let results = try await withThrowingTaskGroup(
            of: (Int, OperationSource, OperationTally).self
        ) { group in
            for (task, source) in sources.enumerated() {
                let tally = tallies[task]
                group.addTask {
                    let (source, tally) = try await Self.work(
                        store, state, steps, source, tally)
                    return (task, source, tally)
                }
            }
            var results: [(Int, OperationSource, OperationTally)] = []
            for try await result in group { results.append(result) }
            return results
        }
        for (task, source, _) in results { sources[task] = source }
        return OperationTally.sample(results.map(\.2), steps: steps)
    }

    private static func work(
        _ store: SheafWorkloadStore, _ state: GeneratorState, _ steps: [WorkloadFile.Step],
        _ source: OperationSource, _ tally: OperationTally
    ) async throws -> (OperationSource, OperationTally) {
        var (source, tally) = (source, tally)
        while !tally.isOver {
            let operations = try source.next()
            let prepared = operations.map { $0.arguments.map { QueryArguments($0) } }
            for (offset, index) in operations.indices.enumerated() {
                let operation = operations[index]
                let start = now()
                let rows = try await store.run(
                    steps[operation.step], operation.step, prepared[offset])
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

    func finish() async throws { try await store.store.close() }
}

/// The setup of a workload file.
enum WorkloadSetup {
    /// Generates the setup, and passes each transaction.
    ///
    /// Each step runs at most `limit` times.
    static func run(
        _ file: WorkloadFile, _ state: GeneratorState, limit: Int = .max,
        _ body: (WorkloadOperation) async throws -> Void
    ) async throws {
        var run = GeneratorRun(state, RandomSource(seed: file.settings.seed))
        for (number, step) in file.setup.enumerated() {
            var rest = min(step.times, limit)
            while rest > 0 {
                let times = min(rest, step.batch)
                let operation = try WorkloadOperation(step, number: number, times: times, &run)
                try await body(operation)
                state.finish(operation.newIDs)
                rest -= times
            }
        }
    }
}

extension WorkloadFile {
    /// Returns an empty tally for each task of a round; round 0 is the warm-up.
    func tallies(round: Int) -> [OperationTally] {
        var limit = settings.limit
        if round == 0, let seconds = settings.warmUpSeconds { limit = .seconds(seconds) }
        let count = settings.tasks
        return (0..<count).map { task in
            switch limit {
            case .seconds(let seconds):
                OperationTally(
                    steps: mix.count, deadline: now() + UInt64(seconds * 1e9), operations: 0)
            case .operations(let total):
                OperationTally(
                    steps: mix.count, deadline: nil,
                    operations: total / count + (task < total % count ? 1 : 0))
            }
        }
    }
}
