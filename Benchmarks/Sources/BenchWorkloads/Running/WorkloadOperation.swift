import BenchHarness
package import SheafDocument

/// A step with its generated arguments.
package struct WorkloadOperation: Sendable {
    /// The number of the step.
    package let step: Int
    /// The arguments of each repetition.
    package let arguments: [[String: Value]]
    /// The IDs of the documents that the operation inserts.
    package let newIDs: [GeneratorState.NewID]

    /// Generates an operation.
    package init(
        _ step: WorkloadFile.Step, number: Int, times: Int, _ run: inout GeneratorRun
    ) throws(GeneratorState.Failure) {
        self.step = number
        var all: [[String: Value]] = []
        all.reserveCapacity(times)
        for _ in 0..<times {
            var arguments: [String: Value] = [:]
            for (name, generator) in step.arguments {
                // A choice among values may leave out an argument, which is then null.
                arguments[name] = try run.value(of: generator) ?? .null
            }
            all.append(arguments)
        }
        arguments = all
        newIDs = run.takeNewIDs()
    }
}

/// The operations of one task, generated in small batches ahead of their execution.
struct OperationSource {
    /// Number of operations that are generated at once.
    static let batch = 64

    private let steps: [WorkloadFile.Step]
    private let total: Double
    private var run: GeneratorRun
    /// Operations that a round has generated and not executed.
    private var rest: ArraySlice<WorkloadOperation> = []

    init(_ file: WorkloadFile, _ state: GeneratorState, task: Int) {
        steps = file.mix
        total = steps.reduce(0) { $0 + $1.weight }
        // Stream 0 is that of the setup.
        let random = RandomSource(seed: file.settings.seed, stream: UInt64(task) + 1)
        run = GeneratorRun(state, random)
    }

    /// Returns the next operations.
    mutating func next() throws(GeneratorState.Failure) -> ArraySlice<WorkloadOperation> {
        guard rest.isEmpty else {
            defer { rest = [] }
            return rest
        }
        var operations: [WorkloadOperation] = []
        for _ in 0..<Self.batch {
            let number = choose()
            let step = steps[number]
            operations.append(
                try WorkloadOperation(step, number: number, times: step.times, &run))
        }
        return operations[...]
    }

    /// Puts operations that were not executed back in front of the others.
    mutating func giveBack(_ operations: ArraySlice<WorkloadOperation>) { rest = operations }

    private mutating func choose() -> Int {
        var rest = run.random.unit() * total
        for (number, step) in steps.enumerated() {
            rest -= step.weight
            if rest < 0 { return number }
        }
        return steps.count - 1
    }
}

/// The executed operations of one task in one round.
struct OperationTally: Sendable {
    private(set) var latencies: [[UInt64]]
    private(set) var rows: [Int]
    private let deadline: UInt64?
    private var remaining: Int

    /// Starts a round of one task, which ends at a time or after a number of operations.
    init(steps: Int, deadline: UInt64?, operations: Int) {
        latencies = Array(repeating: [], count: steps)
        rows = Array(repeating: 0, count: steps)
        self.deadline = deadline
        remaining = operations
    }

    /// Whether the round has ended.
    var isOver: Bool {
        if let deadline { return now() >= deadline }
        return remaining <= 0
    }

    /// Records an operation.
    mutating func record(_ step: Int, nanoseconds: UInt64, rows count: Int) {
        latencies[step].append(nanoseconds)
        rows[step] += count
        remaining -= 1
    }

    /// The time in which operations were executed; their generation is not part of it.
    private var seconds: Double {
        Double(latencies.reduce(0) { $0 + $1.reduce(0, &+) }) / 1e9
    }

    /// Returns the sample of a round from the tallies of its tasks.
    ///
    /// The rate is the sum of the rates of the tasks.
    static func sample(_ tallies: [OperationTally], steps: [WorkloadFile.Step]) -> Sample {
        var parts: [String: Sample] = [:]
        var (all, allRows): ([UInt64], Int) = ([], 0)
        var rate = 0.0
        for (number, step) in steps.enumerated() {
            let latencies = tallies.flatMap { $0.latencies[number] }
            let rows = tallies.reduce(0) { $0 + $1.rows[number] }
            let share = tallies.reduce(0.0) { sum, tally in
                let seconds = tally.seconds
                return seconds > 0 ? sum + Double(tally.latencies[number].count) / seconds : sum
            }
            parts[step.name] = Sample(
                share, latencies: latencies,
                rows: latencies.isEmpty ? 0 : Double(rows) / Double(latencies.count))
            all += latencies
            allRows += rows
            rate += share
        }
        return Sample(
            rate, latencies: all, rows: all.isEmpty ? 0 : Double(allRows) / Double(all.count),
            parts: parts)
    }
}
