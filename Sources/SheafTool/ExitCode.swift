/// What the tool answers to the shell.
enum ExitCode: Int32 {
    case ok = 0
    /// The command could not do what it was asked.
    case failed = 1
    /// The store is damaged, or something of it was lost.
    case damaged = 3
    /// The command line makes no sense (EX_USAGE of sysexits).
    case usage = 64
}
