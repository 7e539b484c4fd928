#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A set of descriptors, and a wait until one of them is ready.
///
/// It uses `poll`, which exists on all supported systems. Its cost is linear, with a few hundred
/// descriptors at most.
struct Poller {
    private var requests: [pollfd] = []

    /// Removes all descriptors.
    mutating func removeAll() {
        requests.removeAll(keepingCapacity: true)
    }

    /// Adds a descriptor; returns its index for `isReadable` and `isWritable`.
    mutating func add(_ descriptor: Int32, reading: Bool, writing: Bool) -> Int {
        let events = (reading ? Int16(POLLIN) : 0) | (writing ? Int16(POLLOUT) : 0)
        requests.append(pollfd(fd: descriptor, events: events, revents: 0))
        return requests.count - 1
    }

    /// Waits until a descriptor is ready or the timeout expires.
    mutating func wait(milliseconds: Int) {
        // After an interruption no descriptor is ready, and the caller polls again.
        if poll(&requests, nfds_t(requests.count), Int32(clamping: milliseconds)) <= 0 {
            for index in requests.indices { requests[index].revents = 0 }
        }
    }

    /// Whether data has arrived, or the connection is closed, which the next read reports.
    func isReadable(_ index: Int) -> Bool {
        requests[index].revents & Int16(POLLIN | POLLHUP | POLLERR | POLLNVAL) != 0
    }

    /// Whether data can be written, or the connection is closed.
    func isWritable(_ index: Int) -> Bool {
        requests[index].revents & Int16(POLLOUT | POLLHUP | POLLERR | POLLNVAL) != 0
    }
}
