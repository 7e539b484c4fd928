import SheafBytes

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// The execution of other programs, each of which uses the terminal until it ends.
enum ChildProcess {
    /// Runs this program with other arguments; returns its exit code.
    static func run(tool words: [String], _ session: ShellSession) throws(ToolError) -> Int32 {
        let command = ([try program] + words).map { word in
            "'" + word.replacing("'", with: "'\\''") + "'"
        }
        return try run(script: "exec " + command.joined(separator: " "), session)
    }

    /// Runs a script of `/bin/sh`; returns its exit code, or 128 plus the number of a signal.
    ///
    /// Until it ends, Ctrl-C interrupts only the script.
    static func run(script: String, _ session: ShellSession) throws(ToolError) -> Int32 {
        session.output.flush()
        let status = system(script)
        guard status >= 0 else {
            throw .failed("cannot run a program: \(String(cString: strerror(errno)))")
        }
        let signal = status & 0x7F
        guard signal != 0 else { return status >> 8 & 0xFF }
        if signal == SIGINT { session.output.print(note: "interrupted") }
        return 128 + signal
    }

    /// The path of this program.
    private static var program: String {
        get throws(ToolError) {
            #if canImport(Darwin)
                var length = UInt32(PATH_MAX)
                var path = [CChar](repeating: 0, count: Int(length))
                guard _NSGetExecutablePath(&path, &length) == 0 else {
                    throw .failed("cannot find the program of this process")
                }
                return String(decoding: path.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self)
            #else
                var path = [UInt8](repeating: 0, count: Int(PATH_MAX))
                let count = path.withUnsafeMutableBytes { bytes in
                    let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
                    return start.map { readlink("/proc/self/exe", $0, bytes.count) } ?? -1
                }
                guard count > 0 else { throw .failed("cannot find the program of this process") }
                return String(decoding: path.prefix(count), as: UTF8.self)
            #endif
        }
    }
}
