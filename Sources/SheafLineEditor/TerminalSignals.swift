import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The signals of an interactive program, as events in the order of their arrival.
///
/// SIGINT, SIGCONT and SIGWINCH become events. SIGTERM, SIGHUP and SIGQUIT end the process as
/// usual, after the settings of the terminal have been restored.
package final class TerminalSignals: Sendable {
    /// An event that interrupts waiting.
    package enum Event: UInt8, Sendable {
        /// Ctrl-C.
        case interruption
        /// The process continues after it was stopped.
        case continuation
        /// The size of the terminal has changed.
        case resizing
        /// `post()` was called.
        case completion
    }

    private let readEnd: Int32
    private let writeEnd: Int32

    /// Installs the handlers; nil if no pipe can be created.
    package init?() {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { return nil }
        (readEnd, writeEnd) = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            // Neither a handler nor `next()` may block.
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
        signalPipe.store(writeEnd, ordering: .releasing)
        if tcgetattr(STDIN_FILENO, terminalSettings) == 0 {
            hasTerminalSettings.store(true, ordering: .releasing)
        }
        let events = [SIGINT, SIGCONT, SIGWINCH]
        let fatal = [SIGTERM, SIGHUP, SIGQUIT]
        for number in events { Self.handle(number, postSignal) }
        for number in fatal where !Self.isIgnored(number) {
            Self.handle(number, restoreTerminalAndEnd)
        }
        // A parent process may have blocked them.
        var signals = sigset_t()
        sigemptyset(&signals)
        for number in events + fatal { sigaddset(&signals, number) }
        pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    }

    /// Whether SIGINT was received after the last call of `discardInterruptions()`.
    package static var isInterrupted: Bool { hasInterruption.load(ordering: .relaxed) }

    /// Discards all events received so far.
    package func discardInterruptions() {
        while next() != nil {}
        hasInterruption.store(false, ordering: .relaxed)
    }

    /// The descriptor that is readable while there are events.
    package var descriptor: Int32 { readEnd }

    /// Returns the oldest event, if there is one.
    package func next() -> Event? {
        var byte: UInt8 = 0
        while true {
            let count = read(readEnd, &byte, 1)
            if count < 0, errno == EINTR { continue }
            guard count == 1 else { return nil }
            if let event = Event(rawValue: byte) { return event }
        }
    }

    /// Waits for an event.
    package func wait() -> Event {
        while true {
            if let event = next() { return event }
            var entry = pollfd(fd: readEnd, events: Int16(POLLIN), revents: 0)
            _ = poll(&entry, 1, -1)
        }
    }

    /// Posts a completion, from any thread.
    package func post() {
        var byte = Event.completion.rawValue
        while write(writeEnd, &byte, 1) < 0, errno == EINTR {}
    }

    /// Restores the settings that the terminal had at the start.
    package func restoreTerminal() {
        guard hasTerminalSettings.load(ordering: .acquiring) else { return }
        _ = tcsetattr(STDIN_FILENO, TCSADRAIN, terminalSettings)
    }

    /// Whether a signal is ignored, as `nohup` arranges for its child.
    private static func isIgnored(_ number: Int32) -> Bool {
        var action = sigaction()
        sigaction(number, nil, &action)
        #if canImport(Darwin)
            let handler = action.__sigaction_u.__sa_handler
        #else
            let handler = action.__sigaction_handler.sa_handler
        #endif
        return unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    private static func handle(_ number: Int32, _ handler: @escaping @convention(c) (Int32) -> Void)
    {
        var action = sigaction()
        #if canImport(Darwin)
            action.__sigaction_u.__sa_handler = handler
        #else
            action.__sigaction_handler.sa_handler = handler
        #endif
        // System calls are restarted, except for those that wait for the user, such as poll.
        action.sa_flags = SA_RESTART
        sigaction(number, &action, nil)
    }
}

// The handlers below read these globals, which are initialized before a handler is installed, and
// call only functions that are safe in handlers.

/// The descriptor to which handlers write events.
private let signalPipe = Atomic<Int32>(-1)
private let hasTerminalSettings = Atomic(false)
private let hasInterruption = Atomic(false)
// Written once, before a handler is installed.
nonisolated(unsafe) private let terminalSettings = {
    let settings = UnsafeMutablePointer<termios>.allocate(capacity: 1)
    settings.initialize(to: termios())
    return settings
}()

private func postSignal(_ number: Int32) {
    let code = errno
    let event: TerminalSignals.Event =
        switch number {
        case SIGCONT: .continuation
        case SIGWINCH: .resizing
        default: .interruption
        }
    if event == .interruption { hasInterruption.store(true, ordering: .relaxed) }
    var byte = event.rawValue
    _ = write(signalPipe.load(ordering: .acquiring), &byte, 1)
    errno = code
}

private func restoreTerminalAndEnd(_ number: Int32) {
    if hasTerminalSettings.load(ordering: .acquiring) {
        _ = tcsetattr(STDIN_FILENO, TCSANOW, terminalSettings)
    }
    _ = signal(number, SIG_DFL)
    // It is delivered when the handler returns.
    _ = raise(number)
}
