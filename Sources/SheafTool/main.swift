#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

// Writing to a closed pipe then fails with EPIPE instead of ending the process.
signal(SIGPIPE, SIG_IGN)
// Writing beyond the file size limit then fails with EFBIG instead of ending the process.
signal(SIGXFSZ, SIG_IGN)
let words = UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
exit(Tool.run(words.dropFirst().compactMap { $0 }).rawValue)
