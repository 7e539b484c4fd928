#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The bytes that a user types, interrupted by signals.
struct TypedBytes {
    let signals: TerminalSignals

    enum Next {
        case byte(UInt8)
        case event(TerminalSignals.Event)
        case end
    }

    /// Waits for the next byte or event.
    func next() -> Next {
        while true {
            if let event = signals.next() { return .event(event) }
            var entries = [
                pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
                pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
            ]
            let count = poll(&entries, nfds_t(entries.count), -1)
            guard count >= 0 else {
                if errno == EINTR { continue }
                return .end
            }
            guard entries[0].revents != 0 else { continue }
            var byte: UInt8 = 0
            let length = read(STDIN_FILENO, &byte, 1)
            if length == 1 { return .byte(byte) }
            if length < 0, errno == EINTR || errno == EAGAIN { continue }
            return .end
        }
    }
}
