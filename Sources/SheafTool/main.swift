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
// A closed standard descriptor is opened again. Otherwise the next file of a store would get its
// number, and the output would be written to that file. Access in the intended direction fails.
for descriptor: Int32 in 0...2 where fcntl(descriptor, F_GETFD) < 0 {
    _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
}
let words = UnsafeBufferPointer(start: CommandLine.unsafeArgv, count: Int(CommandLine.argc))
exit(Tool.run(words.dropFirst().compactMap { $0 }).rawValue)
