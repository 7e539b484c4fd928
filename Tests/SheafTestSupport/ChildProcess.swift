import SheafStorage
import SheafSystem
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A child process and its standard output.
package final class ChildProcess: Sendable {
    /// Error thrown when the program could not be started.
    package struct Refused: Error {
        package let program: String
        package let code: Int32
    }

    private struct Output {
        /// Bytes read after the last newline.
        var rest: [UInt8] = []
        var isEnded = false
        var exitStatus: Int32?
    }

    /// The process ID.
    package let identifier: Int32
    private let pipe: Int32
    /// The writing end of the standard input; nil if the child has that of this process.
    private let input: Int32?
    private let output = Mutex(Output())

    /// Starts `program` with these arguments, after a search in `PATH`.
    ///
    /// With `hasInput`, its standard input is a pipe that `send` fills, and ends with this process.
    package init(
        _ program: String, _ arguments: [String], hasInput: Bool = false
    ) throws(Refused) {
        var ends: [Int32] = [0, 0]
        var inputEnds: [Int32] = [-1, -1]
        // All ends close on exec: children of other threads must not inherit them.
        guard Self.makePipe(&ends) else { throw Refused(program: program, code: errno) }
        if hasInput, !Self.makePipe(&inputEnds) {
            defer { for end in ends { _ = close(end) } }
            throw Refused(program: program, code: errno)
        }
        #if canImport(Darwin)
            var actions: posix_spawn_file_actions_t?
        #else
            var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        if hasInput { posix_spawn_file_actions_adddup2(&actions, inputEnds[0], 0) }
        var pointers = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for pointer in pointers { free(pointer) } }
        var child = pid_t()
        let result = posix_spawnp(&child, program, &actions, nil, &pointers, environ)
        _ = close(ends[1])
        if hasInput { _ = close(inputEnds[0]) }
        guard result == 0 else {
            _ = close(ends[0])
            if hasInput { _ = close(inputEnds[1]) }
            throw Refused(program: program, code: result)
        }
        identifier = child
        pipe = ends[0]
        input = hasInput ? inputEnds[1] : nil
    }

    deinit {
        if output.withLock({ $0.exitStatus == nil }) {
            kill()
            _ = wait()
        }
        _ = close(pipe)
        if let input { _ = close(input) }
    }

    /// Writes a line to the standard input of the process, unless it has ended.
    ///
    /// This process must ignore `SIGPIPE`.
    package func send(_ line: String) {
        guard let input else { return }
        let bytes = Array((line + "\n").utf8)
        _ = write(input, bytes, bytes.count)
    }

    /// Returns the complete lines printed since the last call, or nil after the end of output.
    ///
    /// Waits for a line until `deadline`, a time of the monotonic clock, then returns an empty
    /// array.
    package func lines(until deadline: UInt64 = .max) -> [String]? {
        output.withLock { output in
            while !output.isEnded {
                let now = Clock.system.monotonicNanoseconds()
                let rest = deadline > now ? (deadline - now) / 1_000_000 : 0
                var request = pollfd(fd: pipe, events: Int16(POLLIN), revents: 0)
                guard poll(&request, 1, Int32(clamping: min(rest, 60_000))) > 0 else {
                    if deadline <= now { return [] }
                    continue
                }
                var bytes = [UInt8](repeating: 0, count: 64 << 10)
                let count = read(pipe, &bytes, bytes.count)
                output.isEnded = count <= 0
                output.rest += bytes.prefix(max(count, 0))
                guard let end = output.rest.lastIndex(of: 0x0A) else { continue }
                let whole = output.rest[..<end]
                output.rest.removeSubrange(...end)
                return whole.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
            }
            return nil
        }
    }

    /// Returns all remaining lines up to the end of output.
    package func remainingLines() -> [String] {
        var all: [String] = []
        while let some = lines() { all += some }
        return all
    }

    /// Kills the process with `SIGKILL`.
    package func kill() {
        #if canImport(Glibc)
            _ = Glibc.kill(identifier, SIGKILL)
        #elseif canImport(Musl)
            _ = Musl.kill(identifier, SIGKILL)
        #else
            _ = Darwin.kill(identifier, SIGKILL)
        #endif
    }

    /// Waits for the process to exit; returns its exit code, or 128 plus the signal number.
    package func wait() -> Int32 {
        output.withLock { output in
            if let status = output.exitStatus { return status }
            var raw: Int32 = 0
            while waitpid(identifier, &raw, 0) < 0, errno == EINTR {}
            let signal = raw & 0x7F
            let status = signal == 0 ? raw >> 8 & 0xFF : 128 + signal
            output.exitStatus = status
            return status
        }
    }

    /// Runs a program until it exits; returns its exit code and its output.
    package static func run(
        _ program: String, _ arguments: [String]
    ) throws(Refused) -> (code: Int32, lines: [String]) {
        let child = try ChildProcess(program, arguments)
        let lines = child.remainingLines()
        return (child.wait(), lines)
    }

    private static func makePipe(_ ends: inout [Int32]) -> Bool {
        #if canImport(Darwin)
            guard Darwin.pipe(&ends) == 0 else { return false }
        #elseif canImport(Musl)
            guard Musl.pipe(&ends) == 0 else { return false }
        #else
            guard Glibc.pipe(&ends) == 0 else { return false }
        #endif
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return true
    }
}
