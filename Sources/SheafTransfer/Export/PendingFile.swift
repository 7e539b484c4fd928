import SheafBytes
import SheafStorage
import SheafSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file that gets its name when it is complete and durable.
///
/// Until then it has a temporary name in the same directory, which a killed process leaves there.
package final class PendingFile {
    private let volume: PosixVolume
    private let directory: String
    private let name: String
    private let isReplacing: Bool
    private let temporary: String
    private var file: (any VolumeFile)?
    private var length = 0
    private var isPublished = false

    /// The beginning of temporary names.
    package static let prefix = ".sheaf-export-"

    /// Creates the temporary file; an existing file at `path` is an error, unless it is replaced.
    package init(path: String, replacing isReplacing: Bool) throws(ExportError) {
        let slash = path.utf8.lastIndex(of: UInt8(ascii: "/"))
        name = slash.map { String(path[path.utf8.index(after: $0)...]) } ?? path
        directory = slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? "."
        self.isReplacing = isReplacing
        guard !name.isEmpty, name != ".", name != ".." else {
            throw .usage("\(path.shortened(to: ErrorText.limit)) is a directory, not a file")
        }
        try Self.check(path, replacing: isReplacing)
        let directory = directory
        volume = try onFile { () throws(VolumeError) in
            try PosixVolume(path: directory, creatingDirectory: false)
        }
        let digits = String(OperatingSystem.randomInteger(), radix: 16)
        temporary = Self.prefix + digits
        file = nil
        file = try onFile { () throws(VolumeError) in try volume.open(temporary, .create) }
    }

    deinit {
        file?.close()
        if !isPublished { try? volume.remove(temporary) }
    }

    /// Throws if something at `path` must not be replaced.
    private static func check(_ path: String, replacing: Bool) throws(ExportError) {
        var status = stat()
        guard lstat(path, &status) == 0 else {
            // Creating the temporary file reports every other error.
            return
        }
        let shown = path.shortened(to: ErrorText.limit)
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw .usage("\(shown) exists and is not a regular file")
        }
        guard replacing else {
            throw .usage("\(shown) exists already; --force replaces it")
        }
    }

    /// The path that the file gets.
    var path: String { directory == "/" ? "/\(name)" : "\(directory)/\(name)" }

    /// The path of the temporary file, for a library that writes it.
    var temporaryPath: String { "\(directory)/\(temporary)" }

    /// Appends bytes.
    func write(_ bytes: UnsafeRawBufferPointer) throws(ExportError) {
        guard let file else { return }
        try onWriting { () throws(VolumeError) in try file.writeFully(bytes, at: length) }
        length += bytes.count
    }

    /// Makes the contents durable, and gives the file its name.
    package func publish() throws(ExportError) {
        guard let file else { return }
        try onWriting { () throws(VolumeError) in try file.synchronize() }
        file.close()
        self.file = nil
        // Another process may have created the file in the meantime.
        try Self.check(path, replacing: isReplacing)
        try onWriting { () throws(VolumeError) in
            try volume.rename(temporary, to: name)
            isPublished = true
            try volume.synchronizeNames()
        }
    }

    /// Closes the file while a library writes it.
    func close() {
        file?.close()
        file = nil
    }

    /// Opens the file again, so that it can be published.
    func reopen() throws(ExportError) {
        file = try onWriting { () throws(VolumeError) in try volume.open(temporary, .write) }
    }

    /// Runs `body`; an error names the file instead of its temporary name.
    private func onWriting<Result>(
        _ body: () throws(VolumeError) -> Result
    ) throws(ExportError) -> Result {
        do throws(VolumeError) { return try body() } catch {
            throw .failed("\(VolumeError(error.operation, path, error.code))")
        }
    }
}
