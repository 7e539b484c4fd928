import CBench
import Glibc

/// A directory that a run makes and removes.
package struct Folder: Sendable {
    package let path: String

    /// Why there is no directory.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String

        fileprivate init(_ attempt: String, _ path: String) {
            description = "cannot \(attempt) \(path): \(String(cString: strerror(errno)))"
        }
    }

    /// Makes a directory with a fresh name under `parent`.
    package static func fresh(under parent: String) throws -> Folder {
        var template = Array("\(parent)/sheaf-bench-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw Failure("make a directory in", parent) }
        let name = template.dropLast().map { UInt8(bitPattern: $0) }
        return Folder(path: String(decoding: name, as: UTF8.self))
    }

    /// Makes a directory of this name inside.
    package func child(_ name: String) throws -> Folder {
        let child = "\(path)/\(name)"
        guard mkdir(child, 0o755) == 0 else { throw Failure("make", child) }
        return Folder(path: child)
    }

    /// The bytes that the files in the directory take on the disk.
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
            // The system counts blocks of this length, whatever those of the disk are.
            size += Int(status.st_blocks) * 512
        }
        return size
    }

    /// Removes the directory and all that is in it.
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

    /// The file system that holds `path`.
    package static func fileSystem(of path: String) -> FileSystem? {
        let magic = sheaf_bench_file_system(path)
        return magic == 0 ? nil : FileSystem(magic: magic)
    }
}

/// A kind of file system, by the number that the system has for it.
package struct FileSystem: Equatable, Sendable {
    package let magic: UInt32

    /// Names a kind.
    package init(magic: UInt32) {
        self.magic = magic
    }

    /// Whether files live in memory: nothing durable can be measured there.
    package var isMemory: Bool { [0x0102_1994, 0x8584_58F6].contains(magic) }

    /// The name that people use.
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
