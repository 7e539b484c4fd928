import SheafStore
import Synchronization

/// A recorder of the operations of one transaction.
final class OperationRecorder: Sendable {
    private let state = Mutex((operations: [ListOperation](), result: QueryResult?.none))

    func read(_ key: Int, _ values: [Int]) {
        state.withLock { $0.operations.append(.read(key: key, values: values)) }
    }

    /// Records a write; must be called before it, because even a failed write might become visible.
    func write(_ key: Int, _ value: Int) {
        state.withLock { $0.operations.append(.write(key: key, value: value)) }
    }

    /// Keeps a result, from which the commit ID is read later.
    func keep(_ result: QueryResult) {
        state.withLock { $0.result = result }
    }

    var operations: [ListOperation] { state.withLock { $0.operations } }

    var commit: Int64? { state.withLock { $0.result?.commitID } }
}
