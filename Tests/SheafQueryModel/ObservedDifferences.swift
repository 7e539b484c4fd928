import SheafDocument
import SheafQuery
import SheafStorage
import SheafStore
import SheafTestSupport

/// Random store histories with observers, compared with the naive evaluator at each quiet point.
package struct ObservedDifferences {
    package struct Tally {
        package internal(set) var simulations = 0
        package internal(set) var observers = 0
        package internal(set) var commits = 0
        /// Results compared.
        package internal(set) var pairs = 0
        package internal(set) var deliveries = 0
        /// Deliveries with changes.
        package internal(set) var changes = 0
        /// Results computed from changes.
        package internal(set) var maintained = 0
        /// Results of rerun statements.
        package internal(set) var rerun = 0
    }

    package private(set) var tally = Tally()
    private let seed: UInt64
    private static let stepCount = 24

    package init(seed: UInt64) {
        self.seed = seed
    }

    /// Compares at least `pairs` results; throws the first difference.
    package mutating func run(pairs: Int) throws {
        while tally.pairs < pairs {
            try live(seed &+ UInt64(tally.simulations))
            tally.simulations += 1
        }
    }

    private mutating func live(_ seed: UInt64) throws {
        let simulation = try QuerySimulation(seed: seed)
        var random = SeededRandom(seed: seed, "observers")
        var statements = ObservedStatements(seed: seed)
        let observed = ObservedQueries(simulation)
        let isLong = random.chance(1, in: 4)
        for _ in 0..<6 { try write(statements.insert(isLong: isLong), simulation, "seed \(seed)") }
        for step in 0..<Self.stepCount {
            let context = "seed \(seed), step \(step)"
            try come(&statements, observed, simulation, count: step == 0 ? 20 : random.below(4))
            try change(&statements, &random, simulation, observed, isLong: isLong, context)
            if step > 0, random.chance(1, in: 3),
                let number = observed.numbers.randomElement(
                    using: &random)
            {
                observed.cancel(number)
            }
            try simulation.flush()
            try observed.check(context, isQuiet: true)
            try observed.compare(context)
            tally.pairs += observed.count
        }
        tally.deliveries += observed.deliveryCount
        tally.changes += observed.changeCount
        tally.maintained += observed.tally.maintained
        tally.rerun += observed.tally.rerun
    }

    private mutating func come(
        _ statements: inout ObservedStatements, _ observed: ObservedQueries,
        _ simulation: QuerySimulation,
        count: Int
    ) throws {
        for _ in 0..<count {
            let (select, arguments) = statements.select(indexes: simulation.indexes)
            tally.observers += 1
            try observed.observe(select, arguments)
        }
    }

    /// Writes a few commits, which become durable together or separately.
    private mutating func change(
        _ statements: inout ObservedStatements, _ random: inout SeededRandom,
        _ simulation: QuerySimulation,
        _ observed: ObservedQueries, isLong: Bool, _ context: String
    ) throws {
        for number in 0...random.below(3) {
            switch random.below(20) {
            case 0: try simulation.compact()
            case 1: try simulation.store.writeCheckpoint()
            case 2, 3, 4: try makeIndex(&statements, simulation)
            case 5, 6, 7:
                try simulation.transaction(isKept: random.chance(4, in: 5)) {
                    for _ in 0...random.below(4) {
                        try write(statements.write(isLong: isLong), simulation, context)
                    }
                }
            default: try write(statements.write(isLong: isLong), simulation, context)
            }
            tally.commits += 1
            // Sometimes the schedule runs before the last commits are durable.
            if number > 0, random.chance(1, in: 4) {
                try observed.check(context, isQuiet: false)
            }
            if random.chance(1, in: 4) { try simulation.flush() }
        }
    }

    private func write(
        _ statement: (body: Statement.Body, arguments: [String: Value]),
        _ simulation: QuerySimulation,
        _ context: String
    ) throws {
        _ = try simulation.compareWrite(statement.body, statement.arguments, context)
    }

    private func makeIndex(_ statements: inout ObservedStatements, _ simulation: QuerySimulation)
        throws
    {
        let statement = Statement(
            text: "", body: statements.index(), directives: [], parameters: [])
        // An index with this name may exist with other fields.
        do throws(StoreError) { try simulation.execute(statement.description) } catch {
            guard error.reason == .meaning else { throw error }
        }
    }
}
