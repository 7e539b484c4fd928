/// The exit code of the tool.
enum ExitCode: Int32, CaseIterable {
    case ok = 0
    /// The command failed.
    case failed = 1
    /// Two stores differ.
    static let different = ExitCode.failed
    /// The store is damaged, or data was lost.
    case damaged = 3
    /// Invalid usage of the command line (EX_USAGE of sysexits.h).
    case usage = 64

    /// The description in the help.
    var summary: String {
        switch self {
        case .ok: "success"
        case .failed: "the command failed, or 'sheaf diff' found a difference"
        case .damaged: "the store is damaged, or data was lost"
        case .usage: "invalid usage"
        }
    }

    /// How commands end by Ctrl-C.
    static let interruption = """
        Ctrl-C (SIGINT) and SIGTERM end watch, log --follow and running peers with exit code 0;
        a signal ends other commands, for which a shell reports 128 plus its number.
        """
}
