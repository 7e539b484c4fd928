import Synchronization

/// A flag with which another thread stops an evaluation or a scan.
package final class EvaluationStop: Sendable {
    private let flag = Atomic<Bool>(false)

    package init() {}

    /// Whether the evaluation must stop.
    @inline(__always)
    package var isSet: Bool { flag.load(ordering: .relaxed) }

    /// Stops the evaluation when it next checks the flag.
    package func set() {
        flag.store(true, ordering: .relaxed)
    }
}
