import Synchronization

/// One operation of a transaction on a key.
package enum ListOperation: Sendable {
    /// A read with its result: all values of a list, or the last value of a register.
    case read(key: Int, values: [Int])
    /// An append of a unique value, or an overwrite with one.
    case write(key: Int, value: Int)
}

/// One attempt at a transaction, as observed by its caller.
package struct Attempt: Sendable {
    package enum Outcome: Sendable {
        case committed, aborted
    }

    /// The times of the call and of its return, on a shared logical clock.
    let invoked: Int
    let completed: Int
    let outcome: Outcome
    /// The commit ID in its results.
    let commit: Int64?
    let operations: [ListOperation]

    package init(
        invoked: Int, completed: Int, outcome: Outcome, commit: Int64?,
        _ operations: [ListOperation]
    ) {
        self.invoked = invoked
        self.completed = completed
        self.outcome = outcome
        self.commit = commit
        self.operations = operations
    }

    /// Whether the attempt committed a write.
    var hasWritten: Bool {
        outcome == .committed
            && operations.contains { if case .write = $0 { true } else { false } }
    }
}

extension Attempt: CustomStringConvertible {
    package var description: String {
        let what = operations.map { operation in
            switch operation {
            case .read(let key, let values): "read \(key) as \(values.suffix(4))"
            case .write(let key, let value): "wrote \(value) to \(key)"
            }
        }
        let number = commit.map { " as \($0)" } ?? ""
        return "[\(invoked)-\(completed), \(outcome)\(number): \(what.joined(separator: ", "))]"
    }
}

/// A violation of strict serializability.
package struct Anomaly: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// A recorder of the attempts of concurrent tasks.
final class Recorder: Sendable {
    private let time = Atomic(0)
    private let attempts = Mutex<[Attempt]>([])

    /// Returns the next time of the logical clock.
    func now() -> Int { time.add(1, ordering: .sequentiallyConsistent).oldValue }

    func record(_ attempt: Attempt) {
        attempts.withLock { $0.append(attempt) }
    }

    var history: [Attempt] { attempts.withLock { $0 } }
}
