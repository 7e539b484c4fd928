import SheafStorage
import SheafTestSupport

/// The folder of the conformance files.
package enum ConformanceFolder {
    /// Returns the path of the folder.
    package static func path(_ file: String = #filePath) -> String {
        let root = file.split(separator: "/", omittingEmptySubsequences: false).dropLast(2)
        return root.joined(separator: "/") + "/Conformance"
    }

    /// Returns the sorted names of the conformance files.
    package static func names() throws -> [String] {
        try volume().names().filter { $0.hasSuffix(".txt") }.sorted()
    }

    /// Reads and parses a file.
    package static func file(_ name: String) throws -> ConformanceFile {
        let text = String(decoding: try volume().bytes(of: name), as: UTF8.self)
        return try ConformanceFile(text, name: name)
    }

    private static func volume() throws -> PosixVolume {
        try PosixVolume(path: path(), creatingDirectory: false)
    }
}
