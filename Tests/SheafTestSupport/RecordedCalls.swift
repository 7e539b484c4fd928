import Synchronization

/// The calls that a test has received, from any thread, in order.
package final class RecordedCalls: Sendable {
    private let texts = Mutex<[String]>([])

    package init() {}

    package func add(_ text: String) { texts.withLock { $0.append(text) } }

    /// Returns the calls since the last time.
    package func take() -> [String] {
        texts.withLock { texts in
            defer { texts = [] }
            return texts
        }
    }
}
