import BenchHarness
import BenchStores
import Foundation
package import SheafDocument

/// A process with DuckDB, which executes statements and measures them with its own clock.
///
/// It is a Python program that answers requests, one line of JSON each.
package final class DuckDBProcess {
    /// The name of the system in cases.
    package static let system = "duckdb"
    private static let variable = "SHEAF_DUCKDB_PYTHON"
    /// The number of threads that execute a statement.
    private static let threads: Value = 2

    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var buffer = Data()

    /// Starts the process with an empty database in memory.
    package init() throws {
        guard let python = ProcessInfo.processInfo.environment[Self.variable], !python.isEmpty
        else {
            throw SystemUnavailable(
                "\(Self.variable) names no Python with DuckDB; Benchmarks/README.md, "
                    + "section DuckDB, shows how to install it")
        }
        // A write to a process that ended must fail, instead of ending this one.
        signal(SIGPIPE, SIG_IGN)
        process.executableURL = URL(fileURLWithPath: python)
        let program = String(decoding: PackageResources.duckdb_process_py, as: UTF8.self)
        process.arguments = ["-c", program]
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        _ = try ask("open", ["threads": Self.threads])
    }

    /// Executes statements, and returns the seconds.
    @discardableResult
    package func execute(_ statements: String...) throws -> Double {
        try seconds(try ask("execute", ["sql": .array(statements.map { .string($0) })]))
    }

    /// Prepares a statement under a name, with the sets of arguments of its runs.
    package func prepare(_ id: String, _ sql: String, _ sets: [[String: Value]] = []) throws {
        let sets = sets.map { Value.object(Object($0.map { ($0.key, $0.value) })) }
        _ = try ask("prepare", ["id": .string(id), "sql": .string(sql), "sets": .array(sets)])
    }

    /// Executes a prepared statement with one set of arguments, and returns its rows.
    package func rows(
        of id: String, set: Int = 0
    ) throws -> (columns: [String], rows: [[Value]], changed: Int) {
        let answer = try ask("rows", ["id": .string(id), "set": .integer(Int64(set))])
        guard case .array(let columns)? = answer["columns"],
            case .array(let rows)? = answer["rows"], case .integer(let changed)? = answer["changed"]
        else { throw StoreFailure(description: "DuckDB sent incomplete rows") }
        return (
            columns.map { if case .string(let name) = $0 { name } else { "" } },
            rows.map { if case .array(let values) = $0 { values } else { [] } }, Int(changed)
        )
    }

    /// Runs a prepared statement with all its sets of arguments, `runs` times; returns the seconds.
    package func time(_ id: String, runs: Int) throws -> Double {
        try seconds(try ask("time", ["id": .string(id), "runs": .integer(Int64(runs))]))
    }

    /// Repeats a prepared statement for a time; returns the executions per second.
    package func rate(_ id: String, seconds duration: Double) throws -> Double {
        let answer = try ask("repeat", ["id": .string(id), "seconds": .float(duration)])
        guard case .integer(let runs)? = answer["runs"] else {
            throw StoreFailure(description: "DuckDB sent no number of runs")
        }
        return Double(runs) / (try seconds(answer))
    }

    private func seconds(_ answer: Object) throws -> Double {
        switch answer["seconds"] {
        case .float(let seconds)?: return seconds
        case .integer(let seconds)?: return Double(seconds)
        default: throw StoreFailure(description: "DuckDB sent no time")
        }
    }

    /// Sends a request, and returns the answer.
    private func ask(_ action: String, _ members: Object) throws -> Object {
        var request = members
        request["do"] = .string(action)
        let line = Data((Value.object(request).json + "\n").utf8)
        try input.fileHandleForWriting.write(contentsOf: line)
        guard case .object(let answer) = try Value(jsonBytes: try readLine()) else {
            throw StoreFailure(description: "DuckDB sent a line that is no object")
        }
        if case .string(let error)? = answer["error"] {
            throw StoreFailure(description: "DuckDB: \(error)")
        }
        return answer
    }

    private func readLine() throws -> [UInt8] {
        var searched = buffer.startIndex
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = [UInt8](buffer[..<end])
                buffer = Data(buffer[(end + 1)...])
                return line
            }
            searched = buffer.endIndex
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else {
                throw StoreFailure(description: "the process of DuckDB ended early")
            }
            buffer.append(more)
        }
    }

    /// Ends the process, and waits for it.
    package func end() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }
}
