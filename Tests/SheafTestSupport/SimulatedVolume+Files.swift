package import SheafStorage

extension SimulatedVolume {
    /// Returns the contents of all files as processes see them.
    package func snapshotFiles() -> [String: [UInt8]] {
        inspect { disk in
            var files: [String: [UInt8]] = [:]
            for entry in disk.directory.entries {
                files[entry.name] = disk.inodes[entry.inode].current.array
            }
            return files
        }
    }

    /// Writes all files into a directory of the operating system, for external tools.
    package func export(to path: String) throws(VolumeError) {
        let target = try PosixVolume(path: path, creatingDirectory: true)
        for (name, bytes) in snapshotFiles() {
            let file = try target.open(name, .create)
            defer { file.close() }
            var failure: VolumeError?
            bytes.withUnsafeBytes { buffer in
                do throws(VolumeError) {
                    try file.writeFully(buffer, at: 0)
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
        }
    }

    /// Creates a volume with durable copies of the files of a directory.
    package convenience init(
        importing path: String, seed: UInt64 = 0, limit: Int = 1 << 30
    ) throws(VolumeError) {
        let source = try PosixVolume(path: path, creatingDirectory: false)
        var files: [String: [UInt8]] = [:]
        for name in try source.names() {
            let file = try source.open(name, .read)
            defer { file.close() }
            files[name] = try file.readAll(limit: limit)
        }
        self.init(seed: seed, files: files)
    }
}
