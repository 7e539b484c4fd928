import Foundation
import SheafStorage
import SheafTestSupport

/// One run of the built tool: what it was given, and what came of it.
struct ToolRun {
    let status: Int32
    let output: Data
    let errors: String

    /// Runs the tool; an output that is `closed` has nobody at its other end.
    init(_ arguments: [String], closed: Bool = false) throws {
        try self.init(Self.executable, arguments, closed: closed)
    }

    /// Runs a script of the shell, in which "$0" is the tool: some words only a shell can write.
    init(script: String) throws {
        try self.init(
            URL(fileURLWithPath: "/bin/sh"), ["-c", script, Self.executable.path], closed: false)
    }

    private init(_ executable: URL, _ arguments: [String], closed: Bool) throws {
        let directory = TemporaryDirectory()
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        // Files instead of pipes: nobody has to read both at the same time.
        let (outputPath, errorPath) = (directory.path("output"), directory.path("errors"))
        for path in [outputPath, errorPath] {
            _ = FileManager.default.createFile(atPath: path, contents: nil)
        }
        process.standardError = FileHandle(forWritingAtPath: errorPath)
        if closed {
            let pipe = Pipe()
            process.standardOutput = pipe
            try pipe.fileHandleForReading.close()
        } else {
            process.standardOutput = FileHandle(forWritingAtPath: outputPath)
        }
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        status = process.terminationReason == .exit ? process.terminationStatus : -1
        output = FileManager.default.contents(atPath: outputPath) ?? Data()
        let errorData = FileManager.default.contents(atPath: errorPath) ?? Data()
        errors = String(decoding: errorData, as: UTF8.self)
    }

    /// Runs the tool on words that have no spaces in them.
    init(_ words: String) throws {
        try self.init(words.split(separator: " ").map(String.init))
    }

    /// What was printed, as text.
    var text: String { String(decoding: output, as: UTF8.self) }

    /// The lines that were printed.
    var lines: [String] { text.split(separator: "\n").map(String.init) }

    /// The lines that were printed, each of them a JSON object.
    func objects() throws -> [[String: Any]] {
        try lines.map { line in
            let value = try JSONSerialization.jsonObject(with: Data(line.utf8))
            guard let object = value as? [String: Any] else { throw NoObject(line: line) }
            return object
        }
    }

    struct NoObject: Error {
        let line: String
    }

    /// The tool lies beside the tests, where the build has put both.
    static let executable: URL = {
        let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        return tests.deletingLastPathComponent().appendingPathComponent("sheaf")
    }()
}

/// A small store in a directory of the operating system.
struct StoreOnDisk {
    let directory = TemporaryDirectory()
    let content: SmallStore.Content
    var path: String { directory.path("store") }

    /// Writes the files of a small store; `change` may damage them before.
    init(_ change: (inout [String: [UInt8]]) -> Void = { _ in }) throws {
        var (files, content) = try SmallStore.small(seed: 5)
        self.content = content
        change(&files)
        try SimulatedVolume(files: files).export(to: directory.path("store"))
    }

    /// Copies the store to another name in the same directory.
    func copy(to name: String) throws {
        try SimulatedVolume(importing: path).export(to: directory.path(name))
    }

    /// All files as they are now.
    func files() throws -> [String: [UInt8]] {
        try SimulatedVolume(importing: path).snapshotFiles()
    }
}
