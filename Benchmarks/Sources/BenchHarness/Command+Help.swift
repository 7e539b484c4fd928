extension BenchmarkCommand {
    /// The text printed by `--help`.
    static let help = """
        Benchmarks Sheaf against other databases: all systems do the same work, in turns.

        usage: sheaf-bench [OPTION…] [WORKLOAD…] [WORKLOAD/CASE…]
               sheaf-bench run FILE [OPTION…]     measure the workload of a file

          --json             print one JSON object per line
          --quick            less data and fewer rounds, for rough results in minutes
          --queries          print the times of single queries, the slowest of sheaf first
          --rounds N         rounds per case (default 5; with --quick 3)
          --directory PATH   parent of the temporary data directory
          --baseline FILE    compare with the JSON lines of an earlier run
          --fail-over 10%    exit with 1 if a figure got worse by more than this
          --plot DIR         write charts of medians and latencies in SVG
          --profile          print where the rounds of sheaf spent their time (requires perf), and
                             write folded stacks and a flame graph, to the directory of --plot
          --check            with run: check the file, and measure nothing
          --list             list the workloads, their cases and systems
          --published        measure the cases of the README
          --chart FILE       print a chart in SVG of the JSON lines of an earlier run
          --table FILE       print the table of the README, from the same lines
          --help, --version

        Exit codes: 0 success, 1 worse than the baseline, 64 invalid usage, 65 an invalid or
        unreadable file, or a baseline of another kind of run, 69 no profiler, 70 a system failed,
        73 cannot create files, 78 debug build.
        """
}
