import SheafBytes
import SheafStorage

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A file that gets its name when it is complete and durable.
///
/// Until then it has a temporary name in the same directory. If the process is killed, the next
/// export to the directory removes the file.
package final class PendingFile {
    private let volume: PosixVolume
    private let directory: String
    private let name: String
    private let isReplacing: Bool
    private let temporary: TemporaryFile
    private var length = 0
    private var isPublished = false

    /// The beginning of temporary names.
    package static let prefix = TemporaryFile.prefix

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
        let volume = try onFile { () throws(VolumeError) in
            try PosixVolume(path: directory, creatingDirectory: false)
        }
        do throws(VolumeError) { temporary = try TemporaryFile(in: volume) } catch {
            throw .failed("\(VolumeError(error.operation, path, error.code))")
        }
        self.volume = volume
    }

    deinit {
        temporary.file.close()
        if !isPublished { try? volume.remove(temporary.name) }
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
    var temporaryPath: String { "\(directory)/\(temporary.name)" }

    /// Appends bytes.
    func write(_ bytes: UnsafeRawBufferPointer) throws(ExportError) {
        try onWriting { () throws(VolumeError) in
            try temporary.file.writeFully(bytes, at: length)
        }
        length += bytes.count
    }

    /// Makes the contents durable, and gives the file its name.
    package func publish() throws(ExportError) {
        try onWriting { () throws(VolumeError) in try temporary.file.synchronize() }
        // Another process may have created the file in the meantime.
        try Self.check(path, replacing: isReplacing)
        let isLinked = isReplacing ? false : try linkToName()
        if isLinked {
            isPublished = true
            try onWriting { () throws(VolumeError) in try volume.remove(temporary.name) }
        } else {
            try onWriting { () throws(VolumeError) in
                try volume.rename(temporary.name, to: name)
                isPublished = true
            }
        }
        try onWriting { () throws(VolumeError) in try volume.synchronizeNames() }
    }

    /// Gives the file its name unless another file has it; returns false if it needs to be renamed.
    ///
    /// A link, unlike a renaming, does not replace a file that was created a moment before.
    private func linkToName() throws(ExportError) -> Bool {
        do throws(VolumeError) { return try volume.link(temporary.name, as: name) } catch {
            try Self.check(path, replacing: false)
            throw .failed("\(VolumeError(error.operation, path, error.code))")
        }
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
