import CBench
import Glibc

/// A directory created for a run and removed at its end.
package struct Folder: Sendable {
    package let path: String

    /// An error of creating a directory.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        fileprivate init(_ attempt: String, _ path: String) {
            description = "cannot \(attempt) \(path): \(String(cString: strerror(errno)))"
        }
    }

    /// Creates a uniquely named directory under `parent`.
    package static func fresh(under parent: String) throws -> Folder {
        var template = Array("\(parent)/sheaf-bench-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure("create a directory in", parent) }
        let name = template.dropLast().map { UInt8(bitPattern: $0) }
        return Folder(path: String(decoding: name, as: UTF8.self))
    }

    /// Creates a subdirectory.
    package func child(_ name: String) throws -> Folder {
        let child = "\(path)/\(name)"
        guard mkdir(child, 0o755) == 0 else { throw Failure("create", child) }
        return Folder(path: child)
    }

    /// The disk space used by the files of the directory, in bytes.
    package var size: Int {
        guard let directory = opendir(path) else { return 0 }
        defer { closedir(directory) }
        var size = 0
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            var status = stat()
            guard lstat("\(path)/\(name)", &status) == 0, status.st_mode & S_IFMT == S_IFREG
            else { continue }
            // `st_blocks` counts units of 512 bytes on every file system.
            size += Int(status.st_blocks) * 512
        }
        return size
    }

    /// Removes the directory and its contents.
    package func remove() {
        if let directory = opendir(path) {
            defer { closedir(directory) }
            while let entry = readdir(directory) {
                let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                    String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                }
                guard name != ".", name != ".." else { continue }
                let inside = "\(path)/\(name)"
                if unlink(inside) != 0 { Folder(path: inside).remove() }
            }
        }
        rmdir(path)
    }

    /// Returns the file system that contains `path`.
    package static func fileSystem(of path: String) -> FileSystem? {
        let magic = sheaf_bench_file_system(path)
        return magic == 0 ? nil : FileSystem(magic: magic)
    }
}

/// A type of file system, identified by its magic number.
package struct FileSystem: Equatable, Sendable {
    package let magic: UInt32

    /// Creates a type from its magic number.
    package init(magic: UInt32) {
        self.magic = magic
    }

    /// Whether files are in memory, where nothing durable can be measured.
    package var isMemory: Bool { [0x0102_1994, 0x8584_58F6].contains(magic) }

    /// The common name of the file system.
    package var name: String {
        switch magic {
        case 0xEF53: "ext4"
        case 0x5846_5342: "xfs"
        case 0x9123_683E: "btrfs"
        case 0x0102_1994: "tmpfs"
        case 0x8584_58F6: "ramfs"
        case 0x794C_7630: "overlayfs"
        case 0x2FC1_2FC1: "zfs"
        case 0xF2F5_2010: "f2fs"
        case 0x6969: "nfs"
        default: "file system 0x\(String(magic, radix: 16))"
        }
    }
}
