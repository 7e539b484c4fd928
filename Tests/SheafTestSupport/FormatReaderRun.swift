import Foundation
import SheafStorage

/// A run of `Tests/FormatReader/sheaf_log.py`, a reader written from `format-spec` alone.
package struct FormatReaderRun {
    package let status: Int32
    package let lines: [String]
    package let errors: String

    /// Runs the reader on the store in a directory.
    package init(_ path: String, options: [String] = [], script: String? = nil) throws {
        let directory = TemporaryDirectory()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        // `-B` keeps Python from writing bytecode into the source directory.
        process.arguments = ["python3", "-B", script ?? Self.script()] + options + [path]
        // Output goes to files: two pipes would have to be drained concurrently.
        let paths = [directory.path("output"), directory.path("errors")]
        for path in paths { _ = FileManager.default.createFile(atPath: path, contents: nil) }
        process.standardOutput = FileHandle(forWritingAtPath: paths[0])
        process.standardError = FileHandle(forWritingAtPath: paths[1])
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        status = process.terminationReason == .exit ? process.terminationStatus : -1
        let texts = paths.map { path in
            String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
        }
        lines = texts[0].split(separator: "\n").map(String.init)
        errors = texts[1]
    }

    /// Runs the reader on these files, exported to a temporary directory.
    package init(_ files: [String: [UInt8]]) throws {
        let directory = TemporaryDirectory()
        try SimulatedVolume(files: files).export(to: directory.path("store"))
        try self.init(directory.path("store"))
    }

    /// The lines of commits, without their times.
    package var commits: [String] {
        lines.filter { $0.hasPrefix("commit ") }.map { line in
            var words = line.split(separator: " ")
            words.remove(at: 2)
            return words.joined(separator: " ")
        }
    }

    /// The live keys, each with the lengths and hashes of its payloads.
    package var keys: [String] {
        let start = lines.firstIndex { $0.hasPrefix("keys ") } ?? lines.count
        return Array(lines[min(start + 1, lines.count)...])
    }

    private static func script(_ path: String = #filePath) -> String {
        URL(fileURLWithPath: path).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("FormatReader/sheaf_log.py").path
    }
}
