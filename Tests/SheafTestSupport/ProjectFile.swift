import SheafStorage

/// Project files that tests compare with the behavior.
package enum ProjectFile {
    /// Returns the text of a file, given its path from the project root.
    package static func text(_ path: String) throws -> String {
        let parts = path.split(separator: "/")
        let volume = try volume(parts.dropLast().joined(separator: "/"))
        let bytes = try volume.bytes(of: parts.last.map(String.init) ?? "")
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Returns the names of the entries of a folder.
    package static func names(in folder: String) throws -> [String] {
        try volume(folder).names()
    }

    private static func volume(_ folder: String) throws -> PosixVolume {
        try PosixVolume(path: root() + "/" + folder, creatingDirectory: false)
    }

    private static func root(_ path: String = #filePath) -> String {
        path.split(separator: "/", omittingEmptySubsequences: false).dropLast(3)
            .joined(separator: "/")
    }
}
