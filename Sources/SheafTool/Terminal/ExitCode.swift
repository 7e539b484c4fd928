/// The exit code of the tool.
enum ExitCode: Int32 {
    case ok = 0
    /// The command failed.
    case failed = 1
    /// Two stores differ.
    static let different = ExitCode.failed
    /// The store is damaged, or data was lost.
    case damaged = 3
    /// Invalid usage of the command line (EX_USAGE of sysexits.h).
    case usage = 64
}
