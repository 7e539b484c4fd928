#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A temporary directory, removed with its last reference.
package final class TemporaryDirectory: Sendable {
    package let path: String

    /// Creates an empty directory in the directory that `TMPDIR` names, otherwise in `/tmp`.
    package init() {
        let parent = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array("\(parent)/sheaf-test-XXXXXX".utf8CString)
        guard let created = mkdtemp(&template) else {
            preconditionFailure("Failed to create a directory in \(parent).")
        }
        path = String(cString: created)
    }

    deinit {
        Self.removeAll(path)
    }

    /// Returns the path of an entry of the directory.
    package func path(_ name: String) -> String {
        path + "/" + name
    }

    private static func removeAll(_ path: String) {
        if let stream = opendir(path) {
            var names: [String] = []
            while let entry = readdir(stream) {
                let offset = MemoryLayout<dirent>.offset(of: \dirent.d_name) ?? 0
                let bytes = (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self)
                names.append(String(cString: bytes))
            }
            closedir(stream)
            for name in names where name != "." && name != ".." {
                let child = path + "/" + name
                var status = stat()
                // Symbolic links are removed, never followed.
                let isDirectory =
                    lstat(child, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
                if isDirectory { removeAll(child) } else { _ = unlink(child) }
            }
        }
        _ = rmdir(path)
    }
}
