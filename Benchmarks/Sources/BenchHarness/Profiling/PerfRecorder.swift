import Glibc

/// A process of `perf record` that samples this one while it is enabled.
package final class PerfRecorder {
    /// The reason why profiling is not possible, and the remedy.
    package struct Unavailable: Error, Equatable, CustomStringConvertible {
        package let description: String

        init(_ description: String) {
            self.description = description
        }
    }

    /// Samples per second; not a round number, so that it does not coincide with timers.
    private static let frequency = 997
    /// Maximum time for an answer of perf.
    private static let timeoutMilliseconds: Int32 = 10_000

    private let folder: Folder
    private let process: ChildProcess
    private let commands: Int32
    private let answers: Int32
    private var hasEnded = false

    /// Starts perf, disabled, with its files in `folder`.
    package init(folder: Folder) throws {
        self.folder = folder
        let pipes = ["commands", "answers"].map { "\(folder.path)/perf-\($0)" }
        for pipe in pipes {
            guard mkfifo(pipe, 0o600) == 0 else {
                throw Unavailable("cannot create \(pipe): \(String(cString: strerror(errno)))")
            }
        }
        // Opened for both directions, a pipe does not wait for its other end.
        commands = open(pipes[0], O_RDWR | O_CLOEXEC)
        answers = open(pipes[1], O_RDWR | O_CLOEXEC)
        let words = [
            "perf", "record", "--freq", "\(Self.frequency)", "--call-graph", "fp", "--delay", "-1",
            "--control", "fifo:\(pipes[0]),\(pipes[1])", "--output", "\(folder.path)/perf.data",
            "--pid", "\(getpid())",
        ]
        do {
            process = try ChildProcess(
                words, output: "\(folder.path)/perf.out", errors: "\(folder.path)/perf.err")
        } catch {
            close(commands)
            close(answers)
            throw Unavailable(Self.advice(missing: error.number))
        }
        try send("ping")
    }

    deinit {
        end()
        close(commands)
        close(answers)
    }

    /// Starts sampling.
    package func enable() throws { try send("enable") }

    /// Stops sampling until it is enabled again.
    package func disable() throws { try send("disable") }

    /// Ends perf, and returns the samples as the text of `perf script`.
    package func finish() throws -> String {
        end()
        let (output, errors) = ("\(folder.path)/perf.script", "\(folder.path)/perf.err")
        let words = [
            "perf", "script", "--no-inline", "--fields", "comm,tid,ip,sym,dso", "--input",
            "\(folder.path)/perf.data",
        ]
        let code = try ChildProcess(words, output: output, errors: errors).wait()
        guard code == 0 else {
            throw Unavailable("perf script failed: \(Self.lastLine(of: errors))")
        }
        return try TextFile.read(output)
    }

    private func end() {
        guard !hasEnded else { return }
        hasEnded = true
        process.end(by: SIGINT, seconds: 30)
    }

    /// Sends a command, and waits for its acknowledgment.
    private func send(_ command: String) throws {
        let line = Array("\(command)\n".utf8)
        guard !hasEnded, write(commands, line, line.count) == line.count else {
            throw Unavailable("perf has ended")
        }
        var descriptor = pollfd(fd: answers, events: Int16(POLLIN), revents: 0)
        var rest = Self.timeoutMilliseconds
        while poll(&descriptor, 1, 50) == 0 {
            rest -= 50
            if process.code() != nil {
                hasEnded = true
                throw Unavailable(Self.advice(refused: "\(folder.path)/perf.err"))
            }
            guard rest > 0 else {
                throw Unavailable(
                    "perf did not acknowledge '\(command)' within "
                        + "\(Self.timeoutMilliseconds / 1_000) s; try again")
            }
        }
        var answer = [UInt8](repeating: 0, count: 64)
        _ = read(answers, &answer, answer.count)
    }

    // MARK: Advice

    private static func advice(missing number: Int32) -> String {
        guard number == ENOENT else {
            return "--profile cannot start perf: \(String(cString: strerror(number)))"
        }
        return "--profile needs perf, which is not installed. Debian: apt-get install linux-perf; "
            + "Ubuntu: apt-get install linux-tools-generic; Fedora: dnf install perf"
    }

    /// Returns the remedy for the messages of perf in a file.
    private static func advice(refused path: String) -> String {
        let level = (try? TextFile.read("/proc/sys/kernel/perf_event_paranoid")) ?? ""
        return advice(
            messages: (try? TextFile.read(path)) ?? "",
            paranoid: Int(level.filter { !$0.isWhitespace }), isRoot: geteuid() == 0)
    }

    /// Returns the remedy for messages of perf, given the kernel's setting.
    package static func advice(messages: String, paranoid: Int?, isRoot: Bool) -> String {
        if let paranoid, paranoid > 2, !isRoot {
            return "--profile is not permitted: kernel.perf_event_paranoid is \(paranoid). Run "
                + "sudo sysctl kernel.perf_event_paranoid=2, or run as root"
        }
        let lines = messages.split(whereSeparator: \.isNewline).map(String.init)
        let line = lines.first { $0.contains { $0.isLetter } && !$0.hasPrefix("Error") }
        if messages.contains("ermission") || messages.contains("not permitted") {
            return
                "--profile is not permitted: \(line ?? "perf was refused"). In a container, allow "
                + "perf_event_open (--cap-add PERFMON, or --privileged)"
        }
        return "perf failed: \(line ?? "it printed no message")"
    }

    private static func lastLine(of path: String) -> String {
        let text = (try? TextFile.read(path)) ?? ""
        return text.split(whereSeparator: \.isNewline).last.map(String.init) ?? "no message"
    }
}
