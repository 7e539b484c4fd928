import SheafStorage
import SheafTestSupport

/// The folder of the files of cases.
package enum ConformanceFolder {
    /// Its path.
    package static func path(_ file: String = #filePath) -> String {
        let root = file.split(separator: "/", omittingEmptySubsequences: false).dropLast(2)
        return root.joined(separator: "/") + "/Conformance"
    }

    /// The names of its files, sorted.
    package static func names() throws -> [String] {
        try volume().names().filter { $0.hasSuffix(".txt") }.sorted()
    }

    /// A file of it.
    package static func file(_ name: String) throws -> ConformanceFile {
        let text = String(decoding: try volume().bytes(of: name), as: UTF8.self)
        return try ConformanceFile(text, name: name)
    }

    private static func volume() throws -> PosixVolume {
        try PosixVolume(path: path(), creatingDirectory: false)
    }
}
