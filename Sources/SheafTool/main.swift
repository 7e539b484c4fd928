#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

// A reader that goes away shall end the tool with an error of `write`, and not with a signal.
signal(SIGPIPE, SIG_IGN)
exit(Tool.run(CommandLine.arguments.dropFirst()).rawValue)
