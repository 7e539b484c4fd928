#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

// A reader that goes away shall end the tool with an error of `write`, and not with a signal.
signal(SIGPIPE, SIG_IGN)
// Nor with one where a file may not grow as large as a command would make it.
signal(SIGXFSZ, SIG_IGN)
let words = UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
exit(Tool.run(words.dropFirst().compactMap { $0 }).rawValue)
