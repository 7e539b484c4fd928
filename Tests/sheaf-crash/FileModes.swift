import Sheaf
import SheafDocument
import SheafStatements
import SheafTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Access rights of the files of a store.
///
/// The store has every kind of file and is created under a umask of zero; other users must have no
/// access.
enum FileModes {
    static func run() async throws -> String {
        umask(0)
        let directory = TemporaryDirectory()
        let path = directory.path("above/store")
        let store = try await Store.open(at: path)
        try await store.execute("INSERT INTO t DOCUMENTS ({'_id': 1, 'color': 'red'})")
        try await store.execute("CREATE INDEX colors ON t (color)")
        let file = try await store.newAttachment(data: [UInt8](repeating: 7, count: 100_000))
        try await store.execute(
            "INSERT INTO COLLECTION t (file ATTACHMENT) DOCUMENTS ({'_id': 2, 'file': :file})",
            ["file": file.token.value])
        var entries = try modes(below: path)
        // Closing writes a checkpoint and a segment footer.
        try await store.close()
        entries += try modes(below: path)
        guard mode(of: directory.path("above")) == 0o755 else {
            throw CrashFailure("the directory above the store is not open to other users")
        }
        let directoryCount = entries.count(where: \.isDirectory)
        guard directoryCount > 2, entries.count - directoryCount > 6 else {
            throw CrashFailure("too few entries: \(entries)")
        }
        for entry in entries where entry.mode != (entry.isDirectory ? 0o700 : 0o600) {
            throw CrashFailure("\(entry.path) has the mode \(String(entry.mode, radix: 8))")
        }
        let count = Set(entries.map(\.path)).count
        return "\(count) files and directories, none open to other users"
    }

    private struct Entry {
        let path: String
        let mode: mode_t
        let isDirectory: Bool
    }

    /// Returns the modes of the directory and of all entries below it.
    private static func modes(below path: String) throws -> [Entry] {
        var status = stat()
        guard lstat(path, &status) == 0 else { throw CrashFailure("\(path) cannot be inspected") }
        let isDirectory = status.st_mode & S_IFMT == S_IFDIR
        var found = [Entry(path: path, mode: status.st_mode & 0o777, isDirectory: isDirectory)]
        guard isDirectory, let stream = opendir(path) else { return found }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard name != ".", name != ".." else { continue }
            found += try modes(below: path + "/" + name)
        }
        return found
    }

    private static func mode(of path: String) -> mode_t {
        var status = stat()
        return lstat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }
}
