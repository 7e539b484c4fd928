package import SheafSystem

#if canImport(Glibc)
    import CEpoll
    import Glibc
#elseif canImport(Musl)
    import CEpoll
    import Musl
#else
    import Darwin
#endif

/// A set of descriptors, and a wait until some of them are ready.
///
/// On Linux it uses `epoll`, so a wait costs in proportion to the ready descriptors, and a
/// descriptor costs nothing until its events change. Other systems use `poll`.
package final class Poller {
    /// A ready descriptor.
    package struct Event {
        /// The number that was passed with the descriptor.
        package let token: UInt64
        /// Whether data has arrived, or the connection is closed, which the next read reports.
        package let isReadable: Bool
        /// Whether data can be written, or the connection is closed.
        package let isWritable: Bool
        /// Whether the connection is closed in both directions, or failed.
        package let isClosed: Bool
    }

    struct Registration: Equatable {
        let token: UInt64
        let isReading: Bool
        let isWriting: Bool
    }

    private var registrations: [Int32: Registration] = [:]
    /// The descriptors added for the next wait only.
    private var temporary: [Int32] = []
    private var readyTemporary: [Bool] = []
    /// The ready descriptors, except the temporary ones.
    package private(set) var events: [Event] = []
    private let queue: DescriptorQueue

    /// The token of the first temporary descriptor; those of the others follow.
    private static let temporaryToken: UInt64 = 1 << 63

    package init(_ queue: DescriptorQueue) {
        self.queue = queue
    }

    /// Adds a descriptor, or changes the events to wait for; throws if the system cannot watch it.
    package func set(
        _ descriptor: Int32, token: UInt64, reading: Bool, writing: Bool
    ) throws(NetworkError) {
        let new = Registration(token: token, isReading: reading, isWriting: writing)
        let old = registrations[descriptor]
        guard old != new else { return }
        try queue.set(descriptor, new, isNew: old == nil)
        registrations[descriptor] = new
    }

    /// Removes a descriptor, before it is closed.
    package func remove(_ descriptor: Int32) {
        guard registrations.removeValue(forKey: descriptor) != nil else { return }
        queue.remove(descriptor)
    }

    /// Adds a descriptor for the next wait only; returns its index for `isReadable`.
    package func addTemporary(_ descriptor: Int32) throws(NetworkError) -> Int {
        let index = temporary.count
        try set(
            descriptor, token: Self.temporaryToken + UInt64(index), reading: true, writing: false)
        temporary.append(descriptor)
        return index
    }

    /// Waits until a descriptor is ready or the timeout expires.
    package func wait(milliseconds: Int, polling: BusyPoll) {
        var ready: [Event] = []
        if milliseconds > 0 {
            polling.poll(until: nil) {
                ready = queue.wait(milliseconds: 0, for: registrations)
                return !ready.isEmpty
            }
        }
        if ready.isEmpty { ready = queue.wait(milliseconds: milliseconds, for: registrations) }
        readyTemporary = [Bool](repeating: false, count: temporary.count)
        events = ready.filter { $0.token < Self.temporaryToken }
        for event in ready where event.token >= Self.temporaryToken {
            readyTemporary[Int(event.token - Self.temporaryToken)] = event.isReadable
        }
        for descriptor in temporary { remove(descriptor) }
        temporary = []
    }

    /// Whether a temporary descriptor of the last wait is readable.
    package func isReadable(_ index: Int) -> Bool {
        index < readyTemporary.count && readyTemporary[index]
    }
}

#if canImport(Glibc) || canImport(Musl)
    /// The descriptors that the kernel watches for one poller.
    package final class DescriptorQueue: Sendable {
        private let number: Int32
        /// Maximum number of descriptors returned by a wait; the others are returned by the next.
        private static let maximumCount = 256
        // The values of `EPOLLIN`, `EPOLLOUT`, `EPOLLERR` and `EPOLLHUP`: the C libraries declare
        // them with different types.
        private static let (readable, writable): (UInt32, UInt32) = (0x01, 0x04)
        private static let closed: UInt32 = 0x08 | 0x10

        package init() throws(NetworkError) {
            // The flag has the same value as `EPOLL_CLOEXEC`, which is not imported as a number.
            number = epoll_create1(Int32(O_CLOEXEC))
            guard number >= 0 else {
                throw NetworkError(.system, "cannot create an epoll queue: \(systemMessage())")
            }
        }

        deinit {
            close(number)
        }

        fileprivate func set(
            _ descriptor: Int32, _ registration: Poller.Registration, isNew: Bool
        ) throws(NetworkError) {
            var event = epoll_event()
            if registration.isReading { event.events |= Self.readable }
            if registration.isWriting { event.events |= Self.writable }
            event.data.u64 = registration.token
            let operation = isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD
            guard epoll_ctl(number, operation, descriptor, &event) == 0 else {
                throw NetworkError(
                    .system,
                    "cannot watch a socket: \(systemMessage()); the file "
                        + "/proc/sys/fs/epoll/max_user_watches has the limit of sockets")
            }
        }

        fileprivate func remove(_ descriptor: Int32) {
            var event = epoll_event()
            epoll_ctl(number, EPOLL_CTL_DEL, descriptor, &event)
        }

        fileprivate func wait(
            milliseconds: Int, for registrations: [Int32: Poller.Registration]
        ) -> [Poller.Event] {
            withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: Self.maximumCount) {
                buffer in
                // After an interruption no descriptor is ready, and the caller polls again.
                let count = epoll_wait(
                    number, buffer.baseAddress, Int32(buffer.count), Int32(clamping: milliseconds))
                return buffer.prefix(max(0, Int(count))).map { event in
                    let isClosed = event.events & Self.closed != 0
                    return Poller.Event(
                        token: event.data.u64,
                        isReadable: isClosed || event.events & Self.readable != 0,
                        isWritable: isClosed || event.events & Self.writable != 0,
                        isClosed: isClosed)
                }
            }
        }
    }
#else
    /// Nothing: the descriptors are passed to each call of `poll`.
    package final class DescriptorQueue: Sendable {
        package init() throws(NetworkError) {}

        fileprivate func set(
            _ descriptor: Int32, _ registration: Poller.Registration, isNew: Bool
        ) throws(NetworkError) {}
        fileprivate func remove(_ descriptor: Int32) {}

        fileprivate func wait(
            milliseconds: Int, for registrations: [Int32: Poller.Registration]
        ) -> [Poller.Event] {
            var polled = registrations.map { descriptor, registration in
                let events =
                    (registration.isReading ? Int16(POLLIN) : 0)
                    | (registration.isWriting ? Int16(POLLOUT) : 0)
                return pollfd(fd: descriptor, events: events, revents: 0)
            }
            // After an interruption no descriptor is ready, and the caller polls again.
            guard poll(&polled, nfds_t(polled.count), Int32(clamping: milliseconds)) > 0 else {
                return []
            }
            return polled.compactMap { request in
                guard request.revents != 0, let token = registrations[request.fd]?.token else {
                    return nil
                }
                let isClosed = request.revents & Int16(POLLHUP | POLLERR | POLLNVAL) != 0
                return Poller.Event(
                    token: token,
                    isReadable: isClosed || request.revents & Int16(POLLIN) != 0,
                    isWritable: isClosed || request.revents & Int16(POLLOUT) != 0,
                    isClosed: isClosed)
            }
        }
    }
#endif
