import Foundation
import SheafStorage
import SheafTestSupport

/// One run of the built tool: its exit status and output.
struct ToolRun {
    let status: Int32
    let output: Data
    let errors: String

    /// Runs the tool; with `closed`, its standard output is a pipe without a reader.
    init(_ arguments: [String], closed: Bool = false) throws {
        try self.init(Self.executable, arguments, closed: closed)
    }

    /// Runs a shell script in which "$0" is the tool, for arguments only a shell can pass.
    init(script: String) throws {
        try self.init(
            URL(fileURLWithPath: "/bin/sh"), ["-c", script, Self.executable.path], closed: false)
    }

    private init(_ executable: URL, _ arguments: [String], closed: Bool) throws {
        let directory = TemporaryDirectory()
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        // Output goes to files, so that no pipe can fill up and block the process.
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

    /// Runs the tool with arguments separated by spaces.
    init(_ words: String) throws {
        try self.init(words.split(separator: " ").map(String.init))
    }

    /// Standard output as text.
    var text: String { String(decoding: output, as: UTF8.self) }

    /// The lines of standard output.
    var lines: [String] { text.split(separator: "\n").map(String.init) }

    /// Parses each line of standard output as a JSON object.
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

    /// The tool.
    static let executable = URL(fileURLWithPath: BuiltProgram.path(of: "sheaf"))
}

/// A small store on disk.
struct StoreOnDisk {
    let directory = TemporaryDirectory()
    let content: SmallStore.Content
    var path: String { directory.path("store") }

    /// Writes the files of a small store; `change` may damage them first.
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

    /// Returns the contents of all files of the store.
    func files() throws -> [String: [UInt8]] {
        try SimulatedVolume(importing: path).snapshotFiles()
    }
}
