import SheafDocument
import SheafStatements

extension ObserverDispatcher {
    /// The rows of `system:observers`.
    var rows: [Object] {
        registrations.map { observer in
            let statistics = observer.statistics
            return [
                "_id": .integer(Int64(clamping: observer.number)),
                "statement": .string(observer.query.text),
                "kind": .string(statistics.isIncremental ? "incremental" : "run"),
                "runs": .integer(Int64(clamping: statistics.runCount)),
                "updates": .integer(Int64(clamping: statistics.updateCount)),
                "lastMicroseconds": .integer(Int64(clamping: statistics.lastNanoseconds / 1_000)),
                "microseconds": .integer(Int64(clamping: statistics.nanoseconds / 1_000)),
                "rows": .integer(Int64(clamping: statistics.rowCount)),
                "error": statistics.error.map { .string($0) } ?? .null,
            ]
        }
    }
}
