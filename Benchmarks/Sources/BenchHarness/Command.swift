import Glibc

/// The benchmark program: parses its arguments, measures, and prints the results.
package struct BenchmarkCommand {
    /// Exit codes, following `sysexits.h` where possible.
    package enum ExitCode: Int32 {
        case success = 0
        case regression = 1
        case usage = 64
        case badInput = 65
        case profilerUnavailable = 69
        case systemFailed = 70
        case cannotWrite = 73
        case debugBuild = 78
    }

    private let workloads: [Workload]
    private let version: String
    /// Parses the text of a workload file; `path` is its name in errors.
    private let load: (_ text: String, _ path: String, _ isQuick: Bool) throws -> LoadedWorkload

    /// Creates a program that offers `workloads` and those of files.
    ///
    /// `version` is that of the measured package.
    package init(
        _ workloads: [Workload], version: String,
        load: @escaping (_ text: String, _ path: String, _ isQuick: Bool) throws -> LoadedWorkload
    ) {
        self.load = load
        self.workloads = workloads
        self.version = version
    }

    /// Runs the program with the arguments after its name.
    package func run(_ words: [String]) async -> ExitCode {
        do {
            let arguments = try BenchmarkArguments(parsing: words)
            switch arguments.action {
            case .help:
                print(Self.help)
                return .success
            case .version:
                print("sheaf-bench \(version)")
                return .success
            default: break
            }
            if let file = arguments.file { return try await run(file, arguments) }
            let selection = try Selection(arguments.names, from: workloads)
            switch arguments.action {
            case .help, .version: break
            case .list: list(selection)
            case .chart: print(PublishedChart.svg(try results(arguments)), terminator: "")
            case .table: PublishedTable.lines(try results(arguments)).forEach { print($0) }
            case .check, .measure:
                guard Self.canMeasure() else { return .debugBuild }
                let session = try MeasuringSession(arguments)
                defer { session.close() }
                return try await session.measure(selection.workloads)
            }
            return .success
        } catch let misuse as BenchmarkArguments.Misuse {
            let stop = misuse.description.hasSuffix("?") ? "" : "."
            Self.log("\(misuse.description)\(stop) See sheaf-bench --help.")
            return .usage
        } catch let malformed as LoadedWorkload.Malformed {
            // Editors find the location at the start of the line.
            Self.write("\(malformed)\n")
            return .badInput
        } catch let error as any Error & CustomStringConvertible where Self.isInput(error) {
            Self.log("\(error)")
            return .badInput
        } catch let failure as TextFile.Failure where failure.isReading {
            Self.log("\(failure)")
            return .badInput
        } catch let unavailable as PerfRecorder.Unavailable {
            Self.log("\(unavailable)")
            return .profilerUnavailable
        } catch {
            Self.log("\(error)")
            return .cannotWrite
        }
    }

    /// Whether an error is one of the files that the run compares with or draws.
    private static func isInput(_ error: any Error) -> Bool {
        error is Baseline.Malformed || error is Baseline.Unlike
            || error is PublishedResults.Incomplete
    }

    private func results(_ arguments: BenchmarkArguments) throws -> PublishedResults {
        try PublishedResults(parsing: try TextFile.read(arguments.results ?? ""))
    }

    /// Checks or measures the workload of a file.
    private func run(
        _ file: String, _ arguments: BenchmarkArguments
    ) async throws -> ExitCode {
        switch arguments.action {
        case .help, .version: break
        case .list, .chart, .table:
            throw BenchmarkArguments.Misuse("run FILE cannot be combined with this option")
        case .check:
            let loaded = try load(try TextFile.read(file), file, arguments.isQuick)
            loaded.summary.forEach { print($0) }
        case .measure:
            let loaded = try load(try TextFile.read(file), file, arguments.isQuick)
            guard Self.canMeasure() else { return .debugBuild }
            let session = try MeasuringSession(arguments, loaded)
            defer { session.close() }
            Self.log("seed: \(loaded.seed)")
            let folder = try session.makeComparisonFolder()
            defer { folder.remove() }
            let (workload, notes): (Workload, [String])
            do {
                (workload, notes) = try await loaded.prepare(folder)
            } catch {
                Self.log("a sample of the workload failed: \(error)")
                return .systemFailed
            }
            for note in notes { Self.log(note) }
            return try await session.measure([workload])
        }
        return .success
    }

    private static func canMeasure() -> Bool {
        guard !Machine.isRelease else { return true }
        log("Debug builds are not measured. Build with: swift build -c release")
        return false
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

    /// Writes a message to standard error.
    package static func log(_ message: String) {
        write("sheaf-bench: \(message)\n")
    }

    /// Writes a text to standard error.
    private static func write(_ text: String) {
        let bytes = Array(text.utf8)
        // A write error is ignored, because there is nowhere left to report it.
        _ = Glibc.write(STDERR_FILENO, bytes, bytes.count)
    }
}
