import Glibc

/// A process with its output in files.
struct ChildProcess {
    let id: pid_t

    /// An error of starting a program.
    struct Failure: Error {
        /// The number of the system's error; `ENOENT` if there is no such program.
        let number: Int32
    }

    /// Starts a program that is searched in `PATH`.
    init(
        _ words: [String], input: String = "/dev/null", output: String, errors: String
    ) throws(Failure) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, input, O_RDONLY, 0)
        let flags = O_WRONLY | O_CREAT | O_TRUNC
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output, flags, 0o600)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, errors, flags, 0o600)
        // SIGINT must end the program, although the caller ignores it and its thread may block it.
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        var arguments: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
        arguments.append(nil)
        defer { for argument in arguments { free(argument) } }
        var id = pid_t()
        let status = posix_spawnp(&id, words[0], &actions, &attributes, arguments, environ)
        guard status == 0 else { throw Failure(number: status) }
        self.id = id
    }

    /// Waits for the end of the process; returns its exit code, or -1 if a signal ended it.
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(id, &status, 0) < 0 {
            guard errno == EINTR else { return -1 }
        }
        return Self.code(status)
    }

    /// Ends the process by a signal, and by SIGKILL if it has not ended after `seconds`.
    func end(by signal: Int32, seconds: Int) {
        kill(id, signal)
        for _ in 0..<seconds * 100 {
            if code() != nil { return }
            poll(nil, 0, 10)
        }
        kill(id, SIGKILL)
        _ = wait()
    }

    /// Returns the exit code if the process has ended, otherwise nil.
    func code() -> Int32? {
        var status: Int32 = 0
        return waitpid(id, &status, WNOHANG) == id ? Self.code(status) : nil
    }

    private static func code(_ status: Int32) -> Int32 {
        status & 0x7F == 0 ? (status >> 8) & 0xFF : -1
    }
}
