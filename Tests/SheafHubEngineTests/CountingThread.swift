import SheafHubLog
import SheafSystem

/// A thread that increments a replaceable counter, and counts the outcomes.
final class CountingThread: Sendable {
    struct Counts: Equatable {
        var replaced = 0
        var changed = 0
        var ambiguous = 0
        var failed = 0
        var isStopped = false
    }

    static let name = "counter"

    private let counts: Monitor<Counts>
    private let thread: Thread

    /// Starts the thread.
    init(_ log: any HubLog) throws {
        let counts = Monitor(Counts())
        self.counts = counts
        thread = try Thread(name: "counting") {
            while !counts.withLock({ $0.isStopped }) { Self.increment(log, counts) }
        }
    }

    /// Waits for a number of replacements; returns whether they succeeded within a minute.
    func waits(forReplaced count: Int) -> Bool {
        let deadline = Clock.system.monotonicNanoseconds() + 60_000_000_000
        return counts.wait(until: deadline, while: { $0.replaced < count })
    }

    /// Ends the thread, and returns its counts.
    func stop() -> Counts {
        counts.withLock { $0.isStopped = true }
        counts.broadcast()
        thread.join()
        return counts.withLock { $0 }
    }

    /// Returns the counter; 0 if there is none.
    static func value(_ log: any HubLog) throws(HubLogError) -> Int {
        let found = try log.load(name)
        return found.flatMap { Int(String(decoding: $0.bytes, as: UTF8.self)) } ?? 0
    }

    private static func increment(_ log: any HubLog, _ counts: Monitor<Counts>) {
        do throws(HubLogError) {
            let revision = try log.load(name)?.revision
            let next = try value(log) + 1
            let outcome = try log.replace(name, with: Array("\(next)".utf8), at: revision)
            counts.withLock { counts in
                switch outcome {
                case .replaced: counts.replaced += 1
                case .changed: counts.changed += 1
                case .ambiguous: counts.ambiguous += 1
                }
            }
            counts.broadcast()
        } catch {
            counts.withLock { $0.failed += 1 }
            let deadline = Clock.system.monotonicNanoseconds() + 50_000_000
            counts.wait(until: deadline, while: { !$0.isStopped })
        }
    }
}
