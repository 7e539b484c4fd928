#if PostgreSQL
    import SheafSystem
    import Synchronization

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #else
        import Darwin
    #endif

    /// A pipe that wakes a thread which waits for a socket, and the flag that ends the thread.
    final class WorkerSignal: Sendable {
        private let readingEnd: Int32
        private let writingEnd: Int32
        private let stopped = Atomic(false)

        /// The reason why there is no pipe; nil if there is one.
        let failure: PQFailure?

        init() {
            var ends: [Int32] = [-1, -1]
            if pipe(&ends) == 0 {
                failure = nil
            } else {
                let reason = String(cString: strerror(errno))
                failure = PQFailure(.resources, "the system refused a pipe: \(reason)")
            }
            (readingEnd, writingEnd) = (ends[0], ends[1])
            for end in ends where end >= 0 {
                _ = fcntl(end, F_SETFD, FD_CLOEXEC)
                _ = fcntl(end, F_SETFL, O_NONBLOCK)
            }
        }

        deinit {
            for end in [readingEnd, writingEnd] where end >= 0 { _ = close(end) }
        }

        /// Whether the thread must end.
        var isStopped: Bool { stopped.load(ordering: .acquiring) }

        /// Ends the thread.
        func stop() {
            stopped.store(true, ordering: .releasing)
            wake()
        }

        /// Wakes the thread; also before it waits.
        func wake() {
            var byte: UInt8 = 1
            // A full pipe wakes it as well.
            _ = write(writingEnd, &byte, 1)
        }

        /// Forgets earlier calls of `wake`; the thread then must check for work.
        func drain() {
            withUnsafeTemporaryAllocation(byteCount: 256, alignment: 1) { buffer in
                while read(readingEnd, buffer.baseAddress, buffer.count) == buffer.count {}
            }
        }

        /// Waits until a deadline of the monotonic clock, or until `stop`.
        func pause(until deadline: UInt64) {
            while !isStopped, Clock.system.monotonicNanoseconds() < deadline {
                wait(for: nil, until: deadline)
                drain()
            }
        }

        /// Waits for a socket, a call of `wake` or a deadline of the monotonic clock.
        func wait(for socket: Int32?, isWriting: Bool = false, until deadline: UInt64) {
            var files = [pollfd(fd: readingEnd, events: Int16(POLLIN), revents: 0)]
            if let socket {
                let events = isWriting ? POLLIN | POLLOUT : POLLIN
                files.append(pollfd(fd: socket, events: Int16(events), revents: 0))
            }
            let now = Clock.system.monotonicNanoseconds()
            let milliseconds = deadline > now ? (deadline - now) / 1_000_000 + 1 : 0
            _ = poll(&files, nfds_t(files.count), Int32(clamping: min(milliseconds, 60_000)))
        }
    }
#endif
