import Glibc

/// Threads of the operating system, for peers whose calls block.
///
/// Blocking calls in tasks would hold the few threads of the concurrency pool.
package enum Threads {
    /// Runs `body` on `count` threads, with the number of each, and returns when all are done.
    package static func run(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
        let threads = (0..<count).map { number in
            let work = Unmanaged.passRetained(Work { body(number) })
            var thread = pthread_t()
            let status = pthread_create(
                &thread, nil,
                { argument in
                    guard let argument else { return nil }
                    Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().body()
                    return nil
                }, work.toOpaque())
            precondition(status == 0, "The system has room for \(count) threads.")
            return thread
        }
        for thread in threads { pthread_join(thread, nil) }
    }

    private final class Work: Sendable {
        let body: @Sendable () -> Void

        init(_ body: @escaping @Sendable () -> Void) {
            self.body = body
        }
    }
}

/// A line from which a number of threads start together.
package final class StartLine: Sendable {
    nonisolated(unsafe) private let barrier: UnsafeMutablePointer<pthread_barrier_t>

    /// A line for `count` threads.
    package init(_ count: Int) {
        barrier = .allocate(capacity: 1)
        pthread_barrier_init(barrier, nil, UInt32(count))
    }

    deinit {
        pthread_barrier_destroy(barrier)
        barrier.deallocate()
    }

    /// Blocks until all threads wait here.
    package func wait() {
        pthread_barrier_wait(barrier)
    }
}
