import Synchronization

/// Random numbers from a seed, safe to share between threads.
package final class SeededSource: Sendable {
    private let random: Mutex<SeededRandom>

    /// Starts the sequence of `seed`.
    package init(seed: UInt64) {
        random = Mutex(SeededRandom(seed: seed, "source"))
    }

    /// Returns the next 64 random bits.
    package func next() -> UInt64 {
        random.withLock { $0.next() }
    }
}
