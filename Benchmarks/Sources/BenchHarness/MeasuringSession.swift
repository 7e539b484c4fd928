import Dispatch
import Glibc

/// One run of cases: its directories, baseline, profiler and output.
final class MeasuringSession {
    private let arguments: BenchmarkArguments
    private let loaded: LoadedWorkload?
    private let baseline: Baseline?
    private let plots: PlotFiles?
    private let directories: RunDirectories
    private let interruptions: [any DispatchSourceSignal]
    private let conditions: RunConditions
    private var profiler: PerfRecorder?

    /// Creates the directories, and checks the options; `loaded` is the workload of a file.
    init(_ arguments: BenchmarkArguments, _ loaded: LoadedWorkload? = nil) throws {
        self.arguments = arguments
        self.loaded = loaded
        baseline = try arguments.baseline.map {
            try Baseline(parsing: try TextFile.read($0))
        }
        let directory = arguments.plot ?? (arguments.isProfiled ? "." : nil)
        plots = try directory.map { try PlotFiles(directory: $0) }
        directories = try RunDirectories(directory: arguments.directory)
        interruptions = directories.removeOnInterruption()
        conditions = RunConditions(
            machine: Machine.current().description(fileSystem: directories.fileSystem),
            isQuick: arguments.isQuick, durability: loaded?.durability, file: loaded?.digest)
    }

    /// Removes the directories.
    func close() {
        interruptions.forEach { $0.cancel() }
        profiler = nil
        directories.remove()
    }

    /// Creates a directory in memory for the comparison of systems.
    func makeComparisonFolder() throws -> Folder { try directories.memory.child("comparison") }

    /// Measures workloads, and prints the results.
    func measure(_ workloads: [Workload]) async throws -> BenchmarkCommand.ExitCode {
        BenchmarkCommand.log(conditions.machine)
        BenchmarkCommand.log("data: \(directories.description)")
        for warning in directories.warnings { BenchmarkCommand.log("WARNING: \(warning)") }
        let names = workloads.flatMap { workload in
            workload.cases.flatMap(\.figureNames).map { "\(workload.name)/\($0)" }
        }
        try baseline?.check(conditions, names: Set(names))

        var figures: [Figure] = []
        var hasFailures = false
        for workload in workloads {
            let (more, hasFailed) = try await measure(workload)
            figures += more
            hasFailures = hasFailures || hasFailed
        }
        if !arguments.isJSON {
            Table.lines(figures.filter { !$0.isQuery }).forEach { print($0) }
            if arguments.showsQueries { Table.queries(figures).forEach { print($0) } }
        }
        let isWorse = compare(figures)
        if hasFailures { return .systemFailed }
        return isWorse ? .regression : .success
    }

    private func measure(_ workload: Workload) async throws -> ([Figure], hasFailures: Bool) {
        let scale = Scale(isQuick: arguments.isQuick, rounds: arguments.rounds ?? loaded?.rounds)
        let folder = try directories.memory.child("profile-\(workload.name)")
        if arguments.isProfiled { profiler = try PerfRecorder(folder: folder) }
        let runner = Runner(
            scale: scale, disk: directories.disk, memory: directories.memory, profiler: profiler,
            log: { BenchmarkCommand.log($0) })
        var figures: [Figure] = []
        var curves: [LatencyCurve] = []
        var hasFailures = false
        for test in workload.cases {
            let outcome = await runner.run(test, of: workload.name)
            figures += outcome.figures
            curves += outcome.curves
            hasFailures = hasFailures || !outcome.failures.isEmpty
            guard arguments.isJSON else { continue }
            for figure in outcome.figures { print(figure.line(under: conditions).text) }
            fflush(nil)
        }
        if arguments.plot != nil, let plots {
            let paths = try plots.draw(
                figures.filter { !$0.isQuery }, curves, of: workload.name,
                machine: conditions.machine)
            for path in paths { BenchmarkCommand.log("wrote \(path)") }
        }
        if let profiler, let plots {
            let profile = Profile(parsing: try profiler.finish())
            let lines = try profile.report(workload.name, to: plots, folder: folder)
            for line in lines {
                if arguments.isJSON { BenchmarkCommand.log(line) } else { print(line) }
            }
            self.profiler = nil
        }
        return (figures, hasFailures)
    }

    /// Reports the changes since the baseline; returns whether one exceeds the limit.
    private func compare(_ figures: [Figure]) -> Bool {
        guard let baseline else { return false }
        let changes = baseline.changes(to: figures)
        BenchmarkCommand.log("\(changes.count) figures of \(Figure.engine) are in the baseline.")
        for change in changes { BenchmarkCommand.log("  \(change)") }
        guard let failOver = arguments.failOver else { return false }
        let regressions = changes.filter { $0.isRegression(beyond: failOver) }
        for regression in regressions { BenchmarkCommand.log("REGRESSION \(regression)") }
        return !regressions.isEmpty
    }
}
