import Foundation
import SheafTestSupport

/// A program outside of this package, compiled with the modules that the tests were built with.
///
/// It sees what a package that depends on Sheaf sees. Building such a package would compile all
/// sources again; `Tests/OutsidePackage/run` does that.
struct OutsideProgram {
    let directory = TemporaryDirectory()

    /// The exit status and output of a process.
    struct Outcome {
        let status: Int32
        let text: String
    }

    /// The directory of the test binary, which has the modules and objects.
    private static let build = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        .deletingLastPathComponent().path
    private static let root = URL(fileURLWithPath: #filePath)
        .appendingPathComponent("../../../..").standardized.path

    /// The option of a sanitizer, whose runtime the objects of the tests need.
    private static let sanitizer: [String] = {
        let environment = ProcessInfo.processInfo.environment
        return [("ASAN_OPTIONS", "address"), ("TSAN_OPTIONS", "thread")]
            .filter { environment[$0.0] != nil }.map { "-sanitize=\($0.1)" }
    }()

    private static let compilerArguments =
        ["swiftc", "-swift-version", "6", "-I", build + "/Modules"]
        + ["CCrypto", "CLZ4", "CXXHash"].flatMap { ["-I", "\(root)/Sources/\($0)"] } + sanitizer

    /// Compiles a module of one file, which programs of this directory can import.
    func compileModule(_ name: String, _ source: String) throws -> Outcome {
        try write(source, to: name + ".swift")
        return try run(
            Self.compilerArguments + [
                "-parse-as-library", "-emit-module", "-module-name", name, name + ".swift",
            ])
    }

    /// Checks the types of a program without generating code.
    func check(_ source: String) throws -> Outcome {
        try write(source, to: "main.swift")
        return try run(Self.compilerArguments + ["-I", ".", "-typecheck", "main.swift"])
    }

    /// Compiles a program that imports `Sheaf`, and runs it in the directory.
    func compileAndRun(_ source: String) throws -> Outcome {
        try write(source, to: "main.swift")
        let list = try String(
            contentsOfFile: Self.build + "/sheaf.product/Objects.LinkFileList", encoding: .utf8)
        let objects = list.split(separator: "\n")
            .map { $0.trimmingCharacters(in: CharacterSet(charactersIn: "'")) }
            .filter { $0.contains(/\/Sheaf\w*\.build\//) && !$0.contains("/SheafTool.build/") }
            .filter { !$0.contains("/SheafNetwork.build/") }
        try write(objects.joined(separator: "\n"), to: "objects")
        let compilation = try run(
            Self.compilerArguments + ["main.swift", "@objects", "-llz4", "-lxxhash", "-o", "main"])
        return compilation.status == 0 ? try run(["./main"]) : compilation
    }

    private func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: directory.path(name)))
    }

    private func run(_ words: [String]) throws -> Outcome {
        let path = directory.path("output")
        _ = FileManager.default.createFile(atPath: path, contents: nil)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        process.currentDirectoryURL = URL(fileURLWithPath: directory.path)
        // Output goes to a file, so that no pipe can fill up and block the process.
        let output = FileHandle(forWritingAtPath: path)
        (process.standardOutput, process.standardError) = (output, output)
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        let data = FileManager.default.contents(atPath: path) ?? Data()
        return Outcome(
            status: process.terminationReason == .exit ? process.terminationStatus : -1,
            text: String(decoding: data, as: UTF8.self))
    }
}
