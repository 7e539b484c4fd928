extension Command {
    /// What `--help` prints.
    static let help = """
        Measures Sheaf beside its peers: every system does the same work, in turns.

        usage: sheaf-bench [OPTION…] [WORKLOAD…] [WORKLOAD/CASE…]

          --json             one JSON object a line on standard output
          --quick            less data and fewer rounds: minutes, and rough
          --rounds N         how often each case is measured (5; quick 3)
          --directory PATH   where data goes; a fresh directory is made there and removed
          --baseline FILE    compare with the JSON lines of an earlier run
          --fail-over 10%    exit with 1 when a figure got worse by more than this
          --list             name the workloads, their cases and the systems in each
          --help, --version

        Exit codes: 0 done, 1 worse than the baseline, 64 wrong usage, 65 unreadable baseline,
        70 a system failed, 73 no place for data, 78 a debug build.
        """
}
