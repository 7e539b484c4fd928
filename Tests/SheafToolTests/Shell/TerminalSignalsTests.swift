import SheafLineEditor
import Testing

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The signals that a shell handles.
private let handled = [SIGINT, SIGCONT, SIGWINCH, SIGTERM, SIGHUP, SIGQUIT]

/// Returns all events received so far.
private func events(_ signals: TerminalSignals) -> [TerminalSignals.Event] {
    var events: [TerminalSignals.Event] = []
    while let event = signals.next() { events.append(event) }
    return events
}

/// Returns the numbers of blocked signals.
private func blockedSignals() -> [Int32] {
    var set = sigset_t()
    sigemptyset(&set)
    pthread_sigmask(SIG_BLOCK, nil, &set)
    return handled.filter { sigismember(&set, $0) == 1 }
}

/// Returns the numbers of signals after which system calls continue.
private func restartingSignals() -> [Int32] {
    handled.filter { number in
        var action = sigaction()
        sigaction(number, nil, &action)
        return action.sa_flags & SA_RESTART != 0
    }
}

/// Tests of the signals of a shell, in processes of their own.
struct TerminalSignalsTests {
    @Test func `signals become events in the order of their arrival`() async {
        await #expect(processExitsWith: .success) {
            var set = sigset_t()
            sigemptyset(&set)
            for number in handled { sigaddset(&set, number) }
            pthread_sigmask(SIG_BLOCK, &set, nil)
            // As nohup does.
            signal(SIGHUP, SIG_IGN)
            let signals = try #require(TerminalSignals())
            #expect(blockedSignals() == [])
            #expect(restartingSignals().filter { $0 != SIGHUP } == handled.filter { $0 != SIGHUP })
            #expect(fcntl(signals.descriptor, F_GETFD) == FD_CLOEXEC)
            #expect(events(signals) == [] && !TerminalSignals.isInterrupted)
            raise(SIGHUP)
            raise(SIGWINCH)
            raise(SIGCONT)
            signals.post()
            #expect(!TerminalSignals.isInterrupted)
            raise(SIGINT)
            #expect(TerminalSignals.isInterrupted)
            #expect(
                events(signals) == [.resizing, .continuation, .completion, .interruption])
            #expect(TerminalSignals.isInterrupted)
            raise(SIGINT)
            raise(SIGWINCH)
            signals.discardInterruptions()
            #expect(events(signals) == [] && !TerminalSignals.isInterrupted)
            signals.post()
            raise(SIGINT)
            #expect(signals.wait() == .completion)
            #expect(signals.wait() == .interruption)
        }
    }

    #if os(Linux)
        @Test func `events beyond the length of the pipe are lost, and nothing blocks`() async {
            await #expect(processExitsWith: .success) {
                let signals = try #require(TerminalSignals())
                let setLength: Int32 = 1_031
                let length = Int(fcntl(signals.descriptor, setLength, 4_096))
                for _ in 0..<length + 10 { signals.post() }
                errno = EDOM
                raise(SIGWINCH)
                let code = errno
                #expect(code == EDOM)
                let received = events(signals)
                #expect(received.count == length && Set(received) == [.completion])
                // There is room again.
                raise(SIGWINCH)
                #expect(events(signals) == [.resizing])
            }
        }
    #endif

    @Test func `a signal that ends the process has its usual effect`() async {
        await #expect(processExitsWith: .signal(SIGQUIT)) {
            _ = try #require(TerminalSignals())
            raise(SIGQUIT)
        }
    }
}
