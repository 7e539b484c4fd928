package import SheafQuery

/// A workload as a file describes it: settings, setup and a mix of operations.
package struct WorkloadFile: Sendable {
    /// The values of the section `[run]`.
    package struct Settings: Equatable, Sendable {
        /// The end of a round.
        package enum Limit: Equatable, Sendable {
            case seconds(Double)
            /// A number of operations of all tasks together.
            case operations(Int)
        }

        /// The point at which a write returns.
        package enum Durability: String, CaseIterable, Sendable {
            /// The commit survives a power cut.
            case full
            /// The commit survives a power cut a moment later.
            case relaxed
        }

        /// The part of each row that is read.
        package enum Rows: String, CaseIterable, Sendable {
            /// Each column of the statement; the `_id` of complete documents.
            case fields
            /// The row as JSON.
            case json
        }

        package var tasks = 1
        package var limit = Limit.seconds(2)
        /// The limit of the round before the first one, whose result is discarded.
        package var warmUpSeconds: Double?
        package var rounds: Int?
        package var durability = Durability.full
        package var rows = Rows.fields
        package var seed: UInt64 = 1
    }

    /// Statements with their arguments: a setup step, or an operation of the mix.
    package struct Step: Sendable {
        package let name: String
        /// Several statements are one transaction, and share their arguments.
        package var statements: [Statement] = []
        /// The arguments in order of appearance.
        package var arguments: [(name: String, generator: Generator)] = []
        /// The number of times that a setup step runs, or that an operation repeats its statements
        /// in one transaction.
        package var times = 1
        /// The number of repetitions per transaction of a setup step.
        package var batch = 1_000
        /// The share of an operation in the mix.
        package var weight = 1.0

        /// Whether all statements only read.
        package var isReading: Bool { statements.allSatisfy { !$0.isWriting } }
    }

    package let name: String
    package var settings = Settings()
    package var setup: [Step] = []
    package var mix: [Step] = []
    /// Number of sequences, each of which has its own counter.
    package var sequenceCount = 0
    /// Collections with generated IDs, and whether these rise.
    package var risingIDs: [String: Bool] = [:]
}

extension WorkloadFile {
    /// The canonical text of the file, without comments.
    package var text: String {
        var lines = ["[run]", "tasks = \(settings.tasks)"]
        switch settings.limit {
        case .seconds(let seconds): lines.append("duration = \(seconds) s")
        case .operations(let count): lines.append("operations = \(count)")
        }
        if let seconds = settings.warmUpSeconds { lines.append("warm-up = \(seconds) s") }
        if let rounds = settings.rounds { lines.append("rounds = \(rounds)") }
        lines += [
            "durability = \(settings.durability.rawValue)", "rows = \(settings.rows.rawValue)",
            "seed = \(settings.seed)",
        ]
        for step in setup {
            lines += ["", "[setup \(step.name)]", "times = \(step.times)", "batch = \(step.batch)"]
            lines += step.lines
        }
        for step in mix {
            lines += ["", "[mix \(step.name)]", "weight = \(step.weight)", "times = \(step.times)"]
            lines += step.lines
        }
        return lines.joined(separator: "\n") + "\n"
    }
}

extension WorkloadFile.Step {
    /// The statements on one line each, then the arguments.
    fileprivate var lines: [String] {
        statements.map { "statement = \($0.description)" }
            + arguments.map { ":\($0.name) = \($0.generator.text)" }
    }
}
