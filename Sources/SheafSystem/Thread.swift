import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A dedicated thread for work that blocks on the disk.
///
/// Swift's concurrency has one thread per core, so blocking one stalls unrelated tasks.
package final class Thread: Sendable {
    /// The stack size; the default is too small on some systems and depends on the shell on others.
    private static let stackSize = 4 << 20

    /// The name shown in debuggers.
    package let name: String
    private let handle: Mutex<pthread_t?>

    /// Starts a thread that calls `body` once.
    package init(name: String, _ body: @escaping @Sendable () -> Void) throws(ThreadRefused) {
        self.name = name
        handle = Mutex(try Self.start(Body(name: name, run: body)))
    }

    deinit {
        if let thread = take() { pthread_detach(thread) }
    }

    /// The unique identifier of the calling thread while it runs; never zero.
    package static var currentIdentifier: UInt {
        #if canImport(Darwin)
            UInt(bitPattern: pthread_self())
        #else
            UInt(pthread_self())
        #endif
    }

    /// Waits until `body` has returned; does nothing after the first call or on the thread itself.
    package func join() {
        guard let thread = take() else { return }
        guard pthread_equal(thread, pthread_self()) == 0 else {
            pthread_detach(thread)
            return
        }
        pthread_join(thread, nil)
    }

    /// Yields the core to another runnable thread.
    package static func yield() {
        sched_yield()
    }

    private func take() -> pthread_t? {
        handle.withLock { handle in
            defer { handle = nil }
            return handle
        }
    }

    private static func start(_ body: Body) throws(ThreadRefused) -> pthread_t? {
        // Uninitialized memory avoids the type's own initializer, which belongs to whichever module
        // included its header first.
        try withUnsafeTemporaryAllocation(
            of: pthread_attr_t.self, capacity: 1
        ) { buffer throws(ThreadRefused) in
            guard let attributes = buffer.baseAddress else { return nil }
            pthread_attr_init(attributes)
            defer { pthread_attr_destroy(attributes) }
            pthread_attr_setstacksize(attributes, stackSize)
            return try start(body, attributes)
        }
    }

    private static func start(
        _ body: Body, _ attributes: UnsafePointer<pthread_attr_t>
    ) throws(ThreadRefused) -> pthread_t? {
        let retained = Unmanaged.passRetained(body)
        let argument = retained.toOpaque()
        #if canImport(Darwin)
            var thread: pthread_t?
        #else
            var thread = pthread_t()
        #endif
        let result = pthread_create(&thread, attributes, { Thread.run($0) }, argument)
        guard result == 0 else {
            retained.release()
            throw ThreadRefused(code: result)
        }
        return thread
    }

    /// The argument passed to the new thread.
    private final class Body: Sendable {
        let name: String
        let run: @Sendable () -> Void

        init(name: String, run: @escaping @Sendable () -> Void) {
            self.name = name
            self.run = run
        }
    }

    private static func run(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let argument else { return nil }
        let body = Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
        setName(body.name)
        blockFileSizeSignal()
        body.run()
        return nil
    }

    /// Blocks SIGXFSZ, so that exceeding the file size limit fails the write, not the process.
    private static func blockFileSizeSignal() {
        withUnsafeTemporaryAllocation(of: sigset_t.self, capacity: 1) { buffer in
            guard let signals = buffer.baseAddress else { return }
            sigemptyset(signals)
            sigaddset(signals, SIGXFSZ)
            pthread_sigmask(SIG_BLOCK, signals, nil)
        }
    }

    private static func setName(_ name: String) {
        #if canImport(Darwin)
            pthread_setname_np(name)
        #else
            // The C library hides the function that sets the name from Swift. The kernel also
            // accepts the name through this file and truncates it to fifteen bytes.
            let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
            guard file >= 0 else { return }
            _ = write(file, name, name.utf8.count)
            _ = close(file)
        #endif
    }
}

/// The error that the system could not create another thread.
package struct ThreadRefused: Error, Hashable, Sendable {
    /// The error number from the system.
    package let code: Int32
}
