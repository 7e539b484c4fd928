import BenchHarness
import BenchStores
import SheafDocument
import SheafEngine
import SheafStatements
import SheafStorage

/// A statement that is repeated on one state.
final class PastTrial: Trial {
    private let store: PastStore
    private let shared: SharedPastStore
    private let statement: PastStatement
    private let isCold: Bool
    private let seconds: Double
    private let query: DQL
    private let arguments: [String: Value]
    private var queries: QueryEngine

    init(
        _ store: PastStore, _ shared: SharedPastStore, _ statement: PastStatement,
        _ position: PastPosition, _ stage: Stage, _ isCold: Bool
    ) {
        self.store = store
        self.shared = shared
        self.statement = statement
        self.isCold = isCold
        seconds = stage.scale.roundSeconds
        let newest = store.documents.snapshot().log.commit
        let (clause, point): (String, UInt64) =
            switch position {
            case .current: ("", 0)
            case .newest: (" AS OF COMMIT :point", newest)
            case .previous: (" AS OF COMMIT :point", newest - 1)
            case .byTime: (" AS OF :point", store.previousTime)
            case .hundredth: (" AS OF COMMIT :point", newest - 100)
            }
        arguments = clause.isEmpty ? [:] : ["point": .integer(Int64(clamping: point))]
        query =
            switch statement {
            case .count:
                DQL(
                    verbatim: "SELECT COUNT(*) AS n FROM cars\(clause) "
                        + "WHERE color = 'blue' AND mileage > 100000")
            case .get: DQL(verbatim: "SELECT * FROM cars\(clause) WHERE _id = :id")
            }
        queries = QueryEngine(store.documents)
    }

    /// Returns the time of a statement; the earlier state of a cold one is not in the cache.
    func run(round: Int) throws -> Sample {
        var (elapsed, runs) = (0.0, 0)
        let batch = isCold || statement == .count ? 1 : 1_000
        let start = now()
        while BenchHarness.seconds(since: start) < seconds {
            if isCold { queries = QueryEngine(store.documents) }
            let arguments = (0..<batch).map { self.arguments(runs + $0 + round << 32) }
            let begin = now()
            for values in arguments { sink(try execute(values)) }
            elapsed += BenchHarness.seconds(since: begin)
            runs += batch
        }
        return Sample(elapsed / Double(runs) * (statement == .count ? 1e3 : 1e6))
    }

    private func arguments(_ number: Int) -> QueryArguments {
        guard statement == .get else { return QueryArguments(arguments) }
        let index = Entries.mix(UInt64(number)) % UInt64(store.count)
        return QueryArguments(
            arguments.merging(["id": .string(Cars.id(index))]) { own, _ in own })
    }

    private func execute(_ arguments: QueryArguments) throws -> UInt64 {
        let (statement, values) = try queries.prepare(query, arguments)
        let found = try queries.execute(statement, values)
        guard found.items.count == 1 else { throw StoreFailure.missingKey }
        return UInt64(found.items.count)
    }

    func finish() { shared.release() }
}
