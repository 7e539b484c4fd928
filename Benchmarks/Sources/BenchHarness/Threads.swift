import Glibc

/// Operating system threads for peers with blocking calls.
///
/// Blocking calls in tasks would occupy the few threads of the concurrency pool.
package enum Threads {
    /// Runs `body` with each number below `count` on its own thread, and waits for all.
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
            precondition(status == 0, "The system can create \(count) threads.")
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

/// A barrier from which several threads start together.
package final class StartLine: Sendable {
    nonisolated(unsafe) private let barrier: UnsafeMutablePointer<pthread_barrier_t>

    /// Creates a barrier for `count` threads.
    package init(_ count: Int) {
        barrier = .allocate(capacity: 1)
        pthread_barrier_init(barrier, nil, UInt32(count))
    }

    deinit {
        pthread_barrier_destroy(barrier)
        barrier.deallocate()
    }

    /// Blocks until all threads have called this method.
    package func wait() {
        pthread_barrier_wait(barrier)
    }
}
