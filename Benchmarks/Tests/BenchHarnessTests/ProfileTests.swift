import BenchHarness
import Testing

/// Profiles from the text of `perf script`.
@Suite struct ProfileTests {
    /// Recorded from a run, with shortened stacks.
    static let script = """
        sheaf bench  2282
        \t            98109 malloc (/usr/lib/x86_64-linux-gnu/libc.so.6)
        \t     55d0c0a1b2c3 $s11SheafEngine08DocumentB0C5writeyyF (/build/sheaf-bench)
        \t     55d0c0a1b2d4 main (/build/sheaf-bench)

        sheaf bench  2282
        \tffffffff822010c9 _raw_spin_unlock_irqrestore ([kernel.kallsyms])
        \t           11c5a fdatasync (/usr/lib/x86_64-linux-gnu/libc.so.6)
        \t     55d0c0a1b2d4 main (/build/sheaf-bench)

        worker  2290
        \t     55d0c0a1b2c3 $s11SheafEngine08DocumentB0C5writeyyF (/build/sheaf-bench)
        \t     55d0c0a1b2c3 $s11SheafEngine08DocumentB0C5writeyyF (/build/sheaf-bench)
        \t     55d0c0a1b2d4 main (/build/sheaf-bench)

        worker  2290
        \t           646c6 [unknown] (/build/librocksdb.so.7.8)
        \t           646c7 operator<<(int) (anonymous namespace); x (/build/librocksdb.so.7.8)
        \t     55d0c0a1b2d4 main (/build/sheaf-bench)

        """

    private let profile = Profile(parsing: script)
    private static let write = "$s11SheafEngine08DocumentB0C5writeyyF"

    @Test func `folded stacks have the outermost function first, and the number of samples`() {
        let folded = profile.folded { $0.symbol }
        #expect(
            folded == """
                main;\(Self.write);\(Self.write) 1
                main;\(Self.write);malloc 1
                main;fdatasync;_raw_spin_unlock_irqrestore 1
                main;operator<<(int) (anonymous namespace), x;[unknown] 1

                """)
    }

    @Test func `a function on a stack twice counts once`() throws {
        let shares = profile.shares { $0.symbol }
        let write = try #require(shares.first { $0.name == Self.write })
        #expect(write.own == 1 && write.total == 2)
        let main = try #require(shares.first { $0.name == "main" })
        #expect(main.own == 0 && main.total == 4)
    }

    @Test func `functions are grouped by module, library and purpose`() {
        let groups = [
            (Self.write, "/build/sheaf-bench", "SheafEngine"),
            ("$sSS4utf8SS8UTF8ViewVvg", "/build/sheaf-bench", "Swift"),
            ("swift_retain", "/build/sheaf-bench", "reference counting"),
            ("_swift_release_dealloc", "/build/sheaf-bench", "reference counting"),
            ("swift_allocObject", "/build/sheaf-bench", "memory allocation"),
            ("_int_malloc", "/usr/lib/libc.so.6", "memory allocation"),
            ("memcpy", "/usr/lib/libc.so.6", "C library"),
            ("sqlite3VdbeExec", "/usr/lib/libsqlite3.so.0", "SQLite"),
            ("_dispatch_lane_pop", "/usr/lib/libdispatch.so", "Swift concurrency"),
            ("memset", "[vdso]", "kernel"), ("x", "[kernel.kallsyms]", "kernel"),
            ("main", "/build/sheaf-bench", "sheaf-bench"),
            ("$s99Short", "/build/sheaf-bench", "Swift"), ("$s", "a", "Swift"),
        ]
        for (symbol, file, group) in groups {
            #expect(SymbolName.group(of: symbol, in: file) == group, "\(symbol)")
        }
    }

    @Test func `the table has shares of groups, and the functions with most samples`() {
        let lines = profile.table { $0.symbol }
        #expect(lines.first == "  self    total  group")
        #expect(lines.contains("25.0 %   25.0 %  kernel"))
        #expect(lines.contains("25.0 %   50.0 %  SheafEngine"))
        #expect(lines.contains { $0.hasPrefix("25.0 %  25.0 %  malloc  [memory allocation]") })
    }

    @Test func `damaged texts have the samples that can be read`() {
        #expect(Profile(parsing: "").count == 0)
        #expect(Profile(parsing: "a  1\n\n\nb  2\n\t\n\t zz\n").count == 0)
        let cut = Profile(parsing: String(Self.script.prefix(150)))
        #expect(cut.count == 1)
        let deep = "a  1\n" + String(repeating: "\t1 f (b)\n", count: 10_000)
        #expect(Profile(parsing: deep).stacks.keys.first?.count == 200)
    }

    @Test func `a refused profiler is reported with the remedy`() {
        let strict = PerfRecorder.advice(messages: "Error:\n", paranoid: 4, isRoot: false)
        #expect(strict.contains("perf_event_paranoid is 4. Run sudo sysctl"))
        let container = PerfRecorder.advice(
            messages: "Error:\nAccess to performance monitoring operations is limited: "
                + "Operation not permitted\n", paranoid: 4, isRoot: true)
        #expect(container.contains("--cap-add PERFMON"))
        let other = PerfRecorder.advice(
            messages: "Error:\nno such event\n", paranoid: 1, isRoot: false)
        #expect(other == "perf failed: no such event")
    }
}
