import Synchronization

/// What a transaction did with one key.
package enum Operation: Sendable {
    /// It saw these values: all that were appended to a list, or the last one of a register.
    case read(key: Int, values: [Int])
    /// It appended or wrote a value, which nobody else writes.
    case write(key: Int, value: Int)
}

/// One attempt at a transaction, as its caller saw it.
package struct Attempt: Sendable {
    package enum Outcome: Sendable {
        case committed, aborted
    }

    /// When it was asked for, and when the answer came, by one clock for all.
    let invoked: Int
    let completed: Int
    let outcome: Outcome
    /// The commit that its results show.
    let commit: Int64?
    let operations: [Operation]

    package init(
        invoked: Int, completed: Int, outcome: Outcome, commit: Int64?, _ operations: [Operation]
    ) {
        self.invoked = invoked
        self.completed = completed
        self.outcome = outcome
        self.commit = commit
        self.operations = operations
    }

    /// Whether anything of it is to be seen by others.
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

/// Something that no serializable store shows.
package struct Anomaly: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// Takes down all attempts of tasks that run side by side.
final class Recorder: Sendable {
    private let time = Atomic(0)
    private let attempts = Mutex<[Attempt]>([])

    /// The next moment.
    func now() -> Int { time.add(1, ordering: .sequentiallyConsistent).oldValue }

    func note(_ attempt: Attempt) {
        attempts.withLock { $0.append(attempt) }
    }

    var history: [Attempt] { attempts.withLock { $0 } }
}
