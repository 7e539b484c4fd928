#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A new directory of the operating system, which goes with its last reference.
package final class TemporaryDirectory: Sendable {
    package let path: String

    /// Makes an empty directory.
    package init() {
        var template = Array("/tmp/sheaf-test-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else {
            preconditionFailure("Tests can make directories in /tmp.")
        }
        path = String(cString: made)
    }

    deinit {
        Self.removeAll(path)
    }

    /// The path of something in the directory.
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
                // A symbolic link is removed and never followed: it may lead anywhere.
                let isDirectory =
                    lstat(child, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
                if isDirectory { removeAll(child) } else { _ = unlink(child) }
            }
        }
        _ = rmdir(path)
    }
}
