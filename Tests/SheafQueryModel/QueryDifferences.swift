import SheafDocument
import SheafQuery
import SheafStorage
import SheafStore
import SheafTestSupport

/// Random store histories in which each statement is compared with the naive evaluator.
package struct QueryDifferences {
    package struct Tally {
        package internal(set) var simulations = 0
        package internal(set) var queries = 0
        package internal(set) var writes = 0
        package internal(set) var partitions = 0
        /// Refused statements: joins without an index, ambiguous names, and long nested loops.
        package internal(set) var refused = 0
        /// Statements that fail in both implementations.
        package internal(set) var failed = 0
    }

    package private(set) var tally = Tally()
    private let seed: UInt64

    package init(seed: UInt64) {
        self.seed = seed
    }

    /// Runs the given numbers of queries and partitions; throws the first difference.
    package mutating func run(queries: Int, partitions: Int) throws {
        while tally.queries < queries || tally.partitions < partitions {
            let share = queries > 0 ? Double(partitions) / Double(queries) : 1
            try live(
                seed &+ UInt64(tally.simulations), partitionShare: share, isReading: queries > 0)
            tally.simulations += 1
        }
    }

    private mutating func live(
        _ seed: UInt64, partitionShare: Double, isReading: Bool
    ) throws {
        let simulation = try QuerySimulation(seed: seed)
        var random = SeededRandom(seed: seed, "life")
        var selects = RandomSelects(seed: seed)
        var writes = RandomWrites(seed: seed)
        let context = "seed \(seed)"
        let isLong = random.chance(1, in: 4)
        for _ in 0..<6 {
            try write(.insert(writes.insert(isLong: isLong, count: 8)), writes, simulation, context)
        }
        // With many documents, the planner chooses indexes more often.
        let isLarge = random.chance(1, in: 8)
        for number in 0..<(isLarge ? 8 : 0) {
            let insert = writes.largeInsert(firstID: 100 + 20 * number)
            try write(.insert(insert), writes, simulation, context)
        }
        let count = isLarge ? 40 : 160
        for phase in 0..<6 {
            if phase == 1 || phase > 1 && random.chance(1, in: 2) {
                for _ in 0..<random.below(3) { try makeIndex(&writes, simulation) }
            }
            switch random.below(6) {
            case 0: try simulation.compact()
            case 1: try simulation.reopen()
            case 2: try simulation.store.writeCheckpoint()
            default: break
            }
            for _ in 0..<random.below(8) {
                let body = writes.body(isLong: isLong)
                try write(body, writes, simulation, context)
            }
            let isPending = random.chance(1, in: 3)
            if !isPending { try simulation.flush() }
            selects.indexes = simulation.indexes
            // Hash tables that do not fit are made in parts.
            simulation.maximumHashBytes =
                random.chance(1, in: 2) ? QueryLimits.maximumHashBytes : 200 + random.below(4_000)
            let reader = simulation.reader(isPending: isPending)
            let phaseContext = context + ", phase \(phase), " + (isPending ? "pending" : "durable")
            try simulation.compareCounts(
                behind: Int64(random.below(12)), isPending: isPending, on: reader, phaseContext)
            for _ in 0..<(isReading ? count : 0) {
                let select = selects.select()
                tally.queries += 1
                record(
                    try simulation.compare(
                        select, selects.expressions.arguments, on: reader, phaseContext))
            }
            for _ in 0..<Int(Double(count) * partitionShare) {
                selects.expressions.arguments = [:]
                selects.expressions.sources = ["t"]
                let condition = selects.expressions.condition(3)
                tally.partitions += 1
                try simulation.comparePartition(
                    condition, selects.expressions.arguments, on: reader, phaseContext)
            }
        }
    }

    private mutating func record(_ verdict: ComparisonOutcome) {
        switch verdict {
        case .same: break
        case .refused: tally.refused += 1
        case .failed: tally.failed += 1
        }
    }

    private mutating func write(
        _ body: Statement.Body, _ writes: RandomWrites, _ simulation: QuerySimulation,
        _ context: String
    ) throws {
        tally.writes += 1
        record(try simulation.compareWrite(body, writes.selects.expressions.arguments, context))
    }

    private func makeIndex(_ writes: inout RandomWrites, _ simulation: QuerySimulation) throws {
        let statement = Statement(
            text: "", body: writes.index(), directives: [], parameters: [])
        // An index with this name may exist with other fields.
        do throws(StoreError) { try simulation.execute(statement.description) } catch {
            guard error.reason == .meaning else { throw error }
        }
    }
}
