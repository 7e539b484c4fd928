import SheafBytes
import SheafStorage

/// The check of a file that is named for output.
enum OutputFile {
    /// Throws if a file would be written into the directory of the store.
    static func check(_ file: String, isOutside path: String) throws(ToolError) {
        guard let store = PosixPath.resolved(path) else { return }
        var parent = file.utf8[...]
        while let last = parent.last, last != UInt8(ascii: "/") { parent.removeLast() }
        let directory = PosixPath.resolved(parent.isEmpty ? "." : String(Substring(parent)))
        let places = [directory, PosixPath.resolved(file)].compactMap { $0 }
        guard places.contains(where: { ($0 + "/").hasPrefix(store + "/") }) else { return }
        throw .usage(
            "\(file.shortened) is inside the store \(path.shortened); name a file outside of it")
    }
}
