import Sheaf
import Synchronization

/// What a transaction does, taken down while it does it.
final class Notes: Sendable {
    private let state = Mutex((operations: [Operation](), result: QueryResult?.none))

    func read(_ key: Int, _ values: [Int]) {
        state.withLock { $0.operations.append(.read(key: key, values: values)) }
    }

    /// To be called before the write: also one that fails might be seen.
    func write(_ key: Int, _ value: Int) {
        state.withLock { $0.operations.append(.write(key: key, value: value)) }
    }

    /// Keeps a result, which will know the commit.
    func keep(_ result: QueryResult) {
        state.withLock { $0.result = result }
    }

    var operations: [Operation] { state.withLock { $0.operations } }

    var commit: Int64? { state.withLock { $0.result?.commitID } }
}
