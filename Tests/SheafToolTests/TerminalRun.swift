import Foundation
import SheafSystem
import SheafTestSupport
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// One run of a program under a pseudo-terminal of a given size.
///
/// The test reads what the program prints, types, and resizes the terminal.
final class TerminalRun {
    /// Error thrown if the program does not print what the test waits for.
    struct Missing: Error {
        let text: String
        let output: String
    }

    /// Error of the operating system.
    struct Refused: Error {
        let call: String
        let code: Int32
    }

    /// Time after which a test fails.
    private static let timeoutNanoseconds: UInt64 = 600_000_000_000

    private let terminal: Int32
    private let process: pid_t
    private var bytes: [UInt8] = []
    private var isEnded = false
    private var status: Int32?

    /// Starts the tool; `environment` adds to a small environment without a pager.
    convenience init(
        _ arguments: [String], columns: Int = 80, rows: Int = 24,
        environment: [String: String] = [:]
    ) throws {
        try self.init(
            program: ToolRun.executable.path, arguments, columns: columns, rows: rows, environment)
    }

    /// Starts a shell script in which "$0" is the tool.
    convenience init(
        script: String, columns: Int = 80, rows: Int = 24, environment: [String: String] = [:]
    ) throws {
        try self.init(
            program: "/bin/sh", ["-c", script, ToolRun.executable.path], columns: columns,
            rows: rows, environment)
    }

