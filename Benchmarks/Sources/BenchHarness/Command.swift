import Dispatch
import Glibc

/// The benchmark program: parses its arguments, measures, and prints the results.
package struct BenchmarkCommand {
    /// Exit codes, following `sysexits.h` where possible.
    package enum ExitCode: Int32 {
        case success = 0
        case regression = 1
        case usage = 64
        case badBaseline = 65
        case systemFailed = 70
        case cannotWrite = 73
        case debugBuild = 78
    }

    private let workloads: [Workload]
    private let version: String

    /// Creates a program that offers `workloads`; `version` is that of the measured package.
    package init(_ workloads: [Workload], version: String) {
        self.workloads = workloads
        self.version = version
    }

    /// Runs the program with the arguments after its name.
    package func run(_ words: [String]) async -> ExitCode {
        do {
            let arguments = try BenchmarkArguments(parsing: words)
            let selection = try Selection(arguments.names, from: workloads)
            switch arguments.action {
            case .help: print(Self.help)
            case .version: print("sheaf-bench \(version)")
            case .list: list(selection)
            case .chart: print(PublishedChart.svg(try results(arguments)), terminator: "")
            case .table: PublishedTable.lines(try results(arguments)).forEach { print($0) }
            case .measure: return try await measure(arguments, selection)
            }
            return .success
        } catch let misuse as BenchmarkArguments.Misuse {
            let stop = misuse.description.hasSuffix("?") ? "" : "."
            Self.log("\(misuse.description)\(stop) See sheaf-bench --help.")
            return .usage
        } catch let malformed as Baseline.Malformed {
            Self.log("\(malformed)")
            return .badBaseline
        } catch let incomplete as PublishedResults.Incomplete {
            Self.log("\(incomplete)")
            return .badBaseline
        } catch {
            Self.log("\(error)")
            return .cannotWrite
        }
    }

    private func results(_ arguments: BenchmarkArguments) throws -> PublishedResults {
        try PublishedResults(parsing: try Self.text(of: arguments.results ?? ""))
    }

    private func measure(_ arguments: BenchmarkArguments, _ selection: Selection) async throws
        -> ExitCode
    {
        guard Machine.isRelease else {
            Self.log("Debug builds are not measured. Build with: swift build -c release")
            return .debugBuild
        }
        let baseline = try arguments.baseline.map { try Baseline(parsing: try Self.text(of: $0)) }
        let directories = try RunDirectories(directory: arguments.directory)
        defer { directories.remove() }
        let interruptions = directories.removeOnInterruption()
        defer { interruptions.forEach { $0.cancel() } }

        let machine = Machine.current().description(fileSystem: directories.fileSystem)
        Self.log(machine)
        Self.log("data: \(directories.description)")
        for warning in directories.warnings { Self.log("WARNING: \(warning)") }

        let scale = Scale(isQuick: arguments.isQuick, rounds: arguments.rounds)
        let runner = Runner(
            scale: scale, disk: directories.disk, memory: directories.memory, log: { Self.log($0) })
        var figures: [Figure] = []
        var hasFailures = false
        for workload in selection.workloads {
            for test in workload.cases {
                let outcome = await runner.run(test, of: workload.name)
                figures += outcome.figures
                hasFailures = hasFailures || !outcome.failures.isEmpty
                guard arguments.isJSON else { continue }
                for figure in outcome.figures { print(figure.line(machine: machine).text) }
                fflush(nil)
            }
        }
        if !arguments.isJSON { Table.lines(figures).forEach { print($0) } }
        let isWorse = compare(figures, baseline, failOver: arguments.failOver)
        if hasFailures { return .systemFailed }
        return isWorse ? .regression : .success
    }

    /// Reports the changes since the baseline; returns whether one exceeds the limit.
    private func compare(
        _ figures: [Figure], _ baseline: Baseline?, failOver: Double?
    ) -> Bool {
        guard let baseline else { return false }
        let changes = baseline.changes(to: figures)
        Self.log("\(changes.count) figures of \(Figure.engine) are in the baseline.")
        for change in changes { Self.log("  \(change)") }
        guard let failOver else { return false }
        let regressions = changes.filter { $0.isRegression(beyond: failOver) }
        for regression in regressions { Self.log("REGRESSION \(regression)") }
        return !regressions.isEmpty
    }

    private func list(_ selection: Selection) {
        for workload in selection.workloads {
            print("\(workload.name): \(workload.summary)")
            let rows = workload.cases.map { test in
                [
                    "  \(workload.name)/\(test.name)", test.summary,
                    test.systems.map(\.name).joined(separator: ", "),
                ]
            }
            Format.table(rows, rightAligned: []).forEach { print($0) }
        }
    }

    private static func log(_ message: String) {
        let line = Array("sheaf-bench: \(message)\n".utf8)
        // A write error is ignored, because there is nowhere left to report it.
        _ = write(STDERR_FILENO, line, line.count)
    }

    private static func text(of path: String) throws -> String {
        guard let file = fopen(path, "r") else {
            throw BenchmarkArguments.Misuse(
                "cannot read \(path): \(String(cString: strerror(errno)))")
        }
        defer { fclose(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = fread(&chunk, 1, chunk.count, file)
            guard count > 0 else { break }
            bytes += chunk[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
