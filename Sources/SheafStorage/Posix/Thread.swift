import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A thread of our own, for work that waits for the disk.
///
/// The threads of Swift's concurrency are as many as the cores: a wait there stops everybody.
package final class Thread: Sendable {
    /// Some systems give less than this to all threads but the first, others depend on the shell.
    private static let stackSize = 4 << 20

    /// What debuggers call the thread.
    package let name: String
    private let handle: Mutex<pthread_t?>

    /// Starts a thread that runs `body` once.
    package init(name: String, _ body: @escaping @Sendable () -> Void) throws(ThreadRefused) {
        self.name = name
        handle = Mutex(try Self.start(Body(name: name, run: body)))
    }

    deinit {
        if let thread = take() { pthread_detach(thread) }
    }

    /// What tells the thread of the caller from all others, for as long as it lives; never zero.
    package static var currentIdentifier: UInt {
        #if canImport(Darwin)
            UInt(bitPattern: pthread_self())
        #else
            UInt(pthread_self())
        #endif
    }

    /// Waits until the body has returned; only the first call waits, and never on the thread itself.
    package func join() {
        guard let thread = take() else { return }
        guard pthread_equal(thread, pthread_self()) == 0 else {
            pthread_detach(thread)
            return
        }
        pthread_join(thread, nil)
    }

    /// Lets another thread have the core, if one waits for it.
    static func yield() {
        sched_yield()
    }

    private func take() -> pthread_t? {
        handle.withLock { handle in
            defer { handle = nil }
            return handle
        }
    }

    private static func start(_ body: Body) throws(ThreadRefused) -> pthread_t? {
        // Memory that the system initializes: the type's own initializer belongs to whichever
        // module included its header first.
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

    /// What crosses into the new thread.
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

    /// Where a file would grow beyond a limit of the process, the system would end the process; with
    /// the signal blocked it refuses the write.
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
            // The call that sets the name is an extension that the C library hides from Swift; the
            // kernel takes the name through this file too, and cuts it at fifteen bytes.
            let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
            guard file >= 0 else { return }
            _ = write(file, name, name.utf8.count)
            _ = close(file)
        #endif
    }
}

/// The system has no room for one more thread.
package struct ThreadRefused: Error, Hashable, Sendable {
    /// What the system says.
    package let code: Int32
}