    private init(
        program: String, _ arguments: [String], columns: Int, rows: Int,
        _ environment: [String: String]
    ) throws {
        // Both constants are macros that Swift does not import. The terminal closes on exec, so
        // that no program of another test keeps it open.
        let (unlockRequest, numberRequest) = (0x4004_5431 as UInt, 0x8004_5430 as UInt)
        var (lock, number) = (0 as Int32, 0 as UInt32)
        terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard terminal >= 0, ioctl(terminal, unlockRequest, &lock) == 0,
            ioctl(terminal, numberRequest, &number) == 0
        else { throw Refused(call: "open", code: errno) }
        let name = "/dev/pts/\(number)"
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The first terminal that the leader of a session opens is its controlling terminal.
        posix_spawn_file_actions_addopen(&actions, 0, name, O_RDWR, 0)
        posix_spawn_file_actions_adddup2(&actions, 0, 1)
        posix_spawn_file_actions_adddup2(&actions, 0, 2)
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        let newSession: Int16 = 0x80
        posix_spawnattr_setflags(&attributes, newSession | Int16(POSIX_SPAWN_SETSIGDEF))
        // The process of the tests may ignore signals, as one that `nohup` runs.
        var signals = sigset_t()
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        var variables = [
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin",
            "TERM": "xterm", "SHEAF_PAGER": "", "LC_ALL": "C.UTF-8",
        ]
        // Tests/PlantedBugs and Tests/Mutation select a change of the program by variables.
        for name in ["SHEAF_PLANTED_BUG", "SHEAF_MUTANT", "SHEAF_MUTANTS_REACHED"] {
            variables[name] = ProcessInfo.processInfo.environment[name]
        }
        variables.merge(environment) { $1 }
        var words = ([program] + arguments).map { strdup($0) } + [nil]
        var settings = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for pointer in words + settings { free(pointer) } }
        var size = winsize()
        (size.ws_col, size.ws_row) = (UInt16(columns), UInt16(rows))
        _ = ioctl(terminal, UInt(TIOCSWINSZ), &size)
        var process = pid_t()
        let code = posix_spawn(&process, program, &actions, &attributes, &words, &settings)
        guard code == 0 else { throw Refused(call: "posix_spawn", code: code) }
        self.process = process
    }

    deinit {
        if status == nil {
            kill(process, SIGKILL)
            _ = reap()
        }
        close(terminal)
    }

    /// Changes the size of the terminal.
    func resize(columns: Int, rows: Int) {
        var size = winsize()
        (size.ws_col, size.ws_row) = (UInt16(columns), UInt16(rows))
        _ = ioctl(terminal, UInt(TIOCSWINSZ), &size)
    }

    /// Types a text; `\u{3}` is Ctrl-C.
    func type(_ text: String) {
        _ = write(terminal, text, text.utf8.count)
    }

    /// Waits until the program has printed `text` after all texts of earlier calls.
    func expect(_ text: String) throws {
        let deadline = Clock.system.monotonicNanoseconds() + Self.timeoutNanoseconds
        while true {
            if let range = output.range(of: text, range: position..<output.endIndex) {
                position = range.upperBound
                return
            }
            guard read(until: deadline) else { throw Missing(text: text, output: output) }
        }
    }

    /// Whether the program has printed anything; waits at most ten milliseconds.
    var hasPrinted: Bool {
        _ = read(until: Clock.system.monotonicNanoseconds() + 10_000_000)
        return !bytes.isEmpty
    }

    /// Waits until the complete output fulfills a condition.
    func wait(until condition: (String) -> Bool) throws {
        let deadline = Clock.system.monotonicNanoseconds() + Self.timeoutNanoseconds
        // The state of the terminal may change without output.
        while !condition(output) {
            let now = Clock.system.monotonicNanoseconds()
            guard now < deadline, !isEnded else { throw Missing(text: "a state", output: output) }
            _ = read(until: min(deadline, now + 20_000_000))
        }
    }

    /// Sends a signal to the program.
    func send(_ signal: Int32) {
        kill(process, signal)
    }

    /// Whether the terminal echoes what is typed and reads it by lines, as a shell expects it.
    var isCooked: Bool {
        var settings = termios()
        let wanted = tcflag_t(ECHO | ICANON | ISIG)
        return tcgetattr(terminal, &settings) == 0 && settings.c_lflag & wanted == wanted
    }

    /// Makes the terminal echo what is typed and read it by lines, as another program may do.
    func cook() {
        var settings = termios()
        guard tcgetattr(terminal, &settings) == 0 else { return }
        settings.c_lflag |= tcflag_t(ECHO | ICANON | ISIG)
        _ = tcsetattr(terminal, TCSANOW, &settings)
    }

    /// Whether the main thread of the program waits instead of using a processor.
    var isWaiting: Bool {
        let text = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        // The program name, in parentheses, can contain spaces.
        let fields = text.split(separator: ")").last?.split(separator: " ") ?? []
        return fields.first == "S"
    }

    private var position: String.Index {
        get { String.Index(utf16Offset: offset, in: output) }
        set { offset = newValue.utf16Offset(in: output) }
    }
    private var offset = 0

    /// The output so far, with line feeds alone.
    var output: String {
        String(decoding: bytes, as: UTF8.self).replacing("\r\n", with: "\n")
    }

    /// Reads more output; returns false at the end, or after the deadline.
    private func read(until deadline: UInt64) -> Bool {
        while !isEnded {
            let now = Clock.system.monotonicNanoseconds()
            guard now < deadline else { return false }
            var request = pollfd(fd: terminal, events: Int16(POLLIN), revents: 0)
            guard poll(&request, 1, Int32((deadline - now) / 1_000_000 + 1)) > 0 else { continue }
            var piece = [UInt8](repeating: 0, count: 64 << 10)
            #if canImport(Glibc)
                let count = Glibc.read(terminal, &piece, piece.count)
            #elseif canImport(Musl)
                let count = Musl.read(terminal, &piece, piece.count)
            #else
                let count = Darwin.read(terminal, &piece, piece.count)
            #endif
            // Linux reports the end of the last program as an input/output error.
            isEnded = count <= 0
            guard count > 0 else { return false }
            bytes += piece.prefix(count)
            return true
        }
        return false
    }

    /// Waits for the end of the program; returns its exit code, or 128 plus the signal number.
    func finish() throws -> Int32 {
        let deadline = Clock.system.monotonicNanoseconds() + Self.timeoutNanoseconds
        while read(until: deadline) {}
        guard isEnded else { throw Missing(text: "the end", output: output) }
        return reap()
    }

    private func reap() -> Int32 {
        if let status { return status }
        var raw: Int32 = 0
        while waitpid(process, &raw, 0) < 0, errno == EINTR {}
        let signal = raw & 0x7F
        let code = signal == 0 ? raw >> 8 & 0xFF : 128 + signal
        status = code
        return code
    }
}
