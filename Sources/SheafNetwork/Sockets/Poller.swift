#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Waits until something can be done with one of some descriptors.
///
/// All systems have this call. It looks at each descriptor each time, and there are some hundred at most.
struct Poller {
    private var requests: [pollfd] = []

    /// Forgets what was asked for.
    mutating func removeAll() {
        requests.removeAll(keepingCapacity: true)
    }

    /// Asks for one more descriptor; returns its place.
    mutating func add(_ descriptor: Int32, reading: Bool, writing: Bool) -> Int {
        let events = (reading ? Int16(POLLIN) : 0) | (writing ? Int16(POLLOUT) : 0)
        requests.append(pollfd(fd: descriptor, events: events, revents: 0))
        return requests.count - 1
    }

    /// Waits for some time at most.
    mutating func wait(milliseconds: Int) {
        // After an interruption nothing is ready, and the caller comes back.
        if poll(&requests, nfds_t(requests.count), Int32(clamping: milliseconds)) <= 0 {
            for place in requests.indices { requests[place].revents = 0 }
        }
    }

    /// Whether something came, or the other end is gone, which reading tells.
    func isReadable(_ place: Int) -> Bool {
        requests[place].revents & Int16(POLLIN | POLLHUP | POLLERR | POLLNVAL) != 0
    }

    /// Whether there is room to write, or the other end is gone.
    func isWritable(_ place: Int) -> Bool {
        requests[place].revents & Int16(POLLOUT | POLLHUP | POLLERR | POLLNVAL) != 0
    }
}
